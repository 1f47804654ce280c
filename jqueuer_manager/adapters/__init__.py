"""Adapters of the manager: orchestrators, and the policy services of users."""
