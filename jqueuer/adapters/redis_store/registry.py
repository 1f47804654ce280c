"""Where the local engine and its orchestrator meet, on Redis or Valkey."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import experiment_key
from jqueuer.records import ContainerStatus
from jqueuer.states import ContainerState

_SERVICES: Final = "jq:services"


class RedisContainerRegistry:
    """The :class:`~jqueuer.ports.ContainerRegistry` on Redis or Valkey."""

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    def request(self, experiment_id: str, containers: int) -> None:
        """Ask for a number of containers."""
        self._client.hset(_SERVICES, experiment_id, containers)

    def requested(self) -> dict[str, int]:
        """All services and their requested numbers."""
        return {name: int(count) for name, count in self._client.hgetall(_SERVICES).items()}

    def withdraw(self, experiment_id: str) -> None:
        """The service is no longer wanted."""
        self._client.hdel(_SERVICES, experiment_id)

    def observe(self, experiment_id: str, status: ContainerStatus) -> None:
        """Record a container and its state."""
        self._client.hset(f"{experiment_key(experiment_id)}:containers", status.id, status.model_dump_json())

    def observed(self, experiment_id: str) -> list[ContainerStatus]:
        """The recorded containers; one that holds a job is busy, whatever was recorded before it took it."""
        base = experiment_key(experiment_id)
        with self._client.pipeline() as batch:
            batch.hgetall(f"{base}:containers")
            batch.hgetall(f"{base}:busy")
            batch.hgetall(f"{base}:busy_since")
            containers, busy, busy_since = batch.execute()
        found = [ContainerStatus.model_validate_json(value) for _, value in sorted(containers.items())]
        return [_with_job(status, busy.get(status.id), busy_since.get(status.id)) for status in found]

    def mark_draining(self, experiment_id: str, container_ids: Iterable[str]) -> None:
        """The orchestrator has given these containers up."""
        if names := tuple(container_ids):
            self._client.sadd(f"{experiment_key(experiment_id)}:draining", *names)

    def draining(self, experiment_id: str) -> set[str]:
        """The containers marked so and not ended since."""
        return set(self._client.smembers(f"{experiment_key(experiment_id)}:draining"))

    def ended(self, experiment_id: str, container_id: str, at: float | None = None) -> None:
        """A container is gone, now or since then; its lifetime is added up. Later calls for it change nothing."""
        base = experiment_key(experiment_id)
        self._client.srem(f"{base}:draining", container_id)
        self._client.hdel(f"{base}:busy_since", container_id)
        value = self._client.hget(f"{base}:containers", container_id)
        if value is None or not self._client.hdel(f"{base}:containers", container_id):
            return
        ended_at = self._now() if at is None else at
        lifetime = ended_at - ContainerStatus.model_validate_json(value).started_at
        if self._client.exists(base):
            self._client.hincrbyfloat(base, "container_seconds", max(0.0, lifetime))

    def _now(self) -> float:
        seconds, microseconds = self._client.time()
        return float(seconds) + float(microseconds) / 1e6


def _with_job(status: ContainerStatus, job: str | None, since_ms: str | None) -> ContainerStatus:
    since = None if since_ms is None else float(since_ms) / 1000
    if job is None:
        return status if since is None else status.model_copy(update={"claimed_at": since})
    state = status.state if status.state is ContainerState.DRAINING else ContainerState.BUSY
    return status.model_copy(update={"job": job, "state": state, "busy_since": since, "claimed_at": since})
