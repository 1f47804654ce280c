"""Jobs in the containers of a Docker engine: their commands, their working directory."""

from jqueuer_agent.adapters.docker.workplace import DockerWorkplace

__all__ = ["DockerWorkplace"]
