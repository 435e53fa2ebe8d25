"""The verdict at the operating point of a mix: what it is for every class, and which class breaks which limit."""

from typing import TYPE_CHECKING, Any

from loadgen.analysis.summary import summarise
from tests.analysis.mixes import CHAT_PAYS, mixed_run

if TYPE_CHECKING:
    from tests.analysis.conftest import Maker


def decided(make: "Maker", cells: Any = CHAT_PAYS, **manifest: Any) -> dict[str, Any]:
    """The decision for four agents."""
    point: dict[str, Any] = summarise(mixed_run(make, cells, agents=4, **manifest))["operating_point"]
    return point


def test_the_answer_names_every_class_before_the_whole(make: "Maker") -> None:
    """Chat gains, batch loses, and so does the server as a whole: both are said."""
    point = decided(make)
    assert point["answer"] == (
        "for chat (1 agent): mtp does more; for batch (3 agents): mtp does less; the four agents together: off"
    )
    assert point["keep"] == "off"
    sentence = point["classes"]
    assert sentence in point["text"]
    assert sentence.startswith("By class of work, mtp against off at 4 agents: chat (1 agent): 2.0")
    assert "times the time a token (95 % interval 0.50 to 0.50: faster)" in sentence
    assert "batch (3 agents): 0.83 times the tasks per hour" in sentence
    assert sentence.endswith("they are not corrected for several comparisons.")


def test_nobody_is_told_a_median_over_all_classes(make: "Maker") -> None:
    """What one user among four waits for depends on what he does: it is said by class alone."""
    point = decided(make)
    assert "for one user among" not in point["text"]
    assert point["interactive"]["at"] is not None


def test_one_user_alone_does_the_work_of_the_class_that_one_agent_has(make: "Maker") -> None:
    """Whose latency that is, is said; what chat alone waits for was not measured."""
    cells = {
        **CHAT_PAYS,
        ("off", 1): [{"batch": (1, 10.0)}, {"batch": (1, 10.1)}] * 2,
        ("mtp", 1): [{"batch": (1, 5.0)}, {"batch": (1, 5.1)}] * 2,
    }
    point = decided(make, cells)
    assert "or one user alone (batch) mtp takes 0.50 times the time a token of off" in point["text"]
    one = summarise(mixed_run(make, cells, agents=1))["operating_point"]
    assert "chat, which has none of 1 agent" in one["not_measured"]
    assert one["answer"].startswith("for batch (1 agent): mtp does more; 1 agent: ")


def test_the_limit_that_binds_has_its_class(make: "Maker") -> None:
    """Chat's first tokens come too late with either; batch keeps its limit."""
    slo = {"ttft_s": 5.0, "attainment": 0.5, "classes": {"chat": {"ttft_s": 1.0}}}
    point = decided(make, slo=slo)
    assert point["binds"] == {
        "limit": "ttft_s",
        "work_class": "chat",
        "text": "the limit that binds is the time to the first token of chat with off, 1 s at most",
    }
    assert "0 % of 4 requests of chat with off keep every limit" in point["text"]


def test_without_a_mix_nothing_is_said_of_classes(make: "Maker") -> None:
    """The decision is what it was."""
    run = make.run({("off", 4): [10.0, 10.1, 10.2], ("mtp", 4): [14.0, 14.1, 14.2]}, agents=4)
    point = summarise(run)["operating_point"]
    assert point["classes"] is None
    assert "class" not in point["text"]
    assert "four background agents" in point["answer"]
