"""Parts of the monitoring, running for real: the statsd bridge with the project's mapping, and Prometheus."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from jqueuer.adapters.processes import dying_with_parent
from tests.ports import free_port

ROOT = Path(__file__).parents[1]
RULES = ROOT / "deploy" / "prometheus" / "rules.yml"
MAPPING = ROOT / "deploy" / "statsd-mapping.yml"
_START_SECONDS = 30.0


def require_prometheus() -> None:
    """Skip the test where there is no Prometheus; where CI=true, fail."""
    missing = [command for command in ("prometheus", "promtool") if shutil.which(command) is None]
    if missing:
        reason = f"{' and '.join(missing)} not found: tools/install-test-services installs Debian's package prometheus"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@dataclass(frozen=True)
class Bridge:
    """A running statsd bridge."""

    port: int
    url: str

    def send(self, *lines: str) -> None:
        """Send lines in one datagram, as an agent does."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto("\n".join(lines).encode(), ("127.0.0.1", self.port))

    def metrics(self) -> str:
        """What it shows."""
        return requests.get(f"{self.url}/metrics", timeout=10).text


@contextmanager
def running_bridge(mapping: Path = MAPPING) -> Iterator[Bridge]:
    """The bridge as a process of its own, on ports of its own."""
    addresses = ["--listen-udp", "127.0.0.1:0", "--listen-http", "127.0.0.1:0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "jqueuer.statsd_bridge", "--mapping", str(mapping), *addresses],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        preexec_fn=dying_with_parent(signal.SIGKILL),
    )
    assert process.stdout is not None
    try:
        ports = json.loads(process.stdout.readline())
        yield Bridge(ports["udp"], f"http://127.0.0.1:{ports['http']}")
    finally:
        process.terminate()
        assert process.wait(10) == 0
        process.stdout.close()


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus."""

    url: str

    def ask(self, path: str, **parameters: Any) -> Any:
        """The data of an answer of its API; the query's fault in its own words where it refuses."""
        answer = requests.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=10).json()
        assert answer["status"] == "success", f"{parameters}: {answer.get('error')}"
        return answer["data"]

    def answering(self) -> dict[str, str]:
        """What it says of what it looks at: up, down, unknown."""
        return {target["labels"]["job"]: target["health"] for target in self.ask("targets")["activeTargets"]}


@contextmanager
def running_prometheus(directory: Path, addresses: dict[str, str], token_file: Path) -> Iterator[Prometheus]:
    """Prometheus with the project's configuration, in a hurry; ``addresses`` say where the services are instead."""
    own = f"127.0.0.1:{free_port()}"
    configuration = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    configuration["rule_files"] = [str(RULES)]
    configuration["global"] |= dict.fromkeys(("scrape_interval", "scrape_timeout", "evaluation_interval"), "200ms")
    for scraped in configuration["scrape_configs"]:
        address = own if scraped["job_name"] == "prometheus" else addresses[scraped["job_name"]]
        scraped["static_configs"] = [{"targets": [address]}]
        if "authorization" in scraped:
            scraped["authorization"]["credentials_file"] = str(token_file)
    (directory / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("prometheus", f"--config.file={directory}/prometheus.yml", f"--web.listen-address={own}"),
                f"--storage.tsdb.path={directory}/data",
            ],
            stdout=log,
            stderr=log,
            preexec_fn=dying_with_parent(signal.SIGKILL),
        )
    try:
        _wait_until_ready(f"http://{own}/-/ready", process)
        yield Prometheus(f"http://{own}")
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        assert process.poll() is None, "Prometheus did not start"
        assert time.monotonic() < deadline, "Prometheus is not ready"
        try:
            if requests.get(url, timeout=5).ok:
                return
        except requests.ConnectionError:
            pass
        time.sleep(0.05)


def promtool(*arguments: str, given: str = "") -> str:
    """What ``promtool`` says; the test fails with it where it finds fault."""
    ended = subprocess.run(["promtool", *arguments], input=given, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr
