"""Tracebacks: of exceptions that Python's own library raises, or through lines of one's own files."""

import argparse
import ast
import configparser
import csv
import dataclasses
import enum
import fractions
import gzip
import inspect
import io
import ipaddress
import json
import logging.config
import pathlib
import plistlib
import re
import shlex
import shutil
import statistics
import string
import sysconfig
import tomllib
import traceback
import urllib.parse
import uuid
import zipfile
from collections.abc import Callable, Sequence
from functools import lru_cache

from loadgen.workload.corpus.library import Library
from loadgen.workload.corpus.outline import outline
from loadgen.workload.corpus.output import drawn
from loadgen.workload.distribution import RandomSource

__all__ = ["traceback_of"]

_CALLS: tuple[tuple[str, str, Callable[[], object]], ...] = (
    ("json", "json.loads(\"{'name': 1}\")", lambda: json.loads("{'name': 1}")),
    ("json", 'json.loads("[1, 2")', lambda: json.loads("[1, 2")),
    ("json", "json.dumps({1, 2})", lambda: json.dumps({1, 2})),
    ("configparser", 'parser.read_string("a=1")', lambda: configparser.ConfigParser().read_string("a=1")),
    ("configparser", 'parser.get("main", "path")', lambda: configparser.ConfigParser().get("main", "path")),
    ("ipaddress", 'ipaddress.ip_address("256.1.1.1")', lambda: ipaddress.ip_address("256.1.1.1")),
    ("ipaddress", 'ipaddress.ip_network("10.0.0.1/8")', lambda: ipaddress.ip_network("10.0.0.1/8")),
    ("fractions", 'fractions.Fraction("a/b")', lambda: fractions.Fraction("a/b")),
    ("statistics", "statistics.mean([])", lambda: statistics.mean([])),
    ("statistics", "statistics.stdev([1])", lambda: statistics.stdev([1])),
    ("shlex", 'shlex.split("it\'s")', lambda: shlex.split("it's")),
    ("ast", 'ast.literal_eval("a + b")', lambda: ast.literal_eval("a + b")),
    ("ast", 'ast.parse("def f(:")', lambda: ast.parse("def f(:")),
    ("enum", 'enum.Enum("Colour", "RED RED")', lambda: enum.Enum("Colour", "RED RED")),
    ("dataclasses", "dataclasses.fields(object)", lambda: dataclasses.fields(object)),  # type: ignore[arg-type] # on purpose
    ("dataclasses", "dataclasses.asdict(1)", lambda: dataclasses.asdict(1)),  # type: ignore[call-overload] # on purpose
    ("string", 'string.Template("$name").substitute()', lambda: string.Template("$name").substitute()),
    ("string", 'string.Formatter().format("{0}")', lambda: string.Formatter().format("{0}")),
    ("parse", 'urllib.parse.urlsplit("http://[::1")', lambda: urllib.parse.urlsplit("http://[::1")),
    ("uuid", 'uuid.UUID("12345")', lambda: uuid.UUID("12345")),
    ("csv", 'writer.writerow({"b": 1})', lambda: csv.DictWriter(io.StringIO(), ["a"]).writerow({"b": 1})),
    ("zipfile", "zipfile.ZipFile(file)", lambda: zipfile.ZipFile(io.BytesIO(b"no archive"))),
    ("gzip", 'gzip.decompress(b"no archive")', lambda: gzip.decompress(b"no archive")),
    ("plistlib", 'plistlib.loads(b"no list")', lambda: plistlib.loads(b"no list")),
    ("tomllib", 'tomllib.loads("a = ")', lambda: tomllib.loads("a = ")),
    ("re", 're.compile("(a")', lambda: re.compile("(a")),
    ("re", 're.compile("*")', lambda: re.compile("*")),
    ("inspect", "inspect.signature(1)", lambda: inspect.signature(1)),  # type: ignore[arg-type] # on purpose
    ("inspect", "inspect.getsource(len)", lambda: inspect.getsource(len)),
    ("pathlib", 'path.relative_to("b")', lambda: pathlib.PurePosixPath("a").relative_to("b")),
    ("shutil", 'shutil.make_archive("a", "bogus")', lambda: shutil.make_archive("a", "bogus")),
    ("logging", "logging.config.dictConfig({})", lambda: logging.config.dictConfig({})),
    ("argparse", 'parser.add_argument("-x", nargs=0)', lambda: argparse.ArgumentParser().add_argument("-x", nargs=0)),
)
"""A module, a line of a test of it, and the same as a call that fails within Python's library."""

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_HEAD = "Traceback (most recent call last):\n"
_OWN = (
    *("ValueError: too many values to unpack (expected 2)", "KeyError: 'name'", "IndexError: list index out of range"),
    *("TypeError: 'NoneType' object is not subscriptable", "AttributeError: 'NoneType' object has no attribute 'get'"),
    *("AssertionError: 3 != 4", "RuntimeError: dictionary changed size during iteration", "TimeoutError: timed out"),
)
"""What goes wrong in files that aren't run."""
_FRAMES = 4


def traceback_of(source: RandomSource, library: Library) -> str:
    """One traceback with a line end behind it: a real one of Python's library, or through lines of the user's files."""
    if library.is_standard:
        known = _raised()
        return known[drawn(source, len(known))]
    frames = []
    for _ in range(1 + drawn(source, _FRAMES)):
        document = library.sources[drawn(source, len(library.sources))]
        definition = outline(document)[drawn(source, len(outline(document)))]
        at = definition.line - 1 + drawn(source, max(1, definition.end - definition.line + 1))
        line = document.pieces[min(at, len(document.pieces) - 1)].strip()
        frames.append(f'  File "{document.path}", line {at + 1}, in {definition.name}\n    {line}\n')
    return f"{_HEAD}{''.join(frames)}{_OWN[drawn(source, len(_OWN))]}\n"


@lru_cache(maxsize=1)
def _raised() -> Sequence[str]:
    """The tracebacks of all calls; paths are those of a source tree, and what differs between two runs is fixed."""
    found = []
    for number, (module, text, call) in enumerate(_CALLS):
        try:
            call()
        except Exception as error:  # noqa: BLE001 - to raise it is the purpose
            frame = f'  File "tests/test_{module}.py", line {40 + 17 * number}, in test_{module}_{number}\n    {text}\n'
            found.append(_formatted(error, frame))
    return found


def _formatted(error: Exception, frame: str) -> str:
    inner = error.__traceback__.tb_next if error.__traceback__ is not None else None
    text = "".join(traceback.format_exception(type(error), error.with_traceback(inner), inner))
    before, head, after = text.rpartition(_HEAD)
    text = f"{before}{head}{frame}{after}" if head else f"{_HEAD}{frame}{text}"
    folder = sysconfig.get_path("stdlib")
    return _ADDRESS.sub("0x7f3c2a1b5d90", text.replace(f"{folder}/", "Lib/").replace(f"{folder}\\", "Lib/"))
