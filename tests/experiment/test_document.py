"""An experiment file becomes the experiment that the command line would build."""

import contextlib
import json  # JSON is YAML
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import ExperimentError
from loadgen.experiment.build import experiment
from loadgen.experiment.document import parse_experiment, read_experiment
from loadgen.experiment.llama_flags import VARIABLES
from loadgen.experiment.pasted import variants_from_command
from loadgen.experiment.variant import LaunchVariant

UNSET: dict[str, str | None] = dict.fromkeys(VARIABLES)


def fields(text: str) -> dict[str, Any]:
    """The experiment's fields in a file."""
    return parse_experiment(text, name="f")[0]


def variants(text: str) -> list[dict[str, Any]]:
    """The variants in a file."""
    found: list[dict[str, Any]] = fields(text)["variants"]
    return found


def test_a_file_builds_what_a_pasted_command_builds() -> None:
    """`off` and `mtp` of a file are equal to those of the command."""
    text = """
base:
  program: numactl
  args: -N 0 llama-server -m a.gguf -np 4
  env: {CUDA_VISIBLE_DEVICES: 0}
variants:
  - name: off
  - name: mtp-3
    args: {--spec-type: draft-mtp, --spec-draft-n-max: 3}
"""
    command = (
        "CUDA_VISIBLE_DEVICES=0 numactl -N 0 llama-server -m a.gguf -np 4 --spec-type draft-mtp --spec-draft-n-max 3"
    )
    on, off = variants_from_command(command.split())
    assert [LaunchVariant(**one) for one in variants(text)] == [off, on]


def test_every_field_of_the_experiment_is_taken() -> None:
    """Under the same names, with durations also as text, and only what the file sets."""
    text = """
baseline: a
levels: 1..3
workload: demo
history: live
tool_time_cap: 10s
time_scale: 0.5
context_full: finish
seed: 7
rounds: 4
time_budget: 1h30m
max_tokens: 64
body: {temperature: 0.6}
deadlines: {first_token: 5m, stall_s: 30, total: 20m}
min_effect: 0.1
api_key_env: KEY
ca_file: ca.pem
insecure: true
wait_s: 90
max_request_rate: 2.5
check_output: off
agents: 2
slo: {ttft: 2s, tpot_s: 0.08, attainment: 0.9}
stop_when_known: false
precision: 0.03
add_levels: false
allow_different: [build]
under_test: [kv]
restart_per_level: true
coresident: true
drift_check: false
memory_source: http://gpu:9400/metrics
memory_budget: 24GiB
memory_margin_bytes: 1000
variants: [{name: a, url: http://h:1}, {name: b, url: http://h:2, model: 7, speculative: true}]
"""
    found = fields(text)
    assert found.pop("deadlines") == {"first_token_s": 300, "stall_s": 30, "total_s": 1200}
    assert found.pop("variants") == [
        {"kind": "url", "url": "http://h:1", "name": "a", "overhead": False},
        {"kind": "url", "url": "http://h:2", "model": "7", "speculative": True, "name": "b", "overhead": False},
    ]
    assert found == {
        "baseline": "a",
        "levels": (1, 2, 3),
        "workload": "demo",
        "history": "live",
        "tool_time_cap_s": 10,
        "time_scale": 0.5,
        "context_full": "finish",
        "seed": 7,
        "rounds": 4,
        "time_budget_s": 5400,
        "max_tokens": 64,
        "body": {"temperature": 0.6},
        "min_effect": 0.1,
        "api_key_env": "KEY",
        "ca_file": "ca.pem",
        "insecure": True,
        "wait_s": 90,
        "max_request_rate": 2.5,
        "check_output": "off",
        "agents": 2,
        "slo": {"ttft_s": 2, "tpot_s": 0.08, "attainment": 0.9},
        "stop_when_known": False,
        "precision": 0.03,
        "add_levels": False,
        "allow_different": ("build",),
        "under_test": ("kv",),
        "restart_per_level": True,
        "coresident": True,
        "drift_check": False,
        "memory_source": "http://gpu:9400/metrics",
        "memory_budget_bytes": 24 << 30,
        "memory_margin_bytes": 1000,
    }
    assert set(fields("variants: [{name: a, url: http://h}]")) == {"variants", "baseline", "under_test"}


