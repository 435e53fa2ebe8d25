"""Parts that charts share: an axis with round ticks, names of colours, a legend."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dashboards.picture.markup import Markup, element

COLOURS = ("#73bf69", "#f2cc0c", "#5794f2", "#ff780a", "#f2495c", "#b877d9", "#8ab8ff", "#fade2a", "#37872d", "#e0b400")
GRID, TEXT, MUTED = "#2c3235", "#ccccdc", "#8e8e98"
NAMED = {"green": "#73bf69", "yellow": "#f2cc0c", "blue": "#5794f2", "purple": "#b877d9", "grey": "#8e8e98"}
FONT = 11


@dataclass(frozen=True)
class Box:
    """Where a chart is drawn, in pixels."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` along pixels from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        return self.begin + (value - self.low) / ((self.high - self.low) or 1) * (self.end - self.begin)


def ticks(low: float, high: float, unit: str, most: int = 6) -> list[float]:
    """Round values, at most that many, of which the outer ones embrace the range. Bytes are round in powers of 2."""
    if high <= low:
        low, high = (min(low, 0.0), max(high, 0.0)) if low else (0.0, 1.0)
    least = (high - low) / most
    if unit == "bytes":
        steps = [2.0 ** (math.floor(math.log2(least)) + more) for more in range(4)]
    else:
        steps = [factor * 10.0 ** math.floor(math.log10(least)) for factor in (1, 2, 5, 10, 20, 50)]
    for step in steps:
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first < most:
            break
    return [step * number for number in range(first, last + 1)]


def text(x: float, y: float, said: str, colour: str = MUTED, anchor: str = "start") -> Markup:
    """A line of text in a chart."""
    return element("text", said, x=f"{x:.1f}", y=f"{y:.1f}", fill=colour, text_anchor=anchor, font_size=FONT)


def line(x1: float, y1: float, x2: float, y2: float, colour: str = GRID, **more: object) -> Markup:
    """A straight line."""
    return element("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", stroke=colour, **more)


def rectangle(x: float, y: float, width: float, height: float, colour: str, **more: object) -> Markup:
    """A filled rectangle."""
    sides = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{max(width, 0):.1f}", "height": f"{max(height, 0):.1f}"}
    return element("rect", fill=colour, **sides, **more)


def drawing(width: float, height: float, parts: Sequence[Markup]) -> Markup:
    """A chart."""
    return element("svg", *parts, width=f"{width:.0f}", height=f"{height:.0f}", class_="chart")


def colour(at: int) -> str:
    """The colour of a series, by its place."""
    return COLOURS[at % len(COLOURS)]


def legend(names: Sequence[tuple[str, str]]) -> Markup:
    """Names of series with their colours."""
    keys = [element("span", element("i", style=f"background:{tint}"), name, class_="key") for name, tint in names]
    return element("div", *keys, class_="legend")
