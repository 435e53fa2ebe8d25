"""What is sent follows from the seed alone."""

import subprocess
import sys

CODE = """
import hashlib, json
from loadgen.client.chat import build_body
from loadgen.workload.draws import session_index
from loadgen.workload.library import load
from loadgen.workload.salt import salt
from loadgen.workload.session import prompt

total = hashlib.sha256()
for name in ("demo", "tool-assistant-8k"):
    workload = load(name, seed=7, chars_per_token=3.3)
    for agent in range(3):
        session = workload.sessions[session_index(7, 2, 3, agent, 1, len(workload.sessions))]
        for turn, step in enumerate(session.turns):
            body = build_body(
                prompt(session, turn, salt=salt("run", "r2-off-c3", f"{session.id}@a{agent}.1"), answers={}),
                model=None,
                max_tokens=step.output_tokens,
                exact_length=workload.exact_length,
                extra={"tools": session.tools} if session.tools else {},
            )
            total.update(body if isinstance(body, bytes) else json.dumps(body).encode())
print(total.hexdigest())
"""


def test_the_same_seed_gives_the_same_bodies_in_two_processes() -> None:
    """Byte for byte, whatever the hash seed of the process."""
    said = [
        subprocess.run(
            [sys.executable, "-c", CODE], capture_output=True, check=True, text=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "1")
    ]
    assert len(said[0].strip()) == 64
    assert said[0] == said[1]