def test_all_seven_kinds_are_taken() -> None:
    """Each with its own fields; the base's go to those that have them."""
    text = """
base: {program: llama-server, args: -m a, url: http://base, cwd: /d, model: m}
variants:
  - {name: launch}
  - {name: embedded, kind: embedded, args: -np 2}
  - {name: url, kind: url}
  - {name: router, kind: router, preset: p}
  - {name: model, kind: model, model: other}
  - {name: switch, kind: switch, command: "systemctl restart 'a b'", env: {A: 1}}
  - {name: request, kind: request, body: {speculative.n_max: 0}, speculative: false}
"""
    built = {one.name: one.model_dump() for one in experiment(levels=(1,), **fields(text)).variants}
    assert (built["launch"]["program"], built["launch"]["args"], built["launch"]["cwd"]) == (
        "llama-server",
        ("-m", "a"),
        "/d",
    )
    assert (built["embedded"]["program"], built["embedded"]["args"]) == ("embedded", ("-m", "a", "-np", "2"))
    assert (built["url"]["url"], built["url"]["model"]) == ("http://base", "m")
    assert (built["router"]["url"], built["router"]["preset"]) == ("http://base", "p")
    assert (built["model"]["model"], built["switch"]["model"]) == ("other", "m")
    assert (built["switch"]["command"], built["switch"]["env"]) == (("systemctl", "restart", "a b"), {"A": "1"})
    assert (built["request"]["body"], built["request"]["speculative"]) == ({"speculative.n_max": 0}, False)


@pytest.mark.parametrize(
    ("base", "variant", "kind"),
    [
        ("{}", "{url: http://h}", "url"),
        ("{program: p}", "{}", "launch"),
        ("{}", "{program: p}", "launch"),
        ("{kind: embedded, args: -m a}", "{}", "embedded"),
        ("{kind: embedded, args: -m a}", "{url: http://h}", "url"),
        ("{kind: switch, command: [x]}", "{url: http://h}", "switch"),
        ("{program: p}", "{kind: embedded}", "embedded"),
    ],
)
def test_the_kind_follows_from_what_is_given(base: str, variant: str, kind: str) -> None:
    """A program is launched, an address is there already; a kind that is named wins."""
    (one,) = variants(f"base: {base}\nvariants: [{variant.replace('{', '{name: a, ', 1)}]")
    assert one["kind"] == kind


def test_off_is_safe_from_variables_of_speculation() -> None:
    """What does not speculate has them removed; what does keeps its own; a null stays."""
    text = """
base: {program: llama-server, env: {LLAMA_ARG_SPEC_TYPE: ngram-mod, A: 1, B: 2}}
variants:
  - {name: off, env: {LLAMA_ARG_SPEC_TYPE: null, B: null}}
  - {name: on}
"""
    off, on = variants(text)
    assert off["env"] == {**UNSET, "A": "1", "B": None}
    assert on["env"] == {"LLAMA_ARG_SPEC_TYPE": "ngram-mod", "A": "1", "B": "2"}
    assert (off["speculative"], on["speculative"]) == (False, True)


@pytest.mark.parametrize("args", ["{--spec-type: none}", "{--spec-type: null}", "[--spec-type, none]"])
def test_without_a_type_nothing_of_speculation_is_left(args: str) -> None:
    """Draft model and lengths of the base go with it: they would cost memory and do nothing."""
    text = f"base: {{program: p, args: -m a -md d --spec-type draft-simple --spec-draft-n-max 7 -np 4}}\nvariants: [{{name: off, args: {args}}}, {{name: on}}]"  # noqa: E501 - one line of YAML
    assert variants(text)[0]["args"] == ("-m", "a", "-np", "4")


