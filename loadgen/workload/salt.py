"""Unique prompt prefixes, so that no trial reads another trial's prompt cache."""

import hashlib

_HEX_DIGITS = 8


def salt(run: str, trial: str, session: str) -> str:
    """Eight hex digits from SHA-256 of run, trial and session, to stand in front of the first message.

    It is short because it costs prompt tokens in every session, and 32 bits suffice: a clash between the salts of one
    session in two trials merely lets one prompt of one trial find a cached prefix, and a server keeps few prompts at
    a time. Among the 1,000 salted sessions of a long run the chance of any clash at all is about
    1000² / 2 / 2³² = 0.01 %; and a clash of two *different* sessions shares nothing but the salt and the system text.
    """
    # Lengths in front keep ("ab", "c") and ("a", "bc") apart.
    joined = "".join(f"{len(part)}:{part}" for part in (run, trial, session))
    return hashlib.sha256(joined.encode()).hexdigest()[:_HEX_DIGITS]
