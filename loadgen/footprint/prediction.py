"""Memory that a server takes, predicted from the headers of its models and its arguments alone.

Formulas follow llama.cpp b11549; each function names its source. Everything but the compute buffers is exact: it equals
the load log to the digit that the log prints. Compute buffers come out of a graph planner that no header describes;
they are estimated (`compute_estimate`), or fitted to a log, and say so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadgen.experiment.serving import Serving
from loadgen.footprint.checkpoint_size import checkpoint_bytes
from loadgen.footprint.compute_estimate import compute_bytes
from loadgen.footprint.served_models import Models, full_layers, sliding_layers, token_bytes
from loadgen.gguf.architecture import Architecture, Layer
from loadgen.units import bytes_to_mib, mib_to_bytes

GGUF, ARGUMENTS, ESTIMATED, FITTED = "gguf", "arguments", "estimated", "fitted"
"""Where a figure comes from: header and arguments together, arguments alone, a guess at the graph, a log."""

_LOGIT_BYTES = 4


@dataclass(frozen=True)
class Share:
    """What one component takes, and how that comes about; `bytes` is null where it can't be told.

    `grows` marks memory of the host that fills while the server works, up to `bytes`; the rest is held from the start.
    """

    component: str
    bytes: int | None
    source: str
    arithmetic: str
    rows: int | None = None
    grows: bool = False


@dataclass(frozen=True)
class Prediction:
    """The components of one server, in the order of a load log."""

    shares: tuple[Share, ...]

    @property
    def held_bytes(self) -> int | None:
        """What is held from the start; null where a component can't be told."""
        return _sum(share for share in self.shares if not share.grows)

    @property
    def host_bytes(self) -> int | None:
        """What the host's side may grow to; null without a limit."""
        return _sum(share for share in self.shares if share.grows)


def predict(models: Models, serving: Serving, fitted: Mapping[str, float] | None = None) -> Prediction:
    """The memory of a server.

    Args:
        models: What is served.
        serving: How.
        fitted: Factors on the estimate of compute buffers, by component, as `fit` found them in a log.
    """
    target, drafting = models.target, models.drafting(serving)
    shares = [_weights("model", target.weight_bytes, target)]
    if drafting is not None and drafting[0] == "mtp_":
        shares.append(_weights("mtp_model", target.draft_weight_bytes, target))
    shares += _context("", target, serving, fitted or {})
    if drafting is not None:
        prefix, model = drafting
        if prefix == "draft_":
            shares.append(_weights("draft_model", model.weight_bytes, model))
        shares += _context(prefix, model, serving.drafting, fitted or {})
    return Prediction((*shares, _prompt_cache(serving), _checkpoints(models, serving)))


def _context(prefix: str, model: Architecture, serving: Serving, fitted: Mapping[str, float]) -> Iterator[Share]:
    """What one `llama_context` allocates."""
    yield _output(prefix + "output", model, serving)
    full, sliding = full_layers(model), sliding_layers(model)
    if full:
        yield _cache(prefix + "kv", full, serving.cells(model.trained_context), model, serving)
    if sliding and model.window is not None:
        cells = serving.window_cells(model.trained_context, model.window.tokens)
        yield _cache(prefix + "kv_swa", sliding, cells, model, serving)
    if model.recurrent_layers:
        yield _recurrent(prefix + "recurrent_state", model, serving)
    name = prefix + "compute"
    count, arithmetic = compute_bytes(model, serving)
    factor = fitted.get(name)
    if factor is None:
        yield Share(name, count, ESTIMATED, arithmetic)
    else:
        yield Share(name, round(count * factor), FITTED, f"{factor:.3f} × ({arithmetic})")


def _weights(name: str, count: int | None, model: Architecture) -> Share:
    """Bytes of the tensors; those of draft layers are loaded for `draft-mtp` alone (`load_mtp`)."""
    if count is None:
        unknown = ", ".join(map(str, model.unknown_types))
        return Share(name, None, GGUF, f"tensors have a type that is not known here (id {unknown})")
    return Share(name, count, GGUF, "bytes of its tensors")


def _output(name: str, model: Architecture, serving: Serving) -> Share:
    """Logits of one position a slot, in f32 (`llama_context::output_reserve` with n_seq_max)."""
    count = serving.slots * model.vocabulary * _LOGIT_BYTES
    return Share(name, count, GGUF, f"{serving.slots} slots × {model.vocabulary:,} tokens × 4 B")


def _cache(name: str, layers: tuple[Layer, ...], cells: int, model: Architecture, serving: Serving) -> Share:
    """Keys and values of `cells` tokens a stream (`llama_kv_cache`)."""
    if model.has_other_caches:
        return Share(name, None, GGUF, f"{model.name} keeps more than keys and values; how much is not known here")
    types = f"{serving.cache_type_k}, {serving.cache_type_v}"
    token = token_bytes(layers, model, serving)
    if token is None:
        return Share(name, None, GGUF, f"a layer's width fills no whole blocks of {types}: llama-server exits")
    text = f"{len(layers)} {'layer' if len(layers) == 1 else 'layers'}, {token:,} B a token ({types}) × {cells:,} cells"
    if serving.streams > 1:
        text += f" × {serving.streams} slots"
    return Share(name, token * cells * serving.streams, GGUF, text)


def _recurrent(name: str, model: Architecture, serving: Serving) -> Share:
    """State × slots × (1 + n_rs_seq) rows (`llama_memory_recurrent`); n_rs_seq is 0 where the model can't roll back."""
    rows = 1 + (serving.rollback_rows if model.rolls_back else 0)
    count = model.state_bytes * serving.slots * rows
    text = f"{_mib(model.state_bytes)} a slot and row × {serving.slots} slots × {rows} {'row' if rows == 1 else 'rows'}"
    return Share(name, count, GGUF, text, rows=rows)


def _prompt_cache(serving: Serving) -> Share:
    """The limit of the prompts kept in the host's memory (`--cache-ram`, 8192 MiB unless given)."""
    name, limit = "prompt_cache", serving.cache_ram_mib
    if limit < 0:
        return Share(name, None, ARGUMENTS, "--cache-ram -1: no limit", grows=True)
    text = "--cache-ram 0: switched off" if limit == 0 else f"at most, by --cache-ram {limit}"
    return Share(name, mib_to_bytes(limit), ARGUMENTS, text, grows=True)


def _checkpoints(models: Models, serving: Serving) -> Share:
    """At worst `--ctx-checkpoints` of every slot, each as large as it gets."""
    name, state = "checkpoints", checkpoint_bytes(models, serving)
    if state is None:
        return Share(name, None, GGUF, "the size of a cell is unknown", grows=True)
    if state == 0:
        return Share(name, 0, GGUF, "attention to all tokens alone: none are taken", grows=True)
    count = max(0, serving.checkpoints)
    text = f"at most: {_mib(state)} × {count} checkpoints × {serving.slots} slots"
    return Share(name, state * count * serving.slots, GGUF, text, grows=True)


def _sum(shares: Iterator[Share]) -> int | None:
    total = 0
    for share in shares:
        if share.bytes is None:
            return None
        total += share.bytes
    return total


def _mib(count: int) -> str:
    return f"{bytes_to_mib(count):,.2f} MiB"
