# Stands in for the official exporter, which nobody packages: the project's own bridge, reading the same mapping.
ARG AGENT_IMAGE
FROM ${AGENT_IMAGE}
USER jqueuer
ENTRYPOINT ["sh", "-c", "exec python3 -m jqueuer.statsd_bridge --mapping \"${1#*=}\"", "statsd-exporter"]
CMD []
HEALTHCHECK NONE
