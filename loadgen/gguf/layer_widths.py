"""How wide the things are that a layer computes on its way, for the estimate of the compute buffer."""

import re
from dataclasses import dataclass

from loadgen.gguf.model_file import ModelFile

_QUERY = re.compile(r"blk\.\d+\.attn_q(?:_b)?\.weight")
_DENSE = re.compile(r"blk\.\d+\.ffn_up\.weight")
DEFAULT_KDA_CONVOLUTION = 4
"""Tokens that the convolution of Kimi's delta attention sees where its header doesn't say."""
_SHORT_CONVOLUTION = 5
"""In a layer with a short convolution: its input thrice, the convolution's, and the output."""


@dataclass(frozen=True)
class LayerWidths:
    """Elements a token, of the widest layer of each kind; 0 where there is none.

    Attributes:
        feed_forward: gate, up and their product; with experts also the outputs of those that a token is given to.
        query: queries as the layer computes them, with their gate where they have one.
        heads: queries alone.
        recurrent: what a recurrent layer needs at once.
        repeated: keys and queries of delta attention once more, repeated for its heads.
        inner: width of the recurrent layer's values.
        mixed: what its convolution runs over.
        convolution: the convolution's part of a slot's state, in elements.
    """

    feed_forward: int
    query: int
    heads: int
    recurrent: int
    repeated: int
    inner: int
    mixed: int
    convolution: int


def layer_widths(model: ModelFile, name: str, heads: int) -> LayerWidths:
    """The widths that a header tells; `heads` is the width of a token's queries."""
    rows = (t.shape[1] for t in model.tensors if len(t.shape) > 1 and _QUERY.fullmatch(t.name))
    recurrent, repeated, inner, mixed = _recurrent(model, name)
    return LayerWidths(
        feed_forward=_feed_forward(model, name),
        query=max((heads, *rows)) if heads else 0,
        heads=heads,
        recurrent=recurrent,
        repeated=repeated,
        inner=inner,
        mixed=mixed,
        convolution=max(0, _kernel(model, name) - 1) * mixed,
    )


def _feed_forward(model: ModelFile, name: str) -> int:
    used = model.number(f"{name}.expert_used_count") or 0
    width = model.number(f"{name}.embedding_length") or 0
    experts = used * (3 * (model.number(f"{name}.expert_feed_forward_length") or 0) + width) if used else 0
    if experts and not any(_DENSE.fullmatch(tensor.name) for tensor in model.tensors):
        return experts
    dense = max(model.numbers(f"{name}.feed_forward_length") or (model.number(f"{name}.feed_forward_length") or 0,))
    return max(3 * dense, experts)


def _recurrent(model: ModelFile, name: str) -> tuple[int, int, int, int]:
    """`recurrent`, `repeated`, `inner` and `mixed`."""
    if model.number(f"{name}.shortconv.l_cache"):
        width = model.number(f"{name}.embedding_length") or 0
        return _SHORT_CONVOLUTION * width, 0, width, width
    dim = model.number(f"{name}.kda.head_dim")
    if dim:
        count = model.number(f"{name}.attention.head_count") or max(
            model.numbers(f"{name}.attention.head_count") or (0,)
        )
        return _delta(keys=count * dim, values=count * dim)
    inner = model.number(f"{name}.ssm.inner_size") or 0
    grouped = (model.number(f"{name}.ssm.group_count") or 0) * (model.number(f"{name}.ssm.state_size") or 0)
    if any(tensor.name.endswith(".ssm_in.weight") for tensor in model.tensors):
        # Its input, the convolution's input and output, and the layer's output.
        steps = model.number(f"{name}.ssm.time_step_rank") or 0
        mixed = inner + 2 * grouped
        return 2 * inner + 2 * grouped + steps + 2 * mixed + inner, 0, inner, mixed
    return _delta(keys=grouped, values=inner) if inner else (0, 0, 0, 0)


def _kernel(model: ModelFile, name: str) -> int:
    """How many tokens the convolution sees."""
    said = model.number(f"{name}.shortconv.l_cache") or model.number(f"{name}.ssm.conv_kernel") or 0
    return said or (DEFAULT_KDA_CONVOLUTION if model.number(f"{name}.kda.head_dim") else 0)


def _delta(*, keys: int, values: int) -> tuple[int, int, int, int]:
    """Delta attention: what its convolution gives, the gate and the output; repeated keys and queries apart."""
    mixed = 2 * keys + values
    return mixed + 2 * values, 2 * keys, values, mixed
