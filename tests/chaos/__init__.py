"""Faults by a seeded schedule during an experiment, and the account of what became of its jobs."""
