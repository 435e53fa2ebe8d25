"""`python -m loadgen.servers.embedded ARGS`: llama.cpp's server from the `xllamacpp` package, in the foreground.

It takes llama-server's arguments and variables (those that `embedded_flags` lists) with the same defaults, answers on
the same routes and prints the same log, so that everything that drives a llama-server drives it too. It runs until it
is killed, and exits with 1 where llama-server does: an unknown or removed argument, a bad value, a model that won't
load.
"""

import importlib.util
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from loadgen.errors import UsageError
from loadgen.experiment.llama_flags import REMOVED
from loadgen.servers.embedded_flags import FLAGS, by_name
from loadgen.servers.embedded_values import MissingFileError

PORT = 8080
"""llama-server's default port."""


class ArgumentError(ValueError):
    """An argument that the server can't take, in llama-server's words."""


def require() -> None:
    """Do nothing where the package that holds the server is installed; it is not loaded.

    Raises:
        UsageError: It is not installed.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise UsageError(
            "the embedded server needs the package xllamacpp: pip install xllamacpp (or loadgen's extra, demo)"
        )


def _library() -> ModuleType:
    require()
    import xllamacpp  # noqa: PLC0415 - an optional extra, and 30 MB

    module: ModuleType = xllamacpp
    return module


def parameters(api: Any, args: Sequence[str], environ: Mapping[str, str]) -> Any:
    """`xllamacpp.CommonParams` for llama-server arguments; arguments go before the variables of `environ`.

    Raises:
        ArgumentError: An argument is unknown, removed, without its value, or the value is bad.
    """
    params = api.CommonParams()
    params.port = PORT
    params.n_parallel = -1  # unset: llama.cpp makes it 4 slots and a unified cache
    for flag in FLAGS:
        text = environ.get(flag.variable) if flag.variable else None
        if text is not None:
            try:
                flag.apply(api, params, text)
            except ValueError as error:
                raise ArgumentError(f'error while handling environment variable "{flag.variable}": {error}') from error
    _apply(api, params, args)
    _inherit_threads(params)
    if not params.model.path:
        raise ArgumentError("error: no model: -m FNAME is needed")
    return params


def _apply(api: Any, params: Any, args: Sequence[str]) -> None:
    flags = dict(by_name())
    words = iter(args)
    for word in words:
        name = word.replace("_", "-") if word.startswith("--") else word
        if name in REMOVED:
            raise ArgumentError(
                f'error while handling argument "{word}": the argument has been removed. use {REMOVED[name]}'
            )
        flag = flags.get(name)
        if flag is None:
            raise ArgumentError(f"error: invalid argument: {word}")
        text = next(words, None) if flag.takes_value else ""
        if text is None:
            raise ArgumentError(f'error while handling argument "{word}": expected value for argument')
        try:
            flag.apply(api, params, text)
        except MissingFileError as error:
            raise ArgumentError(f"error: {error}") from error
        except (ValueError, OverflowError) as error:
            raise ArgumentError(f'error while handling argument "{word}": {error}') from error


def _inherit_threads(params: Any) -> None:
    """Unset thread counts follow llama-server: batch as decode, draft as target."""
    draft = params.speculative.draft
    if params.cpuparams_batch.n_threads < 0:
        params.cpuparams_batch.n_threads = params.cpuparams.n_threads
    if draft.cpuparams.n_threads < 0:
        draft.cpuparams.n_threads = params.cpuparams.n_threads
    if draft.cpuparams_batch.n_threads < 0:
        draft.cpuparams_batch.n_threads = draft.cpuparams.n_threads


def main(args: Sequence[str]) -> int:
    """Serve until killed; 1 where the arguments or the model won't do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it as it ends llama-server, without a traceback
    try:
        api = _library()
        server = api.Server(parameters(api, args, os.environ))
    except (UsageError, ArgumentError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except RuntimeError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    while server is not None:  # holds the server: it ends with its last reference
        signal.pause()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
