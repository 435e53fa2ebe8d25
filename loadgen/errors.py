"""Every error that loadgen raises on purpose.

    LoadgenError                     exit 1   our own fault: a bug
    ├── UsageError                   exit 2   what was asked can't be done as asked
    │   ├── ExperimentError                   an option or an experiment file is wrong
    │   ├── GgufError                         a model file can't be read, or is none
    │   ├── WorkloadError                     a profile or a session file is wrong, or doesn't fit the server
    │   └── RunFolderError                    a run folder can't be written, or isn't one
    ├── TargetError                  exit 3   the server under test
    │   ├── UnreachableError                  nobody answers, or it stays busy loading
    │   ├── RefusedError                      it answers, but not as needed (key, certificate, route)
    │   ├── LaunchError                       a server that we start does not come up
    │   └── VariantError                      a variant isn't what its name says
    ├── NoVerdictError               exit 4   an asked comparison has no valid pair of trials
    ├── ThresholdFailedError         exit 5   a criterion of a gate, or a threshold, failed
    ├── ThresholdUnknownError        exit 6   none failed, but one can't be told
    └── RunInterruptedError          exit 130 the user asked us to stop

`main()` in `loadgen.cli.app` turns them into one message and the exit code; no command calls `sys.exit`. The message is
one or two sentences: what is wrong, and what to do. Of several the first of 130, 1, 2, 3, 4, 5, 6 is raised.
"""

from typing import ClassVar


class LoadgenError(Exception):
    """The root. Raised itself only where loadgen is at fault."""

    exit_code: ClassVar[int] = 1


class UsageError(LoadgenError):
    """What was asked can't be done as it was asked."""

    exit_code = 2


class ExperimentError(UsageError):
    """An option or a field of the experiment is wrong."""


class GgufError(UsageError):
    """A model file can't be read, is no GGUF file, or lacks a part."""


class WorkloadError(UsageError):
    """A workload is unknown, wrong, or doesn't fit the context of the server."""


class RunFolderError(UsageError):
    """A run folder can't be written, exists already, or isn't a run folder."""


class TargetError(LoadgenError):
    """The server under test can't be used."""

    exit_code = 3


class UnreachableError(TargetError):
    """Nobody answers at the address, or the server stays busy loading."""


class RefusedError(TargetError):
    """The server answers, but not as needed: a wrong key, certificate or route."""


class LaunchError(TargetError):
    """A server that loadgen starts does not come up. The message carries the last lines of its log."""


class VariantError(TargetError):
    """A variant isn't what its name says, for example `mtp` without speculation."""


class NoVerdictError(LoadgenError):
    """The run ended, but a comparison that was asked for has no valid pair of trials."""

    exit_code = 4


class ThresholdFailedError(LoadgenError):
    """A criterion of a gate or a threshold failed: the whole interval of its figure lies on the wrong side."""

    exit_code = 5


class ThresholdUnknownError(LoadgenError):
    """No criterion failed, but one can't be told: its interval holds the limit, or there is none."""

    exit_code = 6


class RunInterruptedError(LoadgenError):
    """The user pressed Ctrl-C. What was measured is kept and marked incomplete."""

    exit_code = 130
