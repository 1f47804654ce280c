"""A small stand-in for the statsd exporter, for where the official one cannot be had.

It reads the same mapping file and shows the same metrics of it: ``python -m jqueuer.statsd_bridge --mapping
deploy/statsd-mapping.yml``. Of the file's language it knows what our mapping uses and refuses the rest.
"""
