"""Mooncake rows become sessions of made-up text that share what their blocks share."""

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.workload.formats import mooncake
from tests.workload.formats.reading import NUMBERS, VALUES, in_full, objects_of, only, read, same, survives, texts


def row(at_ms: float, tokens: int, output: int, blocks: list[int]) -> dict[str, Any]:
    """A row of the published shape."""
    return {"timestamp": at_ms, "input_length": tokens, "output_length": output, "hash_ids": blocks}


def test_a_row_that_holds_all_full_blocks_of_an_earlier_one_is_its_next_turn() -> None:
    """A longer prompt with the same full blocks goes on behind the answer; the wait is the time between the rows."""
    session = only(mooncake, row(0, 1300, 100, [1, 2, 3]), row(9000, 1500, 40, [1, 2, 4]))
    first, second = session.turns
    assert first.messages == [{"role": "user", "tokens": 1300, "corpus": "prose", "seed": "rows.jsonl:1"}]
    assert first.assistant == {"role": "assistant", "tokens": 100, "corpus": "prose", "seed": "rows.jsonl:1:answer"}
    assert second.messages == [{"role": "user", "tokens": 100, "corpus": "prose", "seed": "rows.jsonl:2"}]
    assert (first.delay_s, first.delay_kind, second.delay_s, second.delay_kind) == (0, "arrival", 9.0, "user")
    assert (second.input_tokens, second.output_tokens, second.history_reset) == (1500, 40, None)


def test_a_session_keeps_when_it_came() -> None:
    """The time of its first row from the start of the trace is kept with the session, not waited for."""
    session = only(mooncake, row(2500, 600, 1, [1, 2]))
    assert session.extra == {"arrival_s": 2.5}
    assert session.turns[0].delay_s == 0


def test_a_row_that_parts_begins_a_session_with_the_same_beginning() -> None:
    """Two prompts share the text of their common blocks, and no more."""
    sessions, problems = read(mooncake, row(0, 1300, 9, [1, 2, 3]), row(1, 1400, 9, [1, 5, 6]))
    assert problems == []
    assert sessions[1].turns[0].messages == [
        {
            "role": "user",
            "tokens": 1400,
            "pieces": [
                {"tokens": 512, "corpus": "prose", "seed": "rows.jsonl:1"},
                {"tokens": 888, "corpus": "prose", "seed": "rows.jsonl:2"},
            ],
        }
    ]


def test_a_prompt_that_parts_within_a_conversation_has_its_messages_to_there() -> None:
    """A conversation that is taken up twice from its second turn shares the blocks that it shares, answers included."""
    rows = [row(0, 1100, 100, [1, 2, 3]), row(1, 1700, 50, [1, 2, 4, 5]), row(2, 2300, 9, [1, 2, 4, 7, 8])]
    sessions, _ = read(mooncake, *rows, row(3, 2400, 9, [1, 2, 4, 9, 10]))
    assert [len(session.turns) for session in sessions] == [3, 1]
    begin = sessions[1].turns[0].messages
    assert begin[:-1] == [*sessions[0].turns[0].messages, sessions[0].turns[0].assistant]
    assert [(piece["seed"], piece["tokens"]) for piece in begin[-1]["pieces"]] == [
        ("rows.jsonl:2", 336),
        ("rows.jsonl:4", 864),
    ]


def test_a_prompt_that_is_asked_again_is_the_same() -> None:
    """Rows with the same blocks have the same text to the last token."""
    sessions, _ = read(mooncake, row(0, 1300, 9, [1, 2, 3]), row(0, 1300, 7, [1, 2, 3]))
    assert sessions[0].turns[0].messages == sessions[1].turns[0].messages


def test_a_system_prompt_makes_no_session() -> None:
    """A short row that is no more than what all share isn't taken for the first turn of whatever comes next."""
    rows = [row(number, 600, 1, [0, 100 + number]) for number in range(10)]
    sessions, _ = read(mooncake, *rows, row(99, 900, 5, [0, 200]))
    assert len(sessions) == 11


def test_an_earlier_row_is_no_next_turn() -> None:
    """What comes at the same time can't answer."""
    sessions, _ = read(mooncake, row(5, 1300, 10, [1, 2, 3]), row(5, 1500, 40, [1, 2, 4]))
    assert len(sessions) == 2


