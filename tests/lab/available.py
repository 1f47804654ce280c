"""Whether a laboratory can run here, and if not, why."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

COMMANDS = {
    "dockerd": "docker.io",
    "docker": "docker.io",
    "docker-registry": "docker-registry",
    "ip": "iproute2",
    "iptables": "iptables",
    "mmdebstrap": "mmdebstrap",
    "tini": "tini",
    "busybox": "busybox-static",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}
"""What a laboratory calls, and Debian's package of it."""


@functools.cache
def why_not() -> str | None:
    """The reason why no laboratory can run here; None where it can."""
    if sys.platform != "linux":
        return "a real Swarm needs Linux: its nodes are namespaces of one kernel"
    if os.geteuid() != 0:
        return "a real Swarm needs root: its nodes are namespaces, links and cgroups"
    missing = sorted({package for command, package in COMMANDS.items() if not shutil.which(command, path=_path())})
    if missing:
        return f"a real Swarm needs {' '.join(missing)}: tools/install-test-services installs them on Debian"
    if not os.access("/sys/fs/cgroup", os.W_OK):
        return "a real Swarm needs cgroups: /sys/fs/cgroup cannot be written"
    attempt = subprocess.run(
        ["unshare", "-n", "-m", "-p", "--fork", "sh", "-c", "ip link add type bridge && ip link add type veth"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if attempt.returncode:
        return f"a real Swarm needs namespaces with bridges, and this kernel says: {attempt.stderr.strip()}"
    return None


@functools.cache
def why_no_compose() -> str | None:
    """The reason why nothing can be started by ``docker compose``; None where it can."""
    if reason := why_not():
        return reason
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        return "needs `docker compose`: tools/install-test-services installs it on Debian"
    return None


def require(reason_of: Callable[[], str | None] = why_not) -> None:
    """Skip the test with the reason; where CI=true, fail with it."""
    reason = reason_of()
    if reason is None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
