"""Experiment services on a Docker Swarm."""

from jqueuer_manager.adapters.swarm.orchestrator import SwarmOrchestrator as SwarmOrchestrator
