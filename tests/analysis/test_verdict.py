"""Rules of the sentences: they never disagree with the numbers."""

from typing import Any

from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import compare
from loadgen.analysis.estimators.crossover import crossover
from loadgen.analysis.evidence import Evidence
from loadgen.analysis.verdict import verdict


def _say(*logs: float, others: int = 0, variant: str = "mtp", **evidence: Any) -> tuple[list[str], list[str]]:
    noise = {1: 0.3, 2: -0.3, 3: 0.2, 4: -0.2}
    pairs = {(variant, 4): dict(enumerate(logs, start=1))}
    pairs |= {(variant, 8 + n): noise for n in range(others)}
    comparisons = compare(pairs, baseline="off", min_effect=0.05)
    found = verdict(Evidence(baseline="off", variants=["off", variant], comparisons=comparisons, **evidence))
    return found["says"], found["does_not_answer"]


def test_a_call_is_said_with_its_interval_and_rounds() -> None:
    """Pays: the 95 % interval lies above 1 in the text too."""
    says, _ = _say(0.30, 0.31, 0.32)
    assert says[0] == (
        "mtp at 4 agents: 1.36 times the tasks per hour of off (95 % interval 1.33 to 1.40, 3 rounds): it pays."
    )


def test_same_shows_the_interval_that_it_rests_on() -> None:
    """And says on which side it surely lies, though by less than was asked for."""
    says, _ = _say(0.0200, 0.0201, 0.0199)
    assert says[0] == (
        "mtp at 4 agents: 1.02 times the tasks per hour of off (90 % interval 1.02 to 1.02), the same within 5%, "
        "above 1, but by less than you asked for."
    )
    assert "asked for" not in _say(0.001, 0.0, -0.001)[0][0]


def test_an_open_question_says_what_would_settle_it() -> None:
    """Unresolved goes to what is not answered, with the rounds that are missing."""
    says, open_questions = _say(0.0, 0.1, 0.2)
    assert says == ["No trial was measured."]
    assert open_questions[0] == (
        "Whether mtp pays at 4 agents: 1.11 times off (95 % interval 0.86 to 1.42) is unresolved; "
        "about 4 more rounds would settle it."
    )


def test_an_unresolved_text_never_shows_an_interval_beside_1() -> None:
    """Where the interval of one level alone excludes 1, the one for all comparisons together is shown."""
    _, open_questions = _say(0.12, 0.2, 0.28, 0.05, others=3)
    assert open_questions[0].startswith(
        "Whether mtp pays at 4 agents: 1.18 times off (interval 0.90 to 1.54 with all 4 comparisons at 95 % together)"
    )


def test_too_few_rounds_are_said_as_such() -> None:
    """Two rounds: three are needed."""
    _, open_questions = _say(0.3, 0.3)
    assert open_questions[0] == (
        "Whether mtp pays at 4 agents: it takes 3 rounds with a valid trial on both sides; there are 2."
    )


def test_a_crossover_is_said_where_calls_bear_it_out() -> None:
    """Pays at 1, costs at 4: it stops paying between. Without a call nothing is said."""
    pairs = {("mtp", 1): {1: 0.28, 2: 0.3, 3: 0.32}, ("mtp", 4): {1: -0.32, 2: -0.3, 3: -0.28}}
    entry = crossover("mtp", {level: rounds for (_, level), rounds in pairs.items()})
    assert entry is not None
    comparisons = compare(pairs, baseline="off", min_effect=0.05)
    known: dict[str, Any] = {"baseline": "off", "variants": ["off", "mtp"], "crossovers": [entry]}
    said = verdict(Evidence(**known, comparisons=comparisons, random_weights=True))
    assert said["says"][2] == "mtp stops paying near 2 agents (95 % interval 1.79 to 2.24)."
    assert said["does_not_answer"][-1] == "How a real model does: these weights are random and acceptance was set."
    unsaid = verdict(Evidence(**known))
    assert not any("paying" in sentence for sentence in unsaid["says"])