@pytest.mark.parametrize(("names", "baseline"), [(("a", "b"), "a"), (("a", "off"), "off")])
def test_the_baseline_is_off_or_the_first(names: tuple[str, str], baseline: str) -> None:
    """Unless the file says otherwise."""
    text = "variants: [" + ", ".join(f"{{name: {name}, url: http://{name}}}" for name in names) + "]"
    assert fields(text)["baseline"] == baseline
    assert fields(text + f"\nbaseline: {names[1]}")["baseline"] == names[1]


def test_what_a_variant_sets_otherwise_than_the_base_is_meant() -> None:
    """Slots and context that differ on purpose don't stop the run; what equals the base is no difference."""
    text = """
base: {program: p, args: -m a -np 4 -c 8192 -t 4, env: {LLAMA_ARG_UBATCH: 512}}
variants:
  - {name: off, args: {--parallel: 6, --ctx-size: 8192}}
  - {name: mtp, args: --spec-type draft-mtp, env: {LLAMA_ARG_UBATCH: 256}}
"""
    assert fields(text)["under_test"] == ("slots", "context_per_slot", "batch")
    alone = "variants: [{name: a, program: p, args: -np 4}, {name: b, program: p, args: -np 6}]"
    assert fields(alone)["under_test"] == ()


def test_a_comparison_of_a_variant_with_itself_is_asked_for() -> None:
    """With `aa: true` one variant runs under two names; two equal ones may be written out as well."""
    one = fields("aa: true\nvariants: [{name: a, url: http://h}]")
    assert [variant["name"] for variant in one["variants"]] == ["a", "a-again"]
    two = fields("aa: true\nvariants: [{name: a, url: http://h}, {name: b, url: http://h}]")
    assert [variant["name"] for variant in two["variants"]] == ["a", "b"]


