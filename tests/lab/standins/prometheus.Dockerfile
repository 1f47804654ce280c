# Stands in for the official image: Prometheus of Debian, as nobody; of its package the program alone.
ARG PYTHON_IMAGE
FROM ${PYTHON_IMAGE}
RUN cd /tmp && apt-get update && apt-get download prometheus \
 && dpkg --fsys-tarfile prometheus_*.deb | tar -x -C / ./usr/bin/prometheus \
 && rm -rf /var/lib/apt/lists/* prometheus_*.deb \
 && mkdir /prometheus && chown nobody /prometheus
USER nobody
EXPOSE 9090
ENTRYPOINT ["prometheus"]
