"""The cluster as a scheduler sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A machine of the cluster that takes containers; CPU in cores, memory in bytes."""

    name: str
    cpu_cores: float
    memory_bytes: int
    foreign_cpu_cores: float = 0.0
    """Reserved here by everything that is not an experiment service."""
    foreign_memory_bytes: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What placement constraints may ask for, by Swarm's names: ``node.role``, ``node.labels.gpu`` …"""