URL = "variants: [{name: a, url: http://h}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "f: an experiment is a mapping"),
        ("", "f: an experiment is a mapping"),
        ("levels: 1", "f, line 1: variants is missing"),
        ("variants: []", "f, line 1: variants: one at least is needed"),
        ("variants: {a: 1}", "f, line 1: variants: write a list"),
        ("variants: [a]", "f, line 1: variant 1: write a mapping of fields to values"),
        ("variants:\n - url: http://h", "f, line 2: variant 1: name is missing"),
        (f"{URL}\nconcurrency: 3", "f, line 2: there is no field concurrency; did you mean levels?"),
        (f"{URL}\ntime-budget: 3", "f, line 2: there is no field time-budget; did you mean time_budget?"),
        (f"{URL}\nzzz: 3", "f, line 2: there is no field zzz: one of variants"),
        (f"{URL}\n-np: 3", "f, line 2: there is no field -np: an argument of llama-server goes under args"),
        (f"{URL}\nargs: x", "f, line 2: args belongs to a variant, or under base to all of them"),
        (f"{URL}\ndeadlines:\n  stal: 3", "f, line 3: deadlines: there is no field stal; did you mean stall?"),
        (f"{URL}\nbase: {{progam: x}}", "f, line 2: base: there is no field progam; did you mean program?"),
        (f"{URL}\ntime_budget: soon", "f, line 2: time_budget: 'soon' is not a duration"),
        (f"{URL}\nwait: 1m\nwait_s: 60", "f, line 2: wait and wait_s are the same"),
        (f"{URL}\nlevels: []", "levels: one at least is needed"),
        (f"{URL}\nlevels: 4..1", "f, line 2: levels: the range 4..1 runs backwards"),
        (f"{URL}\nlevels: [1, 1]", "f: a concurrency is listed twice"),
        (f"{URL}\nrounds: true", "f, line 2: rounds: true is no value of it"),
        (f"{URL}\nrounds: x", "f, line 2: rounds: write a whole number"),
        (f"{URL}\ncheck_output: yes", "f, line 2: check_output: 'yes' is none of on, off, full"),
        (f"{URL}\nallow_different: [slot]", "f, line 2: allow_different: 'slot' is none of model, slots"),
        (f"{URL}\nbody: {{stream: false}}", "f, line 2: body: stream would break the measurement"),
        (f"{URL}\nbaseline: off", "f: the baseline 'off' is none of the variants a"),
        (
            "variants:\n - name: a\n   kind: lunch",
            "f, line 3: variant a: kind: 'lunch' is none of url, launch, embedded, router, model, switch, request",
        ),
        ("variants:\n - {name: a, url: http://h}\n - {name: a, url: http://g}", "f, line 3: variant a: two variants"),
        ("variants: [{name: a/b, url: http://h}]", "f, line 1: variant a/b: 'a/b' is no name"),
        ("variants:\n - name: a\n   kind: router\n   url: http://h", "f, line 2: variant a: kind router needs preset"),
        ("variants:\n - name: a\n   url: http://h\n   preset: x", "f, line 4: variant a: kind url has no preset"),
        ("variants: [{name: a, kind: launch}]", "f, line 1: variant a: kind launch needs program"),
        ("variants: [{name: a, kind: embedded, program: x}]", "variant a: an embedded server takes no program"),
        ("variants: [{name: a, kind: switch, url: http://h, command: []}]", "variant a: command: one at least"),
        ("variants: [{name: a, kind: switch, url: http://h, command: {a: b}}]", "variant a: command: write a list"),
        ("variants: [{name: a, program: p, args: {np: 4}}]", "variant a: args: np is no argument"),
        (
            "variants: [{name: a, program: p, args: --spec-type draft-mtp --spec-draft-n-max 0}]",
            "f, line 1: variant a: --spec-draft-n-max 0 does not switch speculation off",
        ),
        ("variants: [{name: a, program: p, args: -md d}]", "f, line 1: variant a: a draft model alone"),
        ("variants: [{name: a, url: http://h}, {name: b, url: http://h}]", "f: b is the same as the baseline a"),
        (
            "base: {kind: embedded, args: -m a}\nvariants: [{name: a}, {name: b, kind: launch, program: embedded}]",
            "f: b is the same as the baseline a",
        ),
        (f"aa: true\n{URL.replace(']', ', {name: b, url: http://g}]')}", "f: an A/A comparison has a variant twice"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(text: str, message: str) -> None:
    """A usage error in the words of the file."""
    with pytest.raises(ExperimentError) as caught:
        parse_experiment(text, name="f")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"), [(None, "No such file or directory; loadgen init writes one"), (b"\xff", "is UTF-8 text")]
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None, message: str) -> None:
    """Missing, or no text."""
    path = tmp_path / "x.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ExperimentError, match=message):
        read_experiment(path)


def test_no_secret_is_in_an_error() -> None:
    """Values of arguments, variables and request fields are not repeated."""
    for text in (
        "variants: [{name: a, program: p, env: {API_KEY: hush}, arg: 1}]",
        "variants: [{name: a, program: p, args: [--api-key, hush, {}]}]",
        "variants: [{name: a, program: p, args: --api-key hush -md x}]",
        f"{URL}\nbody: {{api_key: hush, stream: 1}}",
        "variants: [{name: a, program: p, env: [hush]}]",
    ):
        with pytest.raises(ExperimentError) as caught:
            parse_experiment(text, name="f")
        assert "hush" not in str(caught.value)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_NAMES = ["base", "variants", "matrix", "baseline", "levels", "deadlines", "body", "time_budget", "aa", "rounds"]
_PARTS = ["name", "kind", "url", "program", "args", "env", "matrix", "overhead", "synthetic_acceptance", "command"]


@given(
    st.dictionaries(st.sampled_from(_NAMES), _values, max_size=3),
    st.dictionaries(st.sampled_from(_PARTS), _values, max_size=4),
)
def test_any_content_is_an_experiment_or_a_usage_error(top: dict[str, Any], variant: dict[str, Any]) -> None:
    """No file makes the reader fail in another way."""
    content = {"variants": [{"name": "a", "url": "http://h", **variant}], **top}
    with contextlib.suppress(ExperimentError):
        parse_experiment(json.dumps(content), name="f")
