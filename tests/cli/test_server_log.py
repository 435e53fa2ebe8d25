"""The log of a server that runs already, on the command line and in a file."""

from pathlib import Path

from tests.cli.test_experiment_file import invoked, planned

URL = "http://127.0.0.1:8080"


def test_the_log_goes_to_the_server_that_it_is_named_for() -> None:
    """Alone where there is one server, else by name; it is written down with the experiment."""
    (only,) = planned("sweep", URL, "--server-log", "/var/log/a=b.log")["variants"]
    assert only["server_log"] == "/var/log/a=b.log"
    pair = ("--variant", f"off={URL}", "--variant", "mtp=http://127.0.0.1:8081")
    off, mtp = planned("sweep", *pair, "--server-log", "mtp=docker:mtp")["variants"]
    assert (off["server_log"], mtp["server_log"]) == (None, "docker:mtp")


def test_a_variable_names_it_too() -> None:
    """As for every option."""
    (only,) = planned("sweep", URL, LOADGEN_SERVER_LOG="journal:llama.service")["variants"]
    assert only["server_log"] == "journal:llama.service"


def test_a_log_that_is_nobodys_is_a_usage_error() -> None:
    """Of several servers, of one that loadgen starts, or none at all."""
    pair = ("--variant", f"off={URL}", "--variant", "mtp=http://127.0.0.1:8081")
    command = ("--", "llama-server", "-m", "m.gguf", "--spec-type", "draft-mtp")
    for args, message in (
        (("sweep", *pair, "--server-log", "x.log"), "say whose log it is, such as off=x.log"),
        (("ab", "--server-log", "x.log", *command), "loadgen starts every server itself"),
        (("sweep", URL, "--server-log", "journal:"), "is no name of a systemd unit"),
    ):
        result = invoked(args[0], "--dry-run", *args[1:])
        assert (result.code, message in result.err) == (2, True), result.err


def test_a_file_names_it_by_variant(tmp_path: Path) -> None:
    """Or for all of them in its base: one router prints what its servers print."""
    path = tmp_path / "night.yaml"
    path.write_text(
        f"base: {{kind: router, url: '{URL}', server_log: /var/log/router.log}}\n"
        "variants:\n  - {name: off, preset: off}\n  - {name: mtp, preset: mtp, server_log: journal:router}\n"
        "levels: [1]\n"
    )
    off, mtp = planned("sweep", str(path))["variants"]
    assert (off["server_log"], mtp["server_log"]) == ("/var/log/router.log", "journal:router")
    path.write_text(f"variants:\n  - {{name: off, url: '{URL}', server_log: 'docker:-f'}}\nlevels: [1]\n")
    result = invoked("sweep", "--dry-run", str(path))
    assert result.code == 2
    assert "is no name of a container" in result.err
