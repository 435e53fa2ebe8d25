"""The memory ledger of a server whose log nobody sees, predicted from its model's header and its command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from loadgen.client.endpoint import Endpoint
from loadgen.errors import ExperimentError, GgufError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.command import Command
from loadgen.experiment.serving import Serving, serving_of
from loadgen.footprint.prediction import Prediction, predict
from loadgen.footprint.served_models import Models
from loadgen.gguf.architecture import read_architecture
from loadgen.gguf.model_file import read_model
from loadgen.records.model import Component, ServerFacts
from loadgen.servers.discovery import local_pid
from loadgen.servers.settings import names_model

_VARIABLES = "LLAMA_ARG_"
_MODEL = ("-m", "--model")
_MODEL_VARIABLE = "LLAMA_ARG_MODEL"


class NotPredictableError(Exception):
    """The memory of a server can't be predicted. The message is a half-sentence: why."""


def predicted_ledger(
    command: Sequence[str] | None,
    facts: ServerFacts,
    endpoint: Endpoint,
    environment: Mapping[str, str | None] | None = None,
) -> list[Component]:
    """What the server holds from its start, by component. Reads the headers of its models.

    Slots and context are those that the server tells, for `--fit` may have changed them; everything else is what its
    command says.

    Args:
        command: program and arguments of the server.
        facts: what it says of itself.
        endpoint: where it answers.
        environment: its variables; null: those of the process that listens there, where they can be seen.

    Raises `NotPredictableError`.
    """
    if not endpoint.is_loopback:
        raise NotPredictableError("it runs on another machine, so its model file can't be read")
    if not command:
        raise NotPredictableError("its command line can't be seen from here")
    process = _process(endpoint)
    variables = _variables(process) if environment is None else environment
    if not names_model(command) and not variables.get(_MODEL_VARIABLE):
        raise NotPredictableError("what listens there is not started with a model, so that it only passes requests on")
    args = tuple(command[1:])
    own = command[1 + flags.first_argument(command[0], args) :]
    if not flags.has(own, *_MODEL) and not variables.get(_MODEL_VARIABLE) and facts.model_path is not None:
        args = (*args, _MODEL[0], facts.model_path)
    try:
        serving = _as_told(serving_of(Command(command[0], args, variables)), facts)
        folder = _folder(process)
        paths = [path for path in (serving.model, serving.draft_model) if path is not None]
        found = [read_architecture(read_model(_absolute(path, folder))) for path in paths]
    except (ExperimentError, GgufError) as error:
        raise NotPredictableError(str(error).rstrip(".")) from None
    return _components(predict(Models(found[0], found[1] if len(found) > 1 else None), serving))


def _as_told(serving: Serving, facts: ServerFacts) -> Serving:
    """The same with the slots and the context that came out. Raises `NotPredictableError` where that is another's."""
    if facts.slots is None or facts.context_per_slot is None:
        return serving
    if facts.slots != serving.slots:
        raise NotPredictableError(
            f"its command makes {serving.slots} slots, and it has {facts.slots}: the command is another server's"
        )
    return serving if serving.context is not None else serving.with_slot_context(facts.context_per_slot)


def _components(prediction: Prediction) -> list[Component]:
    found = []
    for share in prediction.shares:
        if share.grows:  # a limit, and no part of what is held
            continue
        if share.bytes is None:
            raise NotPredictableError(f"of its {share.component.replace('_', ' ')}: {share.arithmetic}")
        found.append(
            Component(component=share.component, bytes=share.bytes, source=share.source, device=None, rows=share.rows)
        )
    return found


def _process(endpoint: Endpoint) -> psutil.Process | None:
    try:
        pid = local_pid(endpoint)
        return psutil.Process(pid) if pid is not None else None
    except psutil.Error:
        return None


def _variables(process: psutil.Process | None) -> dict[str, str | None]:
    try:
        environment = process.environ() if process is not None else {}
    except (psutil.Error, OSError):
        return {}
    return {name: value for name, value in environment.items() if name.startswith(_VARIABLES)}


def _folder(process: psutil.Process | None) -> str | None:
    try:
        return process.cwd() if process is not None else None
    except (psutil.Error, OSError):
        return None


def _absolute(path: str, folder: str | None) -> Path:
    """A path as the server takes it. Raises `NotPredictableError` where the directory that it runs in is unknown."""
    if Path(path).is_absolute():
        return Path(path)
    if folder is None:
        raise NotPredictableError(f"{path} is relative to the directory that it runs in, which can't be seen")
    return Path(folder) / path
