"""Adapters of the agent: local containers and the commands run in them."""