def test_rows_without_hashes_share_nothing() -> None:
    """A row may have lengths only."""
    sessions, problems = read(mooncake, *[{"timestamp": 1, "input_length": 9, "output_length": 0}] * 2)
    assert problems == []
    seeds = [session.turns[0].messages[0]["seed"] for session in sessions]
    assert seeds == ["rows.jsonl:1", "rows.jsonl:2"]
    assert sessions[0].turns[0].assistant is None


def test_fields_that_the_schema_lacks_are_kept() -> None:
    """An extra field of a row stays with its turn."""
    session = only(mooncake, row(0, 10, 1, [7]) | {"priority": 3})
    assert session.turns[0].extra == {"priority": 3}


def test_a_broken_row_is_skipped_with_its_line() -> None:
    """A row that isn't as published is named by file and line, and the others are read."""
    good = row(0, 10, 1, [7])
    wrong: list[Any] = [
        "text",
        good | {"input_length": 0},
        good | {"output_length": "many"},
        good | {"timestamp": -1},
        good | {"hash_ids": [[1]]},
        good | {"input_length": 600},
    ]
    assert texts(mooncake, good, *wrong) == [
        "rows.jsonl:2: skipped: the row is no JSON object",
        "rows.jsonl:3: skipped: input_length is missing, or no whole number above 0",
        "rows.jsonl:4: skipped: output_length is missing, or no whole number",
        "rows.jsonl:5: skipped: timestamp is no time",
        "rows.jsonl:6: skipped: hash_ids is no list of ids",
        "rows.jsonl:7: skipped: hash_ids are 1 where 600 tokens have 2 blocks of 512",
    ]
    assert len(read(mooncake, good, *wrong)[0]) == 1


def test_only_rows_of_lengths_look_like_it() -> None:
    """Rows that carry text are of another format."""
    assert mooncake.looks_like(row(0, 10, 1, [7]))
    assert not mooncake.looks_like(row(0, 10, 1, [7]) | {"messages": []})
    assert not mooncake.looks_like({"timestamp": 0})


BLOCKS = st.lists(st.integers(0, 4), max_size=4)


@given(
    st.lists(
        objects_of({"timestamp": NUMBERS, "input_length": NUMBERS, "output_length": NUMBERS, "hash_ids": BLOCKS})
        | VALUES,
        max_size=6,
    )
)
def test_anything_is_read(values: list[Any]) -> None:
    """No rows make the importer fail."""
    survives(mooncake, values)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 2600), st.integers(0, 900), BLOCKS), max_size=8))
def test_made_up_prompts_have_the_lengths_of_their_rows(given_rows: list[tuple[int, int, int, list[int]]]) -> None:
    """Every turn's whole prompt has the tokens that its row says, whatever the hashes are."""
    rows = [row(at, tokens, output, ids[: -(-tokens // 512)]) for at, tokens, output, ids in given_rows]
    rows = [one for one in rows if len(one["hash_ids"]) in {0, -(-one["input_length"] // 512)}]
    for session in read(mooncake, *rows)[0]:
        before = 0
        for turn in session.turns:
            total = before + sum(message["tokens"] for message in turn.messages)
            assert total == turn.input_tokens
            before = total + (turn.output_tokens or 0)


@given(st.lists(st.tuples(st.text("ab", min_size=1, max_size=9), st.integers(0, 600)), min_size=2, max_size=6))
@settings(max_examples=60)
def test_prompts_share_what_their_blocks_share(asked: list[tuple[str, int]]) -> None:
    """Two prompts share the tokens of their common blocks, and less than a block more unless one holds the other."""
    rows = []
    for at, (prompt, output) in enumerate(asked):
        # A letter stands for 256 tokens: an id is all that its block and those before it hold.
        ids: list[Any] = [prompt[: 2 * (number + 1)] for number in range((len(prompt) + 1) // 2)]
        rows.append(row(at * 1000, 256 * len(prompt), output, ids) | {"place": at})
    sessions, problems = read(mooncake, *rows)
    assert problems == []
    made = {
        turn.extra["place"]: prompt
        for session in sessions
        for prompt, turn in zip(in_full(session), session.turns, strict=True)
    }
    for (one, first), (other, second) in itertools.combinations(sorted(made.items()), 2):
        blocks = same(rows[one]["hash_ids"], rows[other]["hash_ids"])
        shared = same(first, second)
        assert shared >= min(blocks * 512, len(first), len(second))
        assert shared < (blocks + 1) * 512 or blocks >= len(first) // 512
