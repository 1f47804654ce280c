"""The manager process: receives experiments, runs their controllers, answers the API."""
