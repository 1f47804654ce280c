# Stands in for the official image: RabbitMQ of Debian, as its own user, reading the same directory of configuration.
ARG PYTHON_IMAGE
FROM ${PYTHON_IMAGE}
RUN apt-get update && apt-get install -y rabbitmq-server && rm -rf /var/lib/apt/lists/* \
 && rabbitmq-plugins enable --offline rabbitmq_prometheus \
 && printf 'loopback_users = none\n' > /etc/rabbitmq/rabbitmq.conf
ENV HOME=/var/lib/rabbitmq RABBITMQ_LOGS=-
USER rabbitmq
EXPOSE 5672 15692
CMD ["/usr/lib/rabbitmq/bin/rabbitmq-server"]
