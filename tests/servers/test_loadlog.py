"""The load log's figures become the memory ledger: exact, each once, and nothing on junk."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.records.model import Component
from loadgen.servers.loadlog import LoadFacts, read_facts, read_ledger
from loadgen.units import mib_to_bytes

if TYPE_CHECKING:
    from tests.servers.conftest import Served

MIB = 1 << 20
STATE_MIB = 0.8203125
"""Recurrent state of the demo model a slot and row."""

SWA = """
load_tensors:   CPU_Mapped model buffer size =   235.00 MiB
load_tensors:   CPU_REPACK model buffer size =    12.50 MiB
llama_context: constructing llama_context
llama_context:        CPU  output buffer size =     4.00 MiB
llama_kv_cache:        CPU KV buffer size =    24.00 MiB
llama_kv_cache: size =   24.00 MiB (  2048 cells,   3 layers,  4/4 seqs), K (f16):   12.00 MiB, V (f16):   12.00 MiB
llama_kv_cache:        CPU KV buffer size =    60.00 MiB
llama_kv_cache: size =   60.00 MiB (  1024 cells,  15 layers,  4/4 seqs), K (f16):   30.00 MiB, V (f16):   30.00 MiB
sched_reserve:        CPU compute buffer size =    21.25 MiB
"""

TWO_GPUS_WITH_DRAFT = """
load_tensors:        CUDA0 model buffer size =  1000.00 MiB
load_tensors:        CUDA1 model buffer size =   900.50 MiB
load_tensors:   CPU_Mapped model buffer size =    10.00 MiB
load_tensors:   CPU_Mapped model buffer size =    20.00 MiB
llama_context: constructing llama_context
llama_context:  CUDA_Host  output buffer size =     2.00 MiB
llama_kv_cache_iswa: creating non-SWA KV cache, size = 8192 cells
llama_kv_cache:      CUDA0 KV buffer size =    64.00 MiB
llama_kv_cache:      CUDA1 KV buffer size =    32.00 MiB
llama_kv_cache: size =   96.00 MiB (  8192 cells,   3 layers,  4/4 seqs), K (f16):   48.00 MiB, V (f16):   48.00 MiB
sched_reserve:      CUDA0 compute buffer size =   200.00 MiB
sched_reserve:  CUDA_Host compute buffer size =     8.00 MiB
sched_reserve:      CUDA0 compute buffer size =   256.00 MiB
alloc_compute_meta:      CUDA0 compute buffer size =   33.00 MiB
common_speculative_init_result: loading draft model '/m/draft.gguf'
load_tensors:        CUDA0 model buffer size =   100.00 MiB
llama_context: constructing llama_context
llama_kv_cache:      CUDA0 KV buffer size =    16.00 MiB
llama_memory_recurrent:      CUDA0 RS buffer size =     3.00 MiB
llama_memory_recurrent: size =    3.00 MiB (  4 cells,  4 layers,  4 seqs), R (f32):  1.00 MiB, S (f32):  2.00 MiB
sched_reserve:      CUDA0 compute buffer size =    40.00 MiB
"""


def _figures(ledger: list[Component]) -> list[tuple[str, str | None, float]]:
    return [(entry.component, entry.device, entry.bytes / MIB) for entry in ledger]


EXPECTED_WITH_DRAFT = [
    ("model", "CUDA0", 1000.0),
    ("model", "CUDA1", 900.5),
    ("model", "CPU_Mapped", 30.0),
    ("output", "CUDA_Host", 2.0),
    ("kv", "CUDA0", 64.0),
    ("kv", "CUDA1", 32.0),
    ("compute", "CUDA0", 256.0),
    ("compute", "CUDA_Host", 8.0),
    ("draft_model", "CUDA0", 100.0),
    ("draft_kv", "CUDA0", 16.0),
    ("draft_recurrent_state", "CUDA0", 3.0),
    ("draft_compute", "CUDA0", 40.0),
]


def test_a_draft_model_has_its_own_entries_by_device() -> None:
    """Shards add up, the last reservation counts, the image encoder doesn't, and the second model is the draft."""
    ledger = read_ledger(TWO_GPUS_WITH_DRAFT)
    assert _figures(ledger) == EXPECTED_WITH_DRAFT
    assert [entry.rows for entry in ledger if entry.component == "draft_recurrent_state"] == [1]
    assert {entry.source for entry in ledger} == {"log"}


