"""Is a server what its variant says?"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from loadgen.client.control import Control
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import VariantError
from loadgen.experiment.variant import LaunchVariant, RequestVariant, UrlVariant, Variant
from loadgen.records.model import ServerFacts
from loadgen.servers.preflight import probe_drafts, read_facts
from loadgen.servers.verify import verify

if TYPE_CHECKING:
    from tests.servers.conftest import Served


def said(speculative: bool | None, drafted: int | None, plain: int | None = None) -> ServerFacts:
    """Facts of which only these matter."""
    return ServerFacts(
        kind="llama-server",
        model=None,
        model_path=None,
        build=None,
        slots=None,
        context_per_slot=None,
        metrics=True,
        speculative=speculative,
        drafted=drafted,
        drafted_plain=plain,
        sampling=None,
    )


def launched(args: str = "", *, env: dict[str, str | None] | None = None, **fields: Any) -> LaunchVariant:
    """A variant that is started with these arguments."""
    return LaunchVariant(name="v", program="llama-server", args=tuple(args.split()), env=env or {}, **fields)


def running(**fields: Any) -> UrlVariant:
    """A variant that runs already."""
    return UrlVariant(name="v", url="http://127.0.0.1:1", **fields)


def by_fields(**fields: Any) -> RequestVariant:
    """A variant that is a field of every request."""
    return RequestVariant(name="v", url="http://127.0.0.1:1", body={"speculative.n_max": "secret-0"}, **fields)


@pytest.mark.parametrize(
    ("variant", "facts"),
    [
        (running(), said(True, 9)),
        (running(speculative=True), said(True, 9)),
        (running(speculative=True), said(None, 9)),
        (running(speculative=True), said(True, None)),
        (running(speculative=True), said(None, None)),
        (running(speculative=False), said(False, 0)),
        (running(speculative=False), said(None, None)),
        (running(speculative=True, overhead=True), said(True, 0)),
        (running(overhead=True), said(True, None)),
        (by_fields(speculative=True), said(True, 9, 9)),
        (by_fields(speculative=True), said(True, 9, 0)),
        (by_fields(speculative=False), said(True, 0, 9)),
        (by_fields(speculative=False), said(True, 0, 0)),
        (by_fields(speculative=False), said(None, None, None)),
    ],
)
def test_a_server_that_is_what_its_variant_says_passes(variant: Variant, facts: ServerFacts) -> None:
    """So does one that doesn't say."""
    verify(variant, facts)


@pytest.mark.parametrize(
    ("variant", "facts", "message"),
    [
        (
            running(speculative=True),
            said(False, None),
            "runs without speculation (/slots says speculative: false); start",
        ),
        (launched("-m a", speculative=True), said(False, 0), "its command has no --spec-type"),
        (launched("-m a -md d", speculative=True), said(False, 0), "a draft model alone doesn't switch it on"),
        (
            launched("-m a --spec-type draft-simple", speculative=True),
            said(False, 0),
            "--spec-type draft-simple needs a draft model: add -md",
        ),
        (
            launched("-m a", env={"LLAMA_ARG_SPEC_TYPE": "draft-mtp"}, speculative=True),
            said(False, 0),
            "draft-mtp needs a model with MTP heads",
        ),
        (
            launched("-m a -md d --spec-type draft-eagle3", speculative=True),
            said(False, 0),
            "its log says at load why --spec-type draft-eagle3 failed",
        ),
        (
            running(speculative=True),
            said(True, 0),
            "drafted nothing; look at --spec-draft-p-min, --spec-draft-n-max and",
        ),
        (running(speculative=True), said(None, 0), "drafted nothing"),
        (running(speculative=False), said(True, 0), "speculates (/slots says so) although it must not; start it with"),
        (
            launched("-m a", speculative=False),
            said(None, 9),
            "(a probe drafted 9 tokens) although it must not; look for",
        ),
        (running(overhead=True), said(False, 0), "carry speculation that drafts nothing, but its server runs without"),
        (running(overhead=True), said(True, 9), "must draft nothing (overhead), but a probe drafted 9 tokens"),
        (
            by_fields(speculative=False),
            said(True, 9, 8),
            "ignores speculative.n_max: a probe drafted 9 tokens with and 8 without, as llama-server does",
        ),
        (by_fields(speculative=False), said(True, 9, 0), "a probe with speculative.n_max drafted 9 tokens although"),
        (by_fields(speculative=True), said(True, 0, 8), "speculative.n_max switch speculation off"),
        (by_fields(speculative=True), said(True, 0, 0), "drafted nothing, neither with speculative.n_max nor without"),
        (
            by_fields(speculative=True),
            said(False, 0, 0),
            "can't switch speculation on: /slots says that none is loaded",
        ),
        (by_fields(speculative=True, overhead=True), said(True, 9, 9), "ignores speculative.n_max"),
    ],
)
def test_each_lie_has_its_likely_cause(variant: Variant, facts: ServerFacts, message: str) -> None:
    """The variant is named, and what to change; values of request fields are not repeated."""
    with pytest.raises(VariantError) as caught:
        verify(variant, facts)
    assert str(caught.value).startswith("variant 'v': ")
    assert message in str(caught.value)
    assert "secret-0" not in str(caught.value)


TRAPS: dict[str, tuple[bool, bool, str | None]] = {
    # arguments: /slots[].speculative, whether the probe drafted, what verify says of a variant that is to speculate
    "--spec-type draft-simple": (False, False, "needs a draft model: add -md"),
    "--spec-type draft-eagle3": (False, False, "needs a draft model: add -md"),
    "--spec-type draft-mtp --spec-draft-n-max 0": (True, True, None),
    "--spec-type draft-mtp --spec-draft-p-min 0.999999": (True, False, "drafted nothing; look at --spec-draft-p-min"),
}


@pytest.mark.live
@pytest.mark.parametrize("arguments", TRAPS)
async def test_what_a_real_server_does_with_the_traps(
    serve: Callable[..., "Served"], tiny_model: Path, arguments: str
) -> None:
    """Speculation stays off without a word; n_max 0 drafts for nothing, as its command alone shows; p_min 1 idles."""
    speculative, drafts, message = TRAPS[arguments]
    served = serve("-m", str(tiny_model), "-np", "2", "-c", "1024", *arguments.split())
    async with HttpTransport(Endpoint.parse(served.url)) as transport:
        facts = await read_facts(Control(transport))
        facts = msgspec.structs.replace(facts, drafted=await probe_drafts(transport, None))
    assert (facts.speculative, (facts.drafted or 0) > 0) == (speculative, drafts)
    variant = launched(f"-m a {arguments}", speculative=True)
    if message is None:
        verify(variant, facts)
    else:
        with pytest.raises(VariantError, match=message):
            verify(variant, facts)


@pytest.mark.live
def test_synthetic_acceptance_without_a_type_ends_a_real_server(
    serve: Callable[..., "Served"], tiny_model: Path
) -> None:
    """This trap is loud: it exits with 1."""
    with pytest.raises(AssertionError, match=r"the server ended with 1:(?s:.*)requires an initialized speculative"):
        serve("-m", str(tiny_model), "--spec-synth-len", "3")
