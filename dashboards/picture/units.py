"""Numbers as Grafana writes them where a panel doesn't set decimals (its `valueFormats`)."""

import math
from datetime import UTC, datetime

_THOUSANDS = ("", " K", " Mil", " Bil", " Tri")
_BYTES = (" B", " KiB", " MiB", " GiB", " TiB")
_WATTS = (" W", " kW", " MW")
_SECONDS = ((60.0, 1.0, " s"), (3600.0, 60.0, " mins"), (86400.0, 3600.0, " hours"))


def decimals(value: float) -> int:
    """Grafana's choice: three digits, fewer where the first two say enough, none for whole numbers."""
    if value == 0 or value % 1 == 0:
        return 0
    places = 1 - math.floor(math.log10(abs(value)))
    return max(places + (abs(value) * 10.0**places > 2.25), 0)  # noqa: PLR2004 - Grafana's own


def written(value: float | None, unit: str, places: int | None = None) -> str:
    """A value in its unit; `places` where a panel sets its decimals. Raises `KeyError` for a unit that isn't used."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return _WRITERS[unit](value, places)


def _fixed(value: float, places: int | None) -> str:
    return f"{value:.{decimals(value) if places is None else places}f}"


def _scaled(value: float, places: int | None, factor: float, names: tuple[str, ...]) -> str:
    at = 0
    while abs(value) >= factor and at < len(names) - 1:
        value, at = value / factor, at + 1
    return _fixed(value, places) + names[at]


def _seconds(value: float, places: int | None) -> str:
    if value == 0:
        return "0 s"
    for most, factor, name in ((1e-3, 1e-6, " µs"), (1.0, 1e-3, " ms"), *_SECONDS):
        if abs(value) < most:
            return _fixed(value / factor, places) + name
    return _fixed(value / 86400, places) + " days"


def _locale(value: float, places: int | None) -> str:
    return f"{value:,.{decimals(value) if places is None else places}f}"


def _moment(value: float, _: int | None) -> str:
    """Grafana gives it in milliseconds, and writes it in the zone of the browser; here it is UTC."""
    return datetime.fromtimestamp(value / 1e3, UTC).strftime("%Y-%m-%d %H:%M:%S")


_WRITERS = {
    "none": _fixed,
    "short": lambda value, places: _scaled(value, places, 1000, _THOUSANDS),
    "locale": _locale,
    "percentunit": lambda value, places: _fixed(value * 100, places) + "%",
    "s": _seconds,
    "bytes": lambda value, places: _scaled(value, places, 1024, _BYTES),
    "watt": lambda value, places: _scaled(value, places, 1000, _WATTS),
    "dateTimeAsIso": _moment,
}
