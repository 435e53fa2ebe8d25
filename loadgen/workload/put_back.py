"""What of a model's answer goes back into later prompts.

The answer goes back as it came: text, reasoning (which the server's template keeps or drops, as it does in life) and
tool calls. Only what follows sets bounds: the results of tools are those of the workload, so that calls go back under
the ids that these results answer, and as many of them as there are results for.
"""

from typing import Any

from loadgen.client.chat_call import Compared
from loadgen.workload.copy_rate import content_text
from loadgen.workload.session import Message, Turn

__all__ = ["compared", "put_back", "same_answer"]


def put_back(turn: Turn, said: Message) -> Message | None:
    """The assistant message that later prompts have for a turn that was answered like this.

    Where the model called another number of tools than the recorded answer, the recorded calls stand beside its text.
    Null where nothing was said that can go back, or the agent dropped the answer: then the recorded one stays, if any.
    """
    if turn.recorded is None:
        return None
    text, reasoning = content_text(said.get("content")), said.get("reasoning_content")
    made, asked = _calls(said), _calls(turn.recorded)
    fitting = len(made) == len(asked)
    if not (text or reasoning or (made and fitting)):
        return None
    calls = [_renamed(call, wanted) for call, wanted in zip(made, asked, strict=True)] if fitting else asked
    message: Message = {"role": "assistant", "content": text or (None if calls else "")}
    if reasoning:
        message["reasoning_content"] = reasoning
    return message | {"tool_calls": calls} if calls else message


def compared(turn: Turn, said: Message, *, live: bool) -> Compared:
    """What an answer is to the history that it stands in.

    It equals the recorded one where it would go back as that; with live history there is nothing to compare it with. It
    is kept where all of it, and nothing else, stands in later prompts: as the recorded answer, with live history as
    what goes back.
    """
    back, recorded = put_back(turn, said), turn.recorded
    stands = back if live else recorded
    kept = stands is not None and same_answer(said, stands)
    equal = back is not None and recorded is not None and same_answer(back, recorded)
    return Compared(equal=None if live else equal, kept=kept)


def same_answer(one: Message, other: Message) -> bool:
    """Whether two answers say the same, to the letter. The ids of tool calls, which servers make up, don't count."""
    return _said(one) == _said(other)


def _said(message: Message) -> tuple[str, str, list[Any]]:
    calls = [call.get("function") for call in _calls(message)]
    return content_text(message.get("content")), message.get("reasoning_content") or "", calls


def _calls(message: Message) -> list[Message]:
    return [call for call in message.get("tool_calls") or () if isinstance(call, dict)]


def _renamed(call: Message, wanted: Message) -> Message:
    """A call under the id of another."""
    return call | {"id": wanted["id"]} if "id" in wanted else {name: call[name] for name in call if name != "id"}
