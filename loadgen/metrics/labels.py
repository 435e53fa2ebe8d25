"""Values of labels: short, printable, and the same for the same thing."""

import hashlib
from collections.abc import Iterable
from pathlib import PurePosixPath

from loadgen.records.manifest import Manifest
from loadgen.records.model import ServerStart

MOST = 64
"""Characters of a value. Paths to models have thousands at times, and every series repeats them."""
_DIGEST = 8
UNNAMED = "unnamed"


def shortened(text: str, most: int = MOST) -> str:
    """The text on one line and at most `most` characters long; a longer one ends in a digest that tells it apart."""
    if len(text) <= most and text.isprintable():
        return text
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    if len(line) <= most:
        return line
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGEST]
    return f"{line[: most - _DIGEST - 1]}~{digest}"


def alias(model: str | None) -> str | None:
    """What a model is called: its alias, or its file's name without folder and ending. Null where nobody knows."""
    if model is None:
        return None
    name = PurePosixPath(model.replace("\\", "/")).name.removesuffix(".gguf")
    return shortened(name) or None


def series_of(manifest: Manifest, starts: Iterable[ServerStart]) -> str:
    """The name under which runs of one comparison follow each other: as given, else the baseline's model."""
    given = manifest.experiment.get("series")
    if isinstance(given, str) and given:
        return shortened(given)
    return alias(_first(starts, str(manifest.experiment["baseline"]))) or UNNAMED


def model_of(manifest: Manifest, starts: Iterable[ServerStart]) -> str:
    """The model of the baseline, as a label."""
    return alias(_first(starts, str(manifest.experiment["baseline"]))) or UNNAMED


def _first(starts: Iterable[ServerStart], variant: str) -> str | None:
    return next((start.facts.model for start in starts if start.variant == variant), None)
