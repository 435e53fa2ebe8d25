"""HTML and SVG as text, in which whatever is not markup is escaped."""

import html


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: object) -> Markup:
    """An element. Children that are no markup are escaped, as attributes are; `class_` is `class`, `_` a hyphen."""
    named = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items()
    )
    inner = "".join(child if isinstance(child, Markup) else html.escape(child) for child in children)
    return Markup(f"<{name}{named}>{inner}</{name}>")
