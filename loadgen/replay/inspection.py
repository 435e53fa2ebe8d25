"""What is looked at before a variant is measured: its server against the baseline's, and its answers."""

from collections.abc import Callable

from loadgen.client.chat import ChatClient
from loadgen.errors import VariantError
from loadgen.experiment.model import Experiment
from loadgen.experiment.request_fields import request_fields, sampling_of
from loadgen.records.differences import as_asked, differences, explain, voiding
from loadgen.records.model import ServerFacts
from loadgen.records.output_check import OutputCheck
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter
from loadgen.replay.bench import Sink
from loadgen.replay.observer import Observer
from loadgen.servers.greedy_answers import GreedyAnswers
from loadgen.servers.output_check import check_output
from loadgen.servers.target import Target

Judge = Callable[[OutputCheck, OutputCheck | None], str | None]
"""Why the check of a variant (the first) fails against that of the baseline; null where it doesn't."""


class Inspection:
    """Looks at one variant after the other, the baseline first."""

    def __init__(
        self,
        experiment: Experiment,
        writer: RunWriter,
        observer: Observer,
        *,
        judge: Judge | None,
        earlier: Run | None,
        random_weights: bool,
    ) -> None:
        self._experiment = experiment
        self._writer = writer
        self._observer = observer
        self._judge = judge
        self._random_weights = random_weights
        self._facts: dict[str, ServerFacts] = {}
        self._sampling = {
            one.name: sampling_of({**experiment.body, **getattr(one, "body", {})}) for one in experiment.variants
        }
        """What requests of each variant ask for."""
        self._checks: dict[str, OutputCheck] = {}
        self._greedy = (
            GreedyAnswers(baseline=experiment.baseline, seed=experiment.seed)
            if experiment.check_output == "full"
            else None
        )
        if earlier is not None:
            self._facts = {start.variant: start.facts for start in reversed(earlier.starts)}
            if self._greedy is None:  # the baseline's answers are not kept, so a full check is made anew
                self._checks = {check.variant: check for check in earlier.checks}

    def unchanged(self, target: Target) -> None:
        """Raises `VariantError` where a server is not what it was at its first start in this run."""
        name, facts = target.variant.name, target.facts
        if facts is None:
            return
        before = self._facts.setdefault(name, facts)
        changed = [one for one in differences(before, facts) if one.voids or one.field == "build"]
        if changed:
            words = ", ".join(f"{one.field} ({one.baseline} → {one.variant})" for one in changed)
            raise VariantError(f"the server of {name} is not what it was when the run began: {words}")

    async def look(self, target: Target, sink: Sink) -> str | None:
        """Compare a variant's server with the baseline's, then check its answers, unless that has been done.

        Returns why the output check fails; null where it doesn't, or nobody judges. `sink` gets the check's requests.

        Raises `VariantError` where the servers differ in what voids a comparison.
        """
        self._compare(target)
        name = target.variant.name
        if target.facts is not None and target.facts.kind == "llama-server" and not target.facts.metrics:
            self._observer.note(f"{name}: no counters, so no acceptance length; its server needs --metrics")
        if self._experiment.check_output == "off":
            return None
        check = self._checks.get(name)
        if check is None:
            self._observer.note(f"{name}: checking its answers at {max(self._experiment.levels)} agents")
            check = await self._check(target, sink)
            self._writer.check(check)
            self._checks[name] = check
        return self._judge(check, self._checks.get(self._experiment.baseline)) if self._judge is not None else None

    async def _check(self, target: Target, sink: Sink) -> OutputCheck:
        facts = target.facts
        return await check_output(
            ChatClient(target.transport, self._experiment.deadlines, sink),
            target.control,
            run=self._writer.path.name,
            variant=target.variant,
            command=target.command(),
            level=max(self._experiment.levels),
            model=target.model,
            body={**request_fields(self._experiment), **target.body},
            slots=facts.slots if facts is not None and facts.kind == "llama-server" else None,
            random_weights=self._random_weights,
            greedy=self._greedy,
        )

    def _compare(self, target: Target) -> None:
        name, baseline = target.variant.name, self._experiment.baseline
        if name == baseline or target.facts is None or baseline not in self._facts:
            return
        ours, theirs = as_asked(self._facts[baseline], target.facts, self._sampling[baseline], self._sampling[name])
        found = differences(ours, theirs, meant=self._experiment.under_test)
        stopping = voiding(found, self._experiment.allow_different)
        if stopping:
            raise VariantError(" ".join(explain(baseline, name, stopping)))
        for sentence in explain(baseline, name, found):
            self._observer.note(sentence)