def _checked(variant: str, result: str, *reasons: str, answers: Any = None) -> dict[str, Any]:
    return {
        "variant": variant, "concurrency": 4, "result": result, "reasons": list(reasons), "drafted": None,
        "accepted": None, "answers": answers,
    }  # fmt: skip


def _verdict(pairs: dict[tuple[str, int], dict[int, float]], **evidence: Any) -> dict[str, Any]:
    comparisons = compare(pairs, baseline="off", min_effect=0.05)
    variants = ["off", *dict.fromkeys(variant for variant, _ in pairs)]
    return verdict(Evidence(baseline="off", variants=variants, comparisons=comparisons, **evidence))


_PAYS = {1: 0.30, 2: 0.31, 3: 0.32}


def test_a_failed_output_check_leaves_no_verdict() -> None:
    """It goes first, with its reasons, and nothing is said of the variant's speed."""
    found = _verdict(
        {("mtp", 4): _PAYS},
        output_check=[
            _checked("off", "passed"),
            _checked("mtp", "failed", "agent 0 got an empty answer", "slot 1 dead"),
        ],
    )
    assert found["keep"] is None
    assert found["says"] == [
        "No verdict: the output check failed for mtp: agent 0 got an empty answer; slot 1 dead.",
        "No trial was measured.",
    ]
    assert found["text"].startswith("No verdict: the output check failed for mtp: ")
    assert "pays" not in found["text"]


def test_the_other_variants_keep_their_sentences_unless_the_baseline_failed() -> None:
    """A variant that passed is not to blame; against a baseline that answers wrongly nothing stands."""
    pairs = {("mtp", 4): _PAYS, ("ngram", 4): _PAYS}
    one = _verdict(pairs, output_check=[_checked("mtp", "failed", "r")])
    assert one["says"][:2] == [
        "No verdict: the output check failed for mtp: r.",
        "What follows is about the other variants.",
    ]
    assert [text.startswith("ngram at 4 agents") for text in one["says"][2:]] == [True, False]
    every = _verdict(pairs, output_check=[_checked("off", "failed", "r")])
    assert every["says"] == ["No verdict: the output check failed for off: r.", "No trial was measured."]
    assert "pays" not in every["text"]


def test_what_the_output_check_did_not_tell_is_not_answered() -> None:
    """Off, not made, not checked, or nothing to tell by; with every variant passed there is no such sentence."""

    def unanswered(*entries: Any, **known: Any) -> list[str]:
        found = _verdict({("mtp", 4): _PAYS}, output_check=entries, **known)
        return [text for text in found["does_not_answer"] if "session" in text]

    assert unanswered() == ["Whether answers keep to their session: the output check was off."]
    assert unanswered(check_asked=True) == ["Whether answers keep to their session: the output check was not made."]
    noise = "not checked: the weights are random"
    assert unanswered(_checked("off", "n/a", noise), _checked("mtp", "n/a", noise)) == [
        f"Whether answers of off, mtp keep to their session: {noise}."
    ]
    assert unanswered(_checked("off", "passed")) == ["Whether answers of mtp keep to their session: not checked."]
    assert unanswered(_checked("off", "passed"), _checked("mtp", "passed")) == []


def test_changed_answers_are_said() -> None:
    """Greedy answers beyond batch noise are a finding; too few prompts to tell are an open question."""

    def found(call: str) -> dict[str, Any]:
        answers = {"agents": 4, "changed": {"value": 0.45}, "batch_noise": {"value": 0.15}, "call": call}
        return _verdict({("mtp", 4): _PAYS}, output_check=[_checked("mtp", "passed", answers=answers)])

    assert found("yes")["says"][1] == (
        "mtp changes greedy answers beyond what batching does: 45% of them at 4 agents, 15% by batching alone."
    )
    assert not any("greedy" in text for text in found("no")["says"] + found("no")["does_not_answer"])
    assert (
        "Whether mtp changes greedy answers beyond what batching does: too few prompts to tell."
        in found("unresolved")["does_not_answer"]
    )


