"""Adapters of the ports that manager and agents share: the store, the job queue, the artifacts."""
