"""What a log says of memory while the server works: prompt cache, checkpoints, its own balance."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.client.chat import CHAT_PATH
from loadgen.client.request_body import build_body
from loadgen.client.transport import HttpTransport
from loadgen.experiment.model import Experiment
from loadgen.servers.host_use import Balance, HostReading, HostUse, read_host_use, samples_of
from loadgen.servers.target import open_target
from loadgen.units import mib_to_bytes

MIB = 1 << 20

LOG = """
0.00.021.692 I common_memory_breakdown_print: | memory breakdown [MiB] | total   free    self   model |
0.00.021.742 I common_memory_breakdown_print: |   - Host      |         67 =    39 +      15 +      12        |
0.00.030.667 I common_params_fit_impl: projected to use 77 MiB of host memory vs. 24105 MiB of total host memory
0.00.078.899 I srv    load_model: prompt cache is enabled, size limit: 8192 MiB
0.00.080.894 I srv          init: model loaded
0.00.156.682 I srv        update:  - cache state: 0 prompts, 0.000 MiB (limits: 8192.000 MiB, 4096 tokens)
0.00.192.110 I slot create_check: id  3 | task 3 | created context checkpoint 1 of 32 (pos_min = 20, size = 0.500 MiB)
0.02.096.849 I srv   prompt_save:  - saving prompt with length 130, total state size = 0.543 MiB (draft: 0.067 MiB)
0.02.098.204 I srv        update:  - cache state: 1 prompts, 1.500 MiB (limits: 8192.000 MiB, 4096 tokens, 765887 est)
0.02.098.205 I srv        update:    - prompt 0x7ff6f9d0e620:     130 tokens, checkpoints:  2,     1.500 MiB
1.02.204.431 I slot create_check: id  3 | task 3 | created context checkpoint 2 of 32 (pos_min = 30, size = 0.750 MiB)
1.03.377.443 I slot   operator(): id  3 | task 62 | restored context checkpoint (pos_min = 30, size = 0.750 MiB)
1.04.377.443 I slot   operator(): id  3 | task 112 | erased invalidated context checkpoint (size = 0.500 MiB)
1.05.192.110 I slot create_check: id  3 | task 3 | created context checkpoint 1 of 32 (pos_min = 20, size = 0.625 MiB)
"""


def mib(size: float) -> int:
    """Bytes."""
    return mib_to_bytes(size)


def test_prompt_cache_and_checkpoints_are_read_over_time() -> None:
    """What each held at the end of every second that says something; limits, counts and the fit's projection."""
    assert read_host_use(LOG.splitlines()) == HostUse(
        readings=(
            HostReading(0.192110, 0, mib(0.5)),
            HostReading(2.098204, mib(1.5), mib(0.5)),
            HostReading(62.204431, mib(1.5), mib(1.25)),
            HostReading(65.192110, mib(1.5), mib(0.625)),
        ),
        prompt_cache_limit_bytes=mib(8192),
        checkpoints_taken=3,
        checkpoint_bytes=mib(0.75),
        projected=(mib(77), mib(24105)),
        balance=(),
    )


def test_without_times_only_the_peak_is_known() -> None:
    """Old builds print no time: one reading, the highest."""
    plain = "\n".join(line[line.find(" I ") + 3 :] if " I " in line else line for line in LOG.splitlines())
    assert read_host_use(plain.splitlines()).readings == (HostReading(None, mib(1.5), mib(1.25)),)


def test_one_server_is_read_out_of_a_routers_log() -> None:
    """Lines of other ports are left out."""
    mixed = "\n".join(f"[ 8001] {line}\n[ 8002] {line.replace('1.500', '9.500')}" for line in LOG.splitlines())
    assert read_host_use(mixed.splitlines(), port=8001) == read_host_use(LOG.splitlines())
    assert read_host_use(mixed.splitlines(), port=8003).readings == ()


def test_a_checkpoint_that_came_with_a_cached_prompt_counts() -> None:
    """Its number tells how many the slot holds; those never printed are taken to be as large."""
    line = "slot update_slots: id  1 | task 0 | created context checkpoint 8 of 32 (pos_min = 1, size = 149.626 MiB)"
    reading = read_host_use([line]).readings[0]
    assert reading.checkpoints_bytes == 8 * mib(149.626)


def test_a_restart_begins_from_nothing() -> None:
    """What the process before held is gone."""
    text = LOG + "1.06.000.000 I srv    load_model: loading model 'm'\n" + LOG.splitlines()[6]
    assert read_host_use(text.splitlines()).readings[-1].prompt_cache_bytes == 0


