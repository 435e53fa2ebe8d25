"""Rules of the files that bring up Prometheus and Grafana: checked against schemas, for no engine is at hand here."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from loadgen.dashboards.boards import FOLDER
from loadgen.dashboards.panel import OF_A_RUN


def read(path: str) -> Any:
    """A YAML file."""
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def test_the_compose_file_follows_its_schema() -> None:
    """`check-jsonschema` with the schema of the Compose specification accepts it."""
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        "docker-compose.yml",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_images_are_pinned_in_the_environment_file() -> None:
    """Every image has a tag from .env, and none is `latest`."""
    tags = dict(line.split("=", 1) for line in Path(".env").read_text().splitlines() if line and line[0] != "#")
    for service in read("docker-compose.yml")["services"].values():
        variable = service["image"].partition(":${")[2].removesuffix("}")
        assert tags[variable][-1].isdecimal()


def test_nothing_is_reachable_from_elsewhere_and_nothing_has_a_default_password() -> None:
    """Both listen on loopback, what they read is mounted read-only, and Grafana has no administrator."""
    services = read("docker-compose.yml")["services"]
    assert "--web.listen-address=127.0.0.1:9090" in services["prometheus"]["command"]
    grafana = services["grafana"]["environment"]
    assert grafana["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"
    assert grafana["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"] == "true"
    assert grafana["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    for service in services.values():
        assert "ports" not in service
        mounts = [mount for mount in service["volumes"] if mount.startswith("./")]
        assert mounts
        for mount in mounts:
            path, _, mode = mount.split(":")
            assert (Path(path).is_dir(), mode) == (True, "ro")


def test_grafana_finds_its_source_and_dashboards() -> None:
    """The data source is the Prometheus beside it; the dashboards' folder is the one that is mounted."""
    (source,) = read("dashboards/provisioning/datasources/prometheus.yml")["datasources"]
    assert (source["type"], source["url"], source["uid"]) == (
        "prometheus",
        "http://127.0.0.1:9090",
        "loadgen-prometheus",
    )
    (provider,) = read("dashboards/provisioning/dashboards/loadgen.yml")["providers"]
    mounts = read("docker-compose.yml")["services"]["grafana"]["volumes"]
    assert f"./{FOLDER}:{provider['options']['path']}:ro" in mounts
    interval = read("dashboards/prometheus/prometheus.yml")["global"]["scrape_interval"]
    assert source["jsonData"]["timeInterval"] == interval
    assert [variable.name for variable in OF_A_RUN] == ["series", "workload", "variant"]
