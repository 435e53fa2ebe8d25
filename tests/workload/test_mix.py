"""The workload of a mix: pools of its own for each class, and one digest over all."""

from dataclasses import replace

import msgspec
import pytest

from loadgen.experiment.mix import Share
from loadgen.records.manifest import Clipped
from loadgen.workload.library import load
from loadgen.workload.mix import class_seed, mixed
from loadgen.workload.session import Workload

SHARES = (Share(workload="demo", weight=1), Share(workload="x/edits.yaml", weight=3))


@pytest.fixture(scope="module")
def parts() -> list[Workload]:
    """Two workloads with histories and lengths of their own."""
    return [load("demo", seed=1), load("file-edit", seed=1)]


def test_a_mix_has_the_sessions_of_all_classes_and_keeps_them_apart(parts: list[Workload]) -> None:
    """Agents play the workload of their class; the whole is what is shown and checked."""
    mix = mixed(SHARES, parts)
    assert mix.name == mix.facts.name == "demo:1,edits:3"
    assert [(one.name, one.weight, one.workload) for one in mix.classes] == [
        ("demo", 1, parts[0]),
        ("edits", 3, parts[1]),
    ]
    assert mix.sessions == (*parts[0].sessions, *parts[1].sessions)
    assert (mix.facts.sessions, mix.facts.turns) == tuple(
        sum(getattr(part.facts, name) for part in parts) for name in ("sessions", "turns")
    )
    assert mix.facts.max_depth == max(part.facts.max_depth for part in parts)
    assert mix.facts.min_context == max(part.facts.min_context for part in parts)
    assert (mix.facts.history, mix.facts.exact_length) == ("live and recorded", True)
    assert mix.facts.classes is not None
    assert [(one.name, one.weight, one.workload) for one in mix.facts.classes] == [
        ("demo", 1, parts[0].facts),
        ("edits", 3, parts[1].facts),
    ]
    assert f"demo: {parts[0].assumed[0]}" in mix.assumed


def test_a_digest_covers_classes_weights_and_sessions(parts: list[Workload]) -> None:
    """Another weight, name or pool is other work; the same is the same."""
    digests = {
        mixed(SHARES, parts).facts.digest,
        mixed((replaced(SHARES[0], weight=2), SHARES[1]), parts).facts.digest,
        mixed((replaced(SHARES[0], workload="other"), SHARES[1]), parts).facts.digest,
        mixed(SHARES, [load("demo", seed=2), parts[1]]).facts.digest,
        mixed(SHARES[::-1], parts[::-1]).facts.digest,
    }
    assert len(digests) == 5
    assert mixed(SHARES, [load("demo", seed=1), load("file-edit", seed=1)]).facts.digest in digests


def replaced(share: Share, **fields: object) -> Share:
    """A share with other fields."""
    return share.model_copy(update=fields)


def test_facts_of_a_mix_are_kept_whole(parts: list[Workload]) -> None:
    """Through a run folder and back."""
    facts = mixed(SHARES, parts).facts
    assert msgspec.json.decode(msgspec.json.encode(facts), type=type(facts)) == facts


def test_what_was_clipped_is_summed_over_the_classes(parts: list[Workload]) -> None:
    """The turns of a class of which nothing was left out count too; null where nothing was of any."""
    assert mixed(SHARES, parts).facts.clipped is None
    clipped = Clipped(context=2048, sessions_cut=3, sessions_left_out=1, turns_left_out=10, turns=90)
    cut = replace(parts[1], facts=msgspec.structs.replace(parts[1].facts, clipped=clipped))
    found = mixed(SHARES, [parts[0], cut]).facts.clipped
    assert found is not None
    assert (found.sessions_cut, found.turns_left_out, found.turns) == (3, 10, 90 + parts[0].facts.turns)


def test_classes_draw_with_seeds_of_their_own() -> None:
    """Fixed for good: a recorded seed keeps its meaning."""
    assert class_seed(1, "chat") == class_seed(1, "chat")
    assert len({class_seed(1, "chat"), class_seed(1, "batch"), class_seed(2, "chat"), 1}) == 4
    assert 0 <= class_seed(1, "chat") < 1 << 64