@pytest.mark.parametrize(
    "printed",
    [
        "{line}",
        "0.00.067.353 I {line}",
        "[40123] 0.00.067.353 I {line}",
        "[40123] {line}",
        "\x1b[34m0.00.067.353\x1b[0m \x1b[32mI \x1b[0m{line}\x1b[0m",
        '{{"level": "INFO", "msg": "{line}"}}',
    ],
)
def test_prefixes_do_not_matter(printed: str) -> None:
    """Time stamps, router ports, colours and JSON lines give the same ledger."""
    text = "\n".join(printed.format(line=line) for line in TWO_GPUS_WITH_DRAFT.strip().splitlines())
    assert _figures(read_ledger(text)) == EXPECTED_WITH_DRAFT


@pytest.mark.parametrize("padding", ["", " "])
def test_one_server_is_read_out_of_a_routers_log(padding: str) -> None:
    """Lines of other ports, and of the router itself, are left out; ports are padded to five places."""
    pairs = zip(SWA.strip().splitlines(), TWO_GPUS_WITH_DRAFT.strip().splitlines(), strict=False)
    text = "\n".join(f"[{padding}8001] {one}\n[{padding}8002] {other}\nrouter line" for one, other in pairs)
    assert _figures(read_ledger(text, port=8001)) == [
        ("model", "CPU_Mapped", 235.0),
        ("model", "CPU_REPACK", 12.5),
        ("output", "CPU", 4.0),
        ("kv", "CPU", 24.0),
        ("kv_swa", "CPU", 60.0),
        ("compute", "CPU", 21.25),
    ]
    assert read_ledger(text, port=8003) == []


@pytest.mark.parametrize("kinds", [None, ("non-SWA", "    SWA"), ("    SWA", "non-SWA")])
def test_the_cache_of_sliding_windows_is_told_apart(kinds: tuple[str, str] | None) -> None:
    """By what the log says of it, else by coming second."""
    text = SWA
    for kind, size in zip(kinds or (), ("24", "60"), strict=False):
        line = f"llama_kv_cache:        CPU KV buffer size =    {size}.00 MiB"
        text = text.replace(line, f"llama_kv_cache_iswa: creating {kind} KV cache, size = 1 cells\n{line}")
    found = {component: mib for component, _, mib in _figures(read_ledger(text)) if component.startswith("kv")}
    swapped = kinds is not None and "non-SWA" in kinds[1]
    assert found == ({"kv_swa": 24.0, "kv": 60.0} if swapped else {"kv": 24.0, "kv_swa": 60.0})


def test_a_draft_context_without_a_model_of_its_own_is_mtp() -> None:
    """It shares the model, also where the log doesn't name it."""
    text = SWA + "llama_context: constructing llama_context\nllama_kv_cache:   CPU KV buffer size =    2.00 MiB\n"
    assert _figures(read_ledger(text))[-1] == ("mtp_kv", "CPU", 2.0)


def test_what_the_fit_prints_before_loading_is_no_memory() -> None:
    """At `-lv 5` the fit prints buffers of a model that it doesn't load."""
    end = "common_fit_params: successfully fit params to free device memory\n"
    assert read_ledger(TWO_GPUS_WITH_DRAFT + end + SWA) == read_ledger(SWA)


WORKING = """
srv          init: model loaded
sched_reserve:        CUDA0 compute buffer size =   300.00 MiB
"""


def test_what_is_reserved_while_the_server_works_is_attributed_where_it_can_be() -> None:
    """With one context it takes the old buffer's place; with a draft's beside it, the buffers of the load stand."""
    alone = TWO_GPUS_WITH_DRAFT.partition("common_speculative")[0]
    changed = [
        ("compute", "CUDA0", 300.0) if row[:2] == ("compute", "CUDA0") else row for row in _figures(read_ledger(alone))
    ]
    assert _figures(read_ledger(alone + WORKING)) == changed
    assert changed != _figures(read_ledger(alone))
    assert read_ledger(TWO_GPUS_WITH_DRAFT + WORKING) == read_ledger(TWO_GPUS_WITH_DRAFT)


