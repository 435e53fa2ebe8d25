"""Why a trial does not count, and how our own client did in it."""

from enum import StrEnum

from loadgen.analysis.measured.trial import Trial
from loadgen.records.model import ClientReading
from loadgen.units import NS_PER_MS, ns_to_s

_MIN_ACCOUNTED = 0.95
_MAX_FAILED_SHARE = 0.01
_FEW_FAILURES = 2
"""A single failure of a short trial is no sign of a broken server."""
_MAX_FIRST_CACHED = 0.05
"""The few tokens that a chat template puts before a salt stay below this share of a first prompt."""
_FLOOR_S = ns_to_s(NS_PER_MS)
"""Lags below 1 ms are what an event loop does on any machine."""
_LAG_OK = {"user": 0.05, "kernel": 0.25}
"""Of the median step gap. A stamp taken in our process carries the whole lag; one of the kernel only merged reads."""
_LAG_BOUND = 0.5
_CPU_OK, _CPU_BOUND = 0.7, 0.9
_SEND_OK, _SEND_BOUND = 0.02, 0.1
"""Of the median TTFT."""


class ClientState(StrEnum):
    """Whether our client was fast enough for what it measured."""

    OK = "ok"
    SUSPECT = "suspect"
    CLIENT_BOUND = "client_bound"


class Reason(StrEnum):
    """Why a trial does not count."""

    ABORTED = "aborted"
    INCOMPLETE = "incomplete"
    SERVER_DIED = "server_died"
    FAILURES = "failures"
    CELL_FAILURES = "cell_failures"
    """The trials of its cell together failed too often (see `failures`)."""
    CLIENT_BOUND = "client_bound"
    UNACCOUNTED = "unaccounted"
    CONTAMINATED = "contaminated"
    DRAFTED = "drafted"


def reasons(trial: Trial, *, off: bool = False) -> list[Reason]:
    """Every reason why a trial does not count; empty for a valid one.

    `off`: its variant must not draft.
    """
    record = trial.record
    found = {
        Reason.ABORTED: record.aborted is not None,
        Reason.INCOMPLETE: not record.complete,
        Reason.SERVER_DIED: record.server_alive is False,
        Reason.FAILURES: _fails(trial),
        Reason.CLIENT_BOUND: client_state(trial) is ClientState.CLIENT_BOUND,
        Reason.UNACCOUNTED: trial.accounted_share is not None and trial.accounted_share < _MIN_ACCOUNTED,
        Reason.CONTAMINATED: _contaminated(trial),
        Reason.DRAFTED: off and any(metrics.drafted for _, metrics in trial.ok),
    }
    return [reason for reason, holds in found.items() if holds]


def client_state(trial: Trial) -> ClientState | None:
    """The worst of event-loop lag (against the median step gap), CPU share and send lag (against the median TTFT).

    Below 1 ms a lag is ok whatever it is compared with. Null where nothing could be told.
    """
    states = [state for state in (_lag_state(trial), _cpu_state(trial), _send_state(trial)) if state is not None]
    return max(states, key=list(ClientState).index) if states else None


def send_lag_p99_s(trial: Trial) -> float | None:
    """How late requests of the segments began after they were due, p99 by rank, in seconds.

    With fewer than 100 requests that would be the maximum, and one moment in which the machine gave its core away would
    condemn a trial of 8; then the second largest counts.
    """
    lags = sorted(request.start_ns - request.scheduled_ns for request in trial.measured)
    if not lags:
        return None
    rank = -(-99 * len(lags) // 100)
    return ns_to_s(lags[min(rank, max(len(lags) - 1, 1)) - 1])


def _state(value: float, ok: float, bound: float) -> ClientState:
    if value <= ok:
        return ClientState.OK
    return ClientState.CLIENT_BOUND if value > bound else ClientState.SUSPECT


def _relative_state(lag_s: float, of_s: float, ok: float, bound: float) -> ClientState:
    return _state(lag_s, max(_FLOOR_S, ok * of_s), max(_FLOOR_S, bound * of_s))


def receive_lag_p99_ns(client: ClientReading | None) -> int | None:
    """How late our client was, p99: measured with kernel stamps, else estimated by its event loop's timer."""
    if client is None:
        return None
    return client.receive_lag_p99_ns if client.receive_lag_p99_ns is not None else client.lag_p99_ns


def _lag_state(trial: Trial) -> ClientState | None:
    client, gap = trial.record.client, trial.median_gap_s
    lag = receive_lag_p99_ns(client)
    if client is None or lag is None or gap is None:
        return None
    return _relative_state(ns_to_s(lag), gap, _LAG_OK.get(client.stamps, 0.05), _LAG_BOUND)


def _cpu_state(trial: Trial) -> ClientState | None:
    client = trial.record.client
    return _state(client.cpu_ns / client.wall_ns, _CPU_OK, _CPU_BOUND) if client and client.wall_ns > 0 else None


def _send_state(trial: Trial) -> ClientState | None:
    lag, ttft = send_lag_p99_s(trial), trial.median_ttft_s
    return None if lag is None or ttft is None else _relative_state(lag, ttft, _SEND_OK, _SEND_BOUND)


def too_many_failures(failed: int, attempted: int) -> bool:
    """Whether a server fails too often to be compared: 2 turns at least, and 1 % of them."""
    return failed >= _FEW_FAILURES and failed >= _MAX_FAILED_SHARE * attempted


def _fails(trial: Trial) -> bool:
    return too_many_failures(trial.failed, len(trial.measured))


def _contaminated(trial: Trial) -> bool:
    cached, prompt = trial.first_turns
    return prompt > 0 and cached > _MAX_FIRST_CACHED * prompt
