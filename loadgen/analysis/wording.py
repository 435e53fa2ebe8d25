"""Numbers in sentences: text must never hide on which side of 1 a ratio lies."""

_WHOLE_FROM = 100
"""From here on three digits leave none behind the point."""


def factor(x: float) -> str:
    """A ratio with 2 decimals, more where it would otherwise read 1 (to 4): text must not hide a side of 1."""
    for digits in (2, 3, 4):
        text = f"{x:.{digits}f}"
        if float(text) != 1 or x == 1:
            return text
    return "just above 1" if x > 1 else "just below 1"


def interval(low: float | None, high: float | None) -> str:
    """The ends of an interval of a ratio: `0.96 to 1.40`, or `none`."""
    return "none" if low is None or high is None else f"{factor(low)} to {factor(high)}"


def change(x: float) -> str:
    """A ratio as a change in percent with its sign: `−3.0 %`."""
    percent = (x - 1) * 100
    return f"{'−' if percent < 0 else '+'}{abs(percent):.1f} %"


def agents(level: float) -> str:
    """`1 agent`, `4 agents`, `5.7 agents`."""
    return "1 agent" if level == 1 else f"{level:.3g} agents"


def count(x: float) -> str:
    """A rate with three digits and no exponent: `0.123`, `12.3`, `1,230`."""
    return f"{x:,.0f}" if abs(x) >= _WHOLE_FROM else f"{x:.3g}"
