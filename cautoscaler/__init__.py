"""CAutoScaler: how many containers an experiment needs, decided without doing any I/O."""