def test_a_variant_that_was_given_up_is_said_with_the_reason() -> None:
    """And once with a full stop, whatever the reason ends with."""
    found = _verdict({("mtp", 4): {}}, given_up=[{"variant": "mtp", "reason": "its server died more than once."}])
    assert found["says"][0] == "mtp was given up: its server died more than once."


def test_overhead_is_a_diagnostic_whatever_its_call() -> None:
    """A change in percent with its interval; never that it pays or costs, and no rounds that would settle it."""
    kinds = {"mtp-overhead": Diagnostic.OVERHEAD}
    settled = _verdict({("mtp-overhead", 4): {1: -0.030, 2: -0.031, 3: -0.029}}, diagnostics=kinds)
    assert settled["says"][0] == (
        "Overhead of speculation loaded but idle at 4 agents (mtp-overhead, diagnostic): −3.0 % tasks per hour "
        "(95 % interval −3.2 % to −2.7 %, 3 rounds)."
    )
    noisy = _verdict({("mtp-overhead", 4): {1: -0.4, 2: 0.4, 3: 0.0}}, diagnostics=kinds)
    assert noisy["says"][0].endswith("+0.0 % tasks per hour (95 % interval −63.0 % to +170.1 %, 3 rounds).")
    short = _verdict({("mtp-overhead", 4): {1: -0.1}}, diagnostics=kinds)
    assert short["says"][0].endswith("−9.5 % tasks per hour (1 round, without an interval).")
    none = _verdict({("mtp-overhead", 4): {}}, diagnostics=kinds)
    assert none["says"][0].endswith("n/a, no round has a valid trial on both sides.")
    for found in (settled, noisy, short, none):
        assert not any(word in found["text"] for word in ("pays", "costs", "settle"))


def test_set_acceptance_is_a_diagnostic() -> None:
    """Its calls hold for the acceptance that was set, and are said so, open ones and crossovers too."""
    pairs = {("mtp", 1): _PAYS, ("mtp", 4): {1: -0.32, 2: -0.3, 3: -0.28}, ("mtp", 8): {1: 0.4, 2: -0.5, 3: 0.1}}
    entry = crossover("mtp", {level: rounds for (_, level), rounds in pairs.items() if level < 8})
    found = _verdict(pairs, diagnostics={"mtp": Diagnostic.SYNTHETIC}, crossovers=[entry])
    assert found["keep"] is None
    assert found["says"][0].endswith("): it pays at the acceptance that was set (diagnostic).")
    assert found["says"][2].startswith("mtp stops paying near ")
    assert found["says"][2].endswith(" at the acceptance that was set.")
    assert found["does_not_answer"][0].startswith("Whether mtp pays at 8 agents at the acceptance that was set: ")


def test_a_variant_against_itself_gives_false_alarms_and_no_advice() -> None:
    """How many, the largest difference, and the noise floor; it keeps the baseline."""
    pairs = {("off-again", 1): {1: 0.01, 2: -0.02, 3: 0.01}, ("off-again", 4): _PAYS}
    noise = [
        {"concurrency": 1, "s_ln": 0.02, "smallest_speedup": 1.071, "n": 3},
        {"concurrency": 4, "s_ln": None, "smallest_speedup": None, "n": 2},
    ]
    found = _verdict(pairs, aa=True, noise=noise)
    assert found["keep"] == "off"
    largest = (
        "The largest difference seen: off-again at 4 agents did 1.36 times the tasks per hour of off "
        "(95 % interval 1.33 to 1.40, 3 rounds)."
    )
    assert found["says"] == [
        "off and off-again are the same, so every call of pays or costs is a false alarm: 1 in 2 comparisons.",
        largest,
        "By the noise of off alone, the smallest speed-up to be called is 1.07 at 1 agent.",
        "No trial was measured.",
    ]
    assert not any(text.startswith("Whether off-again pays") for text in found["does_not_answer"])
    short = _verdict({("off-again", 1): {1: 0.01}}, aa=True)
    assert short["says"][0].endswith(
        "false alarm: none could come up, for it takes 3 rounds with a valid trial on both sides."
    )
    assert short["says"][1].endswith("1.01 times the tasks per hour of off (1 round).")
    failed = _verdict(pairs, aa=True, output_check=[_checked("off", "failed", "r")])
    assert (failed["keep"], failed["says"][1]) == (None, "No trial was measured.")


