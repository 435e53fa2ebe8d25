"""Where a server is, in every spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.client.endpoint import Endpoint
from loadgen.errors import ExperimentError


@pytest.mark.parametrize("text", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", " h:1 ", "h:1/v1"])
def test_every_spelling_of_a_root_gives_the_same_routes(text: str) -> None:
    """With or without /v1, slash, scheme and blanks, chat is below /v1 and control routes are at the root."""
    endpoint = Endpoint.parse(text)
    assert endpoint.url("/v1/chat/completions") == "http://h:1/v1/chat/completions"
    assert [endpoint.url(path) for path in ("/health", "/metrics", "/props")] == [
        "http://h:1/health",
        "http://h:1/metrics",
        "http://h:1/props",
    ]
    assert endpoint.label == "http://h:1"


@pytest.mark.parametrize("text", ["http://h:1/prefix", "http://h:1/prefix/v1/", "http://h:1//prefix//v1"])
def test_a_path_prefix_is_kept_for_all_routes(text: str) -> None:
    """A prefix stays in front of API and control routes, without doubled slashes."""
    endpoint = Endpoint.parse(text)
    assert endpoint.url("/v1/chat/completions") == "http://h:1/prefix/v1/chat/completions"
    assert endpoint.url("/metrics") == "http://h:1/prefix/metrics"
    assert endpoint.label == "http://h:1/prefix"


def test_only_a_whole_v1_segment_is_taken_off() -> None:
    """/v1beta is a prefix, not the API version."""
    assert Endpoint.parse("http://h:1/v1beta").url("/v1/models") == "http://h:1/v1beta/v1/models"
    assert Endpoint.parse("http://h:1/xv1").prefix == "/xv1"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("http://[::1]:8080/v1", "http://[::1]:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("https://[2001:db8::7]", "https://[2001:db8::7]:443"),
        ("https://Example.ORG", "https://example.org:443"),
        ("http://h", "http://h:80"),
    ],
)
def test_labels_show_port_and_brackets(text: str, label: str) -> None:
    """A label names the port, also where it is the default, and brackets IPv6 addresses."""
    assert Endpoint.parse(text).label == label


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "http://",
        "http://h:0",
        "http://h:99999",
        "http://h:x",
        "http://[::1",
        "http://[zz]:1",
        "ftp://h:1",
        "http://h:1/?model=x",
        "http://h:1/#top",
        "http://h:1?",
        "http://a b:1",
        "http://h:1/a b",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """Missing hosts, wrong ports, other schemes, queries and blanks are errors for the user."""
    with pytest.raises(ExperimentError):
        Endpoint.parse(text)


@pytest.mark.parametrize(
    "text", ["http://user:hunter2@h:1", "user:hunter2@h:1", "http://hunter2@h:1", "http://:hunter2@h"]
)
def test_a_password_in_the_address_is_refused_and_not_repeated(text: str) -> None:
    """Addresses end up in reports; a password in one must not, not even in the message."""
    with pytest.raises(ExperimentError, match="--api-key-env") as caught:
        Endpoint.parse(text)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("[::1]", True), ("localhost", True), ("LOCALHOST", True),
     ("10.0.0.1", False), ("[2001:db8::1]", False), ("localhost.example.org", False), ("128.0.0.1", False)],
)  # fmt: skip
def test_loopback_is_this_machine_only(host: str, loopback: bool) -> None:
    """127.0.0.0/8, ::1 and localhost are this machine; nothing else is."""
    assert Endpoint.parse(f"http://{host}:1").is_loopback is loopback


@given(
    scheme=st.sampled_from(["http", "https"]),
    host=st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z0-9]{1,5})?", fullmatch=True)
    | st.ip_addresses(v=6).map(lambda a: f"[{a}]"),
    port=st.integers(1, 65535),
    segments=st.lists(st.from_regex(r"[a-z0-9_-]{1,6}", fullmatch=True), max_size=3),
)
def test_a_label_is_an_address_of_the_same_server(scheme: str, host: str, port: int, segments: list[str]) -> None:
    """Parsing a label gives the endpoint back, unless its last segment is again /v1."""
    endpoint = Endpoint.parse(f"{scheme}://{host}:{port}/{'/'.join(segments)}")
    if not endpoint.prefix.endswith("/v1"):
        assert Endpoint.parse(endpoint.label) == endpoint