def test_of_several_starts_in_one_log_the_last_counts() -> None:
    """A unit that was restarted, or a server that slept, is not two servers."""
    loading = "srv    load_model: loading model '/m/model.gguf'\n"
    text = loading + TWO_GPUS_WITH_DRAFT + WORKING + loading + SWA + "main: model loaded\n"
    assert read_ledger(text) == read_ledger(SWA)


@pytest.mark.live
@pytest.mark.parametrize("slots", [1, 4, 8])
@pytest.mark.parametrize("n_max", [None, 3, 7])
def test_recurrent_state_grows_with_slots_and_draft_length(
    demo_model: Path, serve: "Callable[..., Served]", slots: int, n_max: int | None
) -> None:
    """Its bytes are slots x (1 + n_max) rows, as a real server allocates them; the MTP context comes on top."""
    mtp = () if n_max is None else ("--spec-type", "draft-mtp", "--spec-draft-n-max", str(n_max))
    served = serve("-m", str(demo_model), "-c", "4096", "-np", str(slots), "-lv", "4", *mtp)
    text = "".join(served.lines)
    by_name = {entry.component: entry for entry in read_ledger(text)}
    rows = 1 + (n_max or 0)
    state = by_name["recurrent_state"]
    assert (state.bytes, state.rows) == (mib_to_bytes(round(STATE_MIB * slots * rows, 2)), rows)
    assert (state.device, state.source) == ("CPU", "log")
    assert by_name["kv"].bytes == 4 * MIB
    expected = {"model", "kv", "recurrent_state", "compute", "output"}
    if n_max is not None:
        assert by_name["mtp_kv"].bytes == 2 * MIB
        expected |= {"mtp_kv", "mtp_compute", "mtp_output"}
    assert set(by_name) == expected
    speculation = () if n_max is None else ("draft-mtp",)
    assert read_facts(text) == LoadFacts(slots, 4096 // slots, kv_unified=False, speculation=speculation)


@pytest.mark.live
def test_a_draft_models_memory_is_the_drafts(
    demo_model: Path, tiny_model: Path, serve: "Callable[..., Served]"
) -> None:
    """A second model and its context are named `draft_…`, and none of it counts as the target's."""
    draft = ("-md", str(tiny_model), "--spec-type", "draft-simple")
    served = serve("-m", str(demo_model), "-c", "2048", "-np", "4", "-lv", "5", *draft)
    by_name = {entry.component: entry for entry in read_ledger("".join(served.lines))}
    target = {"model", "kv", "recurrent_state", "compute", "output"}
    assert set(by_name) == target | {f"draft_{name}" for name in target}
    assert by_name["draft_kv"].bytes == MIB // 2
    assert by_name["recurrent_state"].bytes == mib_to_bytes(3.28)
    assert read_facts("".join(served.lines)).speculation == ("draft-simple",)


def test_facts_are_null_where_the_log_does_not_say() -> None:
    """A log below `-lv 3`, or cut."""
    assert read_facts("nothing here") == LoadFacts(None, None, None, ())


_fragments = st.sampled_from(
    [*SWA.splitlines(), *TWO_GPUS_WITH_DRAFT.splitlines(), "llama_memory_recurrent: size = 1 cells, 2 seqs 3 rs_seq)"]
)


@given(st.lists(st.one_of(st.text(max_size=60), _fragments, _fragments.map(lambda line: line[: len(line) // 2]))))
def test_junk_never_fails_and_gives_no_negative_memory(lines: list[str]) -> None:
    """Whatever is printed, the ledger has only known components, each once a device, with its bytes."""
    text = "\n".join(lines)
    ledger = read_ledger(text)
    read_facts(text)
    assert all(entry.bytes >= 0 for entry in ledger)
    assert len({(entry.component, entry.device) for entry in ledger}) == len(ledger)
    known = {"model", "kv", "kv_swa", "recurrent_state", "compute", "output"}
    assert {entry.component.removeprefix("draft_").removeprefix("mtp_") for entry in ledger} <= known


@given(st.text())
def test_text_without_buffers_has_an_empty_ledger(text: str) -> None:
    """No figure is made up."""
    assert read_ledger(text.replace("buffer size", "")) == []