def _remembered(variant: str, **known: Any) -> dict[str, Any]:
    gib = 1 << 30
    plain: dict[str, Any] = {
        "variant": variant, "safety": "safe", "safety_reason": None, "budget_bytes": 24 * gib, "margin_bytes": 4 * gib,
        "margin_asked_bytes": gib, "leak": False, "growth_less": None, "watched_s": 3600.0,
    }  # fmt: skip
    return {**plain, **known}


def test_an_unsafe_variant_is_never_kept() -> None:
    """It is said before its speed, and a baseline that is unsafe isn't kept either; safe ones need no sentence."""
    unsafe = _remembered("mtp", safety="unsafe", margin_bytes=-(100 << 20))
    found = _verdict({("mtp", 4): _PAYS}, memory=[_remembered("off"), unsafe])
    assert found["keep"] is None
    assert found["says"][0] == (
        "mtp is unsafe in memory, whatever its speed: −100 MiB of 24,576 MiB are left at its peak, and 1,024 MiB were "
        "asked for."
    )
    assert not any("emory" in text for text in found["does_not_answer"])
    pairs = {("off-again", 1): {1: 0.01, 2: -0.02, 3: 0.01}}
    assert _verdict(pairs, aa=True, memory=[_remembered("off"), _remembered("off-again")])["keep"] == "off"
    short = _remembered("off", safety="unsafe", safety_reason="GPU-b alone has less left than asked for")
    kept = _verdict(pairs, aa=True, memory=[short, _remembered("off-again")])
    assert kept["keep"] is None
    assert kept["says"][0].endswith("were asked for; GPU-b alone has less left than asked for.")


def test_a_leak_is_said_with_its_interval() -> None:
    """And beyond what it was found."""
    rate = {"value": 200 << 20, "low": 150 << 20, "high": 250 << 20}
    leaking = _remembered("mtp", leak=True, growth_bytes_per_hour=rate, growth_less="prompt cache and checkpoints")
    assert _verdict({("mtp", 4): _PAYS}, memory=[leaking])["says"][0] == (
        "Memory of mtp keeps growing beyond its prompt cache and checkpoints, by 200 MiB an hour (95 % interval "
        "150 MiB to 250 MiB): it leaks."
    )


def test_memory_that_cannot_be_told_is_an_open_question_with_its_reason() -> None:
    """For all variants without names, else for whom; nothing about growth where nothing was watched."""
    blind = {"safety": "unknown", "safety_reason": "no memory was seen", "leak": None, "watched_s": None}
    every = _verdict({("mtp", 4): _PAYS}, memory=[_remembered("off", **blind), _remembered("mtp", **blind)])
    assert "Whether memory suffices: no memory was seen." in every["does_not_answer"]
    assert not any("growing" in text for text in every["does_not_answer"])
    short = _remembered("mtp", leak=None, watched_s=21.34)
    some = _verdict({("mtp", 4): _PAYS}, memory=[_remembered("off", **blind), short])["does_not_answer"]
    assert "Whether memory suffices for off: no memory was seen." in some
    assert (
        "Whether memory keeps growing for mtp: 21.3 s of a server at work are too short, or too unsteady, to tell."
        in some
    )
