"""What has ended is kept for as long as the settings say."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace

import pytest

from jqueuer.errors import NotFoundError
from jqueuer.states import ExperimentState
from jqueuer_manager.loop import delete_expired
from tests.embedded.api_manager import Manager


def test_only_ended_experiments_whose_time_is_over_are_deleted_with_their_logs(manager: Manager) -> None:
    services = manager.services
    ended, running = manager.submit_jobs(2), manager.submit_jobs(2)
    services.artifacts.write_log(ended, "j0", 1, "stdout", 0, b"text")
    services.experiments.move(ended, [ExperimentState.RUNNING], ExperimentState.ACCOMPLISHED)
    services.experiments.settle(ended)
    assert delete_expired(services) == 0
    soon = services.settings.model_copy(update={"retention_seconds": -1.0})
    assert delete_expired(replace(services, settings=soon)) == 1
    with pytest.raises(NotFoundError):
        services.experiments.get(ended)
    assert services.artifacts.read_log(ended, "j0", 1, "stdout", 0, 9) == (b"", 0)
    assert services.experiments.get(running).state is ExperimentState.RUNNING


def test_an_input_that_was_just_sent_is_kept_for_the_experiment_to_come(manager: Manager) -> None:
    sha256 = hashlib.sha256(b"program").hexdigest()
    manager.services.artifacts.put_input(sha256, io.BytesIO(b"program"))
    soon = manager.services.settings.model_copy(update={"retention_seconds": 0.001})
    delete_expired(replace(manager.services, settings=soon))
    assert manager.services.artifacts.has_input(sha256)
