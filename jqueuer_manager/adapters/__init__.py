"""Adapters of the manager: orchestrators."""
