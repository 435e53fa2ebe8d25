"""Conversions between the units that we keep (ns, bytes) and those that we show (s, MiB, per hour).

The only module that converts: everything else keeps integer nanoseconds and bytes, or says in its name what it holds
(`_s`, `_ms`, `_per_hour`).
"""

import re

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
NS_PER_US = 1_000
S_PER_HOUR = 3600
BYTES_PER_MIB = 1 << 20
BYTES_PER_GIB = 1 << 30

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?b)?|b|bytes)?", re.IGNORECASE)
_NO_SIZE = 1 << 62
_POWER = {"k": 1, "m": 2, "g": 3, "t": 4}

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_SECONDS_PER = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


def ns_to_s(ns: float) -> float:
    """Nanoseconds to seconds."""
    return ns / NS_PER_S


def s_to_ns(seconds: float) -> int:
    """Seconds to whole nanoseconds."""
    return round(seconds * NS_PER_S)


def ms_to_ns(milliseconds: float) -> int:
    """Milliseconds to whole nanoseconds."""
    return round(milliseconds * NS_PER_MS)


def ms_to_s(milliseconds: float) -> float:
    """Milliseconds to seconds."""
    return milliseconds / (NS_PER_S // NS_PER_MS)


def ns_to_us(ns: int) -> int:
    """Nanoseconds to whole microseconds, rounded to the nearest."""
    return (ns + NS_PER_US // 2) // NS_PER_US


def us_to_ns(us: int) -> int:
    """Microseconds to nanoseconds."""
    return us * NS_PER_US


def mib_to_bytes(mib: float) -> int:
    """MiB, as server logs print them, to bytes."""
    return round(mib * BYTES_PER_MIB)


def kib_to_bytes(kib: int) -> int:
    """KiB, as Linux's `/proc` tells them (it writes kB), to bytes."""
    return kib * 1024


def bytes_to_mib(count: float) -> float:
    """Bytes to MiB."""
    return count / BYTES_PER_MIB


def milliwatts_to_watts(milliwatts: float) -> float:
    """Milliwatts, as NVIDIA's driver tells them, to watts."""
    return milliwatts / 1_000


def microwatts_to_watts(microwatts: float) -> float:
    """Microwatts, as Linux's hwmon tells them, to watts."""
    return microwatts / 1_000_000


def khz_to_mhz(khz: float) -> float:
    """Kilohertz, as Linux's cpufreq tells them, to megahertz."""
    return khz / 1_000


def joules_to_kwh(joules: float) -> float:
    """Joules to kilowatt-hours, by which energy is sold."""
    return joules / (1_000 * S_PER_HOUR)


def per_hour(count: float, seconds: float) -> float:
    """A count over seconds as a rate per hour. `seconds` must be above 0."""
    return count / seconds * S_PER_HOUR


def parse_size(text: str) -> int:
    """Bytes in a size such as `24GiB`, `1.5 G`, `24576MiB`, `16GB` or `512`.

    A letter alone is binary, as llama.cpp and Linux print sizes; `GB` is decimal. Raises `ValueError` where the text is
    none.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a size such as 24GiB, 512MiB or a number of bytes")
    number, letter, rest = found.groups()
    base = 1000 if (rest or "").lower() == "b" else 1024
    size = float(number) * (base ** _POWER[letter.lower()] if letter else 1)
    if size >= _NO_SIZE:
        raise ValueError(f"{text.strip()[:20]!r} is more memory than any device has")
    return round(size)


def parse_duration_s(text: str) -> float:
    """Seconds in a duration such as `90`, `90s`, `15m`, `1h30m` or `500ms`.

    Raises `ValueError` where the text is none.
    """
    stripped = text.strip().lower()
    parts = list(_DURATION.finditer(stripped))
    if not parts or "".join(part.group(0) for part in parts) != stripped:
        raise ValueError(f"{text!r} is not a duration such as 90s, 15m or 1h30m")
    return sum(float(part.group(1)) * _SECONDS_PER[part.group(2)] for part in parts)
