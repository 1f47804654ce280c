"""The disk is full: nothing is lost, nobody is to blame, and with room everything goes on by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from jqueuer.client import ClientError
from tests.disks import small_disk
from tests.embedded.running import System

Wait = Callable[..., None]
JOBS = 40


def test_a_store_that_cannot_write_is_waited_for(
    tmp_path: Path, request: pytest.FixtureRequest, eventually: Wait
) -> None:
    with small_disk(tmp_path / "own", 24 << 20) as disk:
        system: System = request.getfixturevalue("own_system")()
        pids = system.embedded.pids
        experiment_id = system.submit(
            f"""
            containers: {{min: 2, max: 2}}
            sweep:
              parameters: {{n: {{from: 1, to: {JOBS}, step: 1}}}}
              job: {{command: {{shell: "sleep 0.1; echo {{{{n}}}} >> {tmp_path}/trace"}}}}
            """
        )
        eventually(lambda: system.counts(experiment_id)["accomplished"] >= 5)
        disk.fill()
        with redis.Redis(unix_socket_path=f"{system.embedded.state_dir}/store/valkey.sock") as store:
            eventually(lambda: _refuses(store, disk.fill))
            with pytest.raises(ClientError, match="does not take anything now") as refused:
                system.submit("jobs: [{id: a, command: ['true']}]")
            assert refused.value.status == 503
            before = system.counts(experiment_id)
            time.sleep(2)  # long enough for whoever would give up, or go round in circles
            assert system.counts(experiment_id)["accomplished"] == before["accomplished"]
        disk.make_room()
        ended = system.api.wait(experiment_id, poll_seconds=0.05)
        assert (ended["state"], ended["jobs"]["accomplished"]) == ("accomplished", JOBS)
        assert system.api.summary(experiment_id)["attempts"] == JOBS
        assert sorted(int(line) for line in (tmp_path / "trace").read_text().split()) == list(range(1, JOBS + 1))
        assert system.embedded.pids == pids
        system.embedded.stop()


def _refuses(store: redis.Redis, fill: Callable[[], None]) -> bool:
    fill()
    try:
        store.set("probe", "x")
    except redis.ResponseError:
        return True
    return False


@pytest.fixture
def system_of_small_artifacts(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[System]:
    """Its logs and outputs lie on a disk of a megabyte, everything else does not."""
    with small_disk(tmp_path / "own" / "experiments", 1 << 20):
        yield request.getfixturevalue("own_system")()


def test_a_log_that_cannot_be_kept_fails_no_job(system_of_small_artifacts: System) -> None:
    system = system_of_small_artifacts
    summary = system.run(
        """
        jobs: [{id: talks, command: {shell: "head -c 2000000 /dev/zero | tr '\\\\0' x; echo done >&2"}}]
        """
    )
    [attempt] = system.attempts(summary["experiment_id"], "talks")
    assert (summary["state"], attempt["outcome"], attempt["exit_code"]) == ("accomplished", "accomplished", 0)
    assert "its stdout could not be kept: there is no room left on the disk" in attempt["reason"]
    assert system.log(summary["experiment_id"], "talks", stream="stderr") == "done\n"


def test_an_output_that_cannot_be_kept_fails_its_job_and_says_why(system_of_small_artifacts: System) -> None:
    system = system_of_small_artifacts
    summary = system.run(
        """
        on_failure: {action: requeue, max_attempts: 2}
        jobs:
          - {id: large, command: {shell: "head -c 2000000 /dev/zero > out"}, outputs: [out]}
          - {id: small, command: {shell: "echo 1 > out"}, outputs: [out]}
        """
    )
    attempts = system.attempts(summary["experiment_id"], "large")
    assert [attempt["outcome"] for attempt in attempts] == ["failed", "failed"]
    assert "an output could not be kept: there is no room left on the disk" in attempts[0]["reason"]
    [small] = system.attempts(summary["experiment_id"], "small")
    assert small["outcome"] == "accomplished"


def test_a_file_that_is_sent_is_refused_with_a_sentence(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with small_disk(tmp_path / "own" / "inputs", 1 << 20):
        system: System = request.getfixturevalue("own_system")()
        (tmp_path / "large").write_bytes(bytes(2_000_000))
        with pytest.raises(ClientError, match="no room left on the disk") as refused:
            system.api.upload_input(tmp_path / "large")
        assert refused.value.status == 507