@pytest.mark.parametrize("name", ["llama_memory_breakdown_print", "common_memory_breakdown_print"])
def test_the_balance_is_the_one_printed_at_the_end(name: str) -> None:
    """Total = free + (self = model + context + compute) + unaccounted; an unsigned negative rest is null."""
    lines = [
        *LOG.splitlines(),
        f"{name}: | memory breakdown [MiB] | total   free     self   model   context   compute    unaccounted |",
        f"{name}: |   - CUDA0 (RTX 5090)   | 32606 = 1057 + (29365 = 28609 +     397 +     358) +        2183 |",
        f"{name}: |   - CUDA1 (RTX 5060 Ti) | 15841 = 15630 + (15302 = 14736 +      72 +     493) + 17592186029324 |",
        f"{name}: |   - Host               |                 30956 = 30940 +       0 +      16                |",
    ]
    assert read_host_use(lines).balance == (
        Balance("CUDA0", mib(32606), mib(1057), mib(29365), mib(28609), mib(397), mib(358), mib(2183)),
        Balance("CUDA1", mib(15841), mib(15630), mib(15302), mib(14736), mib(72), mib(493), None),
        Balance("Host", None, None, mib(30956), mib(30940), 0, mib(16), None),
    )


@pytest.mark.parametrize(("said", "limit"), [("is enabled, size limit: no limit", None), ("is disabled - use it", 0)])
def test_a_cache_without_limit_has_none_and_one_that_is_off_holds_nothing(said: str, limit: int | None) -> None:
    """Null and 0 are told apart."""
    assert read_host_use([f"srv    load_model: prompt cache {said}"]).prompt_cache_limit_bytes == limit


def test_device_memory_of_the_fit_is_read_too() -> None:
    """The line has other words on a GPU."""
    line = "common_params_fit_impl: projected to use 27415 MiB of device memory vs. 23000 MiB of free device memory"
    assert read_host_use([line]).projected == (mib(27415), mib(23000))


def named(text: str) -> list[tuple[str, int, float | None]]:
    """The samples of a log whose process began at 10 s, read at 100 s: name, time in ns, value."""
    use = read_host_use(text.splitlines())
    samples = samples_of(use, run="run", variant="mtp", began_ns=10 * 10**9, now_ns=100 * 10**9)
    assert {(one.source, one.trial, one.variant) for one in samples} == {("log", None, "mtp")}
    return [(one.name, one.at_ns, one.value) for one in samples]


def test_samples_are_dated_by_the_logs_own_clock() -> None:
    """Without times there are peaks only, dated when they were read, under names of their own."""
    assert named(LOG)[2:4] == [
        ("prompt_cache_bytes", 12_098_204_000, mib(1.5)),
        ("checkpoints_bytes", 12_098_204_000, mib(0.5)),
    ]
    assert named(LOG)[-2:] == [("checkpoints_taken", 10**11, 3), ("checkpoint_bytes", 10**11, mib(0.75))]
    plain = "\n".join(line[line.find(" I ") + 3 :] if " I " in line else line for line in LOG.splitlines())
    assert named(plain)[:2] == [
        ("prompt_cache_peak_bytes", 10**11, mib(1.5)),
        ("checkpoints_peak_bytes", 10**11, mib(1.25)),
    ]


@given(st.lists(st.one_of(st.text(max_size=60), st.sampled_from(LOG.splitlines()).map(lambda line: line[::2]))))
def test_junk_never_fails(lines: list[str]) -> None:
    """Whatever is printed, nothing negative comes out."""
    found = read_host_use(lines)
    assert all(one.prompt_cache_bytes >= 0 and one.checkpoints_bytes >= 0 for one in found.readings)


@pytest.mark.live
async def test_a_servers_log_tells_what_its_host_memory_held(demo_model: Path, tmp_path: Path) -> None:
    """A real server with one slot saves each prompt before the next, dated between its start and its end.

    Its ledger is the same whether a probe made it reserve again or not.
    """
    args = ["-m", str(demo_model), "-np", "1", "-c", "1024", "-lv", "4", "-t", "1", "-tb", "1", "--poll", "0"]
    args += ["--spec-type", "draft-mtp", "--spec-draft-n-max", "3"]
    variant = {"kind": "launch", "name": "mtp", "program": "embedded", "args": args}
    experiment = Experiment.model_validate({"variants": [variant], "baseline": "mtp", "levels": (1,)})
    ledgers = []
    for number, probe in enumerate((False, True)):
        begin = time.monotonic_ns()
        target = await open_target(
            experiment.variants[0], experiment, log_path=tmp_path / f"{number}.log", on_wait=lambda _: None, probe=probe
        )
        try:
            for word in ("apple ", "stone ", "river "):
                messages = [{"role": "user", "content": word * 40}]
                body = build_body(messages, model=None, max_tokens=4, exact_length=True, extra={})
                async with HttpTransport(target.transport.endpoint) as once:
                    await once.post(CHAT_PATH, body, 60)
            ledgers.append(target.ledger())
        finally:
            await target.close()
        samples = target.host_samples(run="run")
        held = [one for one in samples if one.name == "prompt_cache_bytes"]
        assert held[-1].value
        assert all(begin < one.at_ns < time.monotonic_ns() for one in held)
        taken = [one.value for one in samples if one.name == "checkpoints_taken"]
        assert taken[0]
    assert ledgers[0] == ledgers[1]
