"""Where metrics go: addresses, the route, the gateway's, and the file for node_exporter."""

import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from loadgen.errors import ExperimentError
from loadgen.metrics.address import Address, parse_address
from loadgen.metrics.endpoint import Endpoint, EndpointError
from loadgen.metrics.gateway import Gateway, PushError, parse_gateway
from loadgen.metrics.store import Store
from loadgen.metrics.textfile import TextfileError, checked_folder, write_textfile


@pytest.fixture
def store() -> Store:
    """A store with two gauges."""
    found = Store()
    found.set("loadgen_trials", ("s", "w", "off", "1"), 3)
    found.set("loadgen_trials_valid", ("s", "w", "off", "1"), 2)
    return found


@pytest.fixture
def endpoint(store: Store) -> Iterator[Endpoint]:
    """The store, served on loopback."""
    found = Endpoint.open(Address("127.0.0.1", 0), store)
    yield found
    found.close()


def scraped(url: str, accept: str = "*/*") -> tuple[str, str]:
    """The content type and the text of a page."""
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept})) as reply:  # noqa: S310
        return reply.headers["Content-Type"], reply.read().decode()


@pytest.mark.parametrize(
    ("text", "host", "port", "written"),
    [
        ("127.0.0.1:9464", "127.0.0.1", 9464, "127.0.0.1:9464"),
        (" localhost:0 ", "localhost", 0, "localhost:0"),
        (":9464", "127.0.0.1", 9464, "127.0.0.1:9464"),
        ("[::1]:9464", "::1", 9464, "[::1]:9464"),
        ("0.0.0.0:80", "0.0.0.0", 80, "0.0.0.0:80"),  # noqa: S104 - read, not bound
    ],
)
def test_addresses_are_host_and_port(text: str, host: str, port: int, written: str) -> None:
    """Names and IP addresses; without a host this machine alone."""
    found = parse_address(text)
    assert (found.host, found.port, str(found)) == (host, port, written)


@pytest.mark.parametrize("text", ["", "9464", "127.0.0.1", "h:99999", "h:-1", "h:x", "::1:9464", "http://h:1", "h:٣"])
def test_other_addresses_are_usage_errors(text: str) -> None:
    """The message names the option and shows an address."""
    with pytest.raises(
        ExperimentError, match=r"--metrics .* is no address; write HOST:PORT, such as 127\.0\.0\.1:9464"
    ):
        parse_address(text)


@given(st.text(max_size=30))
def test_any_address_text_is_an_address_or_a_usage_error(text: str) -> None:
    """No text makes the parser fail in another way, and what it accepts reads back."""
    try:
        found = parse_address(text)
    except ExperimentError:
        return
    assert parse_address(str(found)) == found


@pytest.mark.parametrize(("host", "is_loopback"), [("127.0.0.2", True), ("::1", True), ("10.0.0.1", False)])
def test_only_loopback_is_out_of_reach_of_others(host: str, is_loopback: bool) -> None:
    """Whoever serves beyond it is told so."""
    assert Address(host, 1).is_loopback is is_loopback


@pytest.mark.parametrize(
    ("text", "url", "user", "password"),
    [
        ("http://gateway:9091", "http://gateway:9091", None, None),
        ("gateway:9091/", "http://gateway:9091", None, None),
        ("https://me:p%40ss@g.example/push/", "https://g.example/push", "me", "p@ss"),
        ("http://[::1]:9091", "http://[::1]:9091", None, None),
    ],
)
def test_gateways_are_urls_with_or_without_a_user(text: str, url: str, user: str | None, password: str | None) -> None:
    """The password leaves the address, and is not shown with it."""
    found = parse_gateway(text)
    assert (found.url, found.user, found.password) == (url, user, password)
    assert password is None or password not in repr(found)


@given(st.text(max_size=30))
def test_any_gateway_text_is_a_gateway_or_a_usage_error(text: str) -> None:
    """No text makes the parser fail in another way; a refused one isn't repeated, for it may hold a password."""
    try:
        parse_gateway(text)
    except ExperimentError as error:
        said = str(error)
    else:
        return
    assert said == "--push-gateway is no address; write http://HOST:PORT"


def test_a_scrape_gets_what_it_asks_for(endpoint: Endpoint) -> None:
    """Plain text, OpenMetrics, or single names."""
    kind, text = scraped(endpoint.url)
    assert kind.startswith("text/plain; version=0.0.4")
    assert 'loadgen_trials{concurrency="1",series="s",variant="off",workload="w"} 3.0\n' in text
    kind, text = scraped(endpoint.url, "application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert {family.name for family in text_string_to_metric_families(text)} == {
        "loadgen_trials",
        "loadgen_trials_valid",
    }
    _, text = scraped(f"{endpoint.url}?name[]=loadgen_trials_valid")
    assert "loadgen_trials_valid{" in text
    assert "loadgen_trials{" not in text


def test_a_slow_scraper_keeps_nobody_waiting(endpoint: Endpoint) -> None:
    """While one connection sends nothing, another is answered; and closing waits for neither."""
    with socket.create_connection((endpoint.address.host, endpoint.address.port)) as idle:
        idle.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert "loadgen_trials" in scraped(endpoint.url)[1]


def test_a_scrape_during_shutdown_holds_nothing_up(store: Store) -> None:
    """Closing returns while a scraper has sent half of its request; afterwards nobody answers there."""
    served = Endpoint.open(Address("127.0.0.1", 0), store)
    place = (served.address.host, served.address.port)
    with socket.create_connection(place) as idle:
        idle.sendall(b"GET /metrics HTTP/1.1\r\n")
        served.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(place)


def test_a_port_in_use_is_said(endpoint: Endpoint, store: Store) -> None:
    """The message says where, why, and what to do."""
    with pytest.raises(EndpointError, match=rf"served at {endpoint.address} \(Address already in use\); name another"):
        Endpoint.open(endpoint.address, store)


def test_a_host_that_is_not_known_is_said(store: Store) -> None:
    """A name that has no address is an error of the endpoint, not a traceback."""
    with pytest.raises(EndpointError, match=r"metrics can't be served at no-such-host.invalid:9464 \("):
        Endpoint.open(Address("no-such-host.invalid", 9464), store)


def test_a_gateway_that_is_down_is_said(store: Store) -> None:
    """The message names the gateway and says that the run is not affected."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    gateway = Gateway(f"http://127.0.0.1:{port}", "me", "hush")
    with pytest.raises(
        PushError, match=rf"http://127.0.0.1:{port} did not take the metrics .*the run is not affected"
    ) as e:
        gateway.push(store, "s")
    assert "hush" not in str(e.value)


def test_the_file_is_replaced_whole(tmp_path: Path, store: Store) -> None:
    """One file a series, with a name that node_exporter reads, and nothing else left in the folder."""
    path = write_textfile(tmp_path, store, "nightly 4090/x")
    assert path.name == "loadgen-nightly_4090_x.prom"
    store.set("loadgen_trials", ("s", "w", "off", "1"), 4)
    assert write_textfile(tmp_path, store, "nightly 4090/x") == path
    assert 'workload="w"} 4.0\n' in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_none_is_a_usage_error(tmp_path: Path, store: Store) -> None:
    """It is refused before the run; one that vanishes meanwhile is said at its end."""
    with pytest.raises(ExperimentError, match=r"--metrics-textfile .*gone is no folder"):
        checked_folder(tmp_path / "gone")
    with pytest.raises(TextfileError, match=r"can't be written \(No such file or directory\)"):
        write_textfile(tmp_path / "gone", store, "s")
