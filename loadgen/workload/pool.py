"""A profile and a seed to a pool of sessions.

Every number is drawn from one stream of random numbers a session and every text from another, so that the draws of
turns, lengths, waits and kinds don't depend on the tokenizer.

An agent with tools has their definitions, calls them, and gets their results with the role `tool`. Where a profile has
no tools, their results have the role `user`, as later user messages have, because many chat templates reject the role
`tool` without definitions and calls before it. The first message is `system`; the salt of a trial stands in front of
it, so nothing at all is shared between sessions (but see `loadgen.replay.template_check`: a template may put tool
definitions in front of the system message).
"""

from loadgen.records.manifest import WorkloadFacts
from loadgen.workload.corpus.library import Library
from loadgen.workload.dealer import Dealer, deepest, every_turn
from loadgen.workload.profile import Profile
from loadgen.workload.session import Workload, digest
from loadgen.workload.sizing import ASSUMED_CHARS_PER_TOKEN, Ratio, Sizer, Words

__all__ = ["build"]

_MANY_CUT = 0.25
"""Above this share of sessions that end early it is told: the stated number of turns is then no more than a wish."""


def build(
    profile: Profile,
    *,
    seed: int,
    chars_per_token: float | None = None,
    max_tokens: int | None = None,
    sizer: Sizer | None = None,
    library: Library | None = None,
) -> Workload:
    """The pool of sessions of a profile: the same on every machine for one seed (code and prose: for one Python).

    A session ends early, at a turn boundary, where its next turn would not fit: prompt plus output, with live history
    earlier answers counted at their cap, must stay within `min_context` (within the share of it that the sizer may
    fill: 90 % where token counts are estimates). With `context_full: compact` it goes on from a summary instead, and
    with `fail` it ends with the first turn whose prompt alone, by the estimate, is longer than `min_context`. A session
    of which not even two turns fit is drawn afresh. `Workload.cut` and `.redrawn` count both.

    Args:
        profile: what to draw.
        seed: the seed of the run.
        chars_per_token: characters a token at the server, for code and prose; None: 3.0, listed as assumed.
        max_tokens: caps every turn's output. Sessions are otherwise the same with and without it.
        sizer: says how many tokens code and prose have; None: an average of `chars_per_token` does.
        library: the files that code and prose are made of; None: those of Python's standard library.

    Raises `WorkloadError` when the profile's sessions don't fit its own `min_context`, `ValueError` when
    `chars_per_token` is no positive number.
    """
    measure: Sizer = Ratio(ASSUMED_CHARS_PER_TOKEN if chars_per_token is None else chars_per_token)
    assumed = profile.assumed
    if profile.corpus == "words":
        measure = Words()
    else:
        measure = sizer or measure
        assumed += ("chars_per_token",) if chars_per_token is None and not measure.exact else ()
    dealer = Dealer(profile, seed=seed, sizer=measure, library=library, max_tokens=max_tokens)
    sessions = tuple(dealer.session(index) for index in range(profile.pool))
    exact, live = profile.output.mode == "exact", profile.history == "live"
    return Workload(
        name=profile.name,
        description=profile.description,
        facts=WorkloadFacts(
            name=profile.name,
            digest=digest(sessions),
            sessions=len(sessions),
            turns=sum(len(every_turn(session)) for session in sessions),
            min_context=profile.min_context,
            max_depth=max(deepest(session, measure, live=live) for session in sessions),
            history=profile.history,
            exact_length=exact,
            chars_per_token=chars_per_token,
            assumed=list(assumed),
            sized=measure.name,
        ),
        sessions=sessions,
        history=profile.history,
        exact_length=exact,
        sources=profile.all_sources,
        assumed=assumed,
        cut=dealer.cut,
        redrawn=dealer.redrawn,
        notes=_notes(profile, dealer, len(sessions)),
    )


def _notes(profile: Profile, dealer: Dealer, sessions: int) -> tuple[str, ...]:
    notes = [profile.caution] if profile.caution is not None else []
    if dealer.cut > _MANY_CUT * sessions:
        notes.append(
            f"{dealer.cut} of {sessions} sessions end early, because their next turn would not fit "
            f"{profile.min_context} tokens"
        )
    return tuple(notes)
