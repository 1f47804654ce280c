"""Settings: the environment, read once into a frozen object (``JQUEUER_…``, see docs/settings.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from jqueuer.errors import SettingsError
from jqueuer.notify import check_webhook_url
from jqueuer.notifying.signature import check_secret
from jqueuer.units import ByteSize, Duration

_SECRETS = Path("/run/secrets")
_OF_PYDANTIC: Final = "Value error, "
_STORES: Final = ("redis", "rediss", "unix")
_BROKERS: Final = ("amqp", "amqps", "redis", "rediss", "redis+socket")


def _url_of(schemes: tuple[str, ...]) -> AfterValidator:
    def check(url: str) -> str:
        try:
            parts = urlsplit(url)
            usable = parts.scheme in schemes and (parts.scheme.endswith(("unix", "socket")) or bool(parts.hostname))
            usable = usable and parts.port != 0
        except ValueError:
            usable = False
        if not usable:  # what was given is not repeated: a password may be in it
            raise ValueError(
                f"expected a URL that begins with {'://, '.join(schemes)}://, with a host or a path; "
                "a password with special characters belongs into the setting for the password"
            )
        return url

    return AfterValidator(check)


def _if_given(check: Callable[[str], str]) -> AfterValidator:
    def checked(text: SecretStr) -> SecretStr:
        try:
            if text.get_secret_value():
                check(text.get_secret_value())
        except ValueError as error:
            raise ValueError(str(error).partition(", got ")[0]) from None
        return text

    return AfterValidator(checked)


_WEBHOOK_SECRET: Final = _if_given(check_secret)
_WEBHOOK_URL: Final = _if_given(check_webhook_url)


class Settings(BaseSettings):
    """What a process needs to know about its surroundings."""

    model_config = SettingsConfigDict(env_prefix="JQUEUER_", frozen=True, extra="ignore", hide_input_in_errors=True)

    store_url: Annotated[str, _url_of(_STORES)] = Field(
        default="redis://localhost:6379/0", repr=False, description="Redis or Valkey that holds the truth"
    )
    broker_url: Annotated[str, _url_of(_BROKERS)] = Field(
        default="redis://localhost:6379/1", repr=False, description="Celery's broker: amqp:// or redis://"
    )
    state_dir: Path = Field(default=Path(".jqueuer"), description="Logs, inputs, outputs, container directories")
    host: str = Field(default="127.0.0.1", description="Address the manager listens on")
    port: int = Field(default=8081, ge=0, le=65_535, description="Port the manager listens on")
    engine: Literal["local", "docker"] = Field(
        default="local", description="Containers: processes of this machine, or those of the Docker Swarm"
    )
    node: str = Field(default="", description="This node's name; the host name where empty")
    statsd_host: str = Field(default="", description="Where agents send events; nowhere where empty")
    statsd_port: int = Field(default=8125, ge=1, le=65_535, description="UDP port of statsd")

    lease_seconds: Duration = Field(
        default=30.0, gt=0, description="A job without a heartbeat for so long is re-queued"
    )
    heartbeat_seconds: Duration = Field(default=2.0, gt=0, description="How often a running job renews its lease")
    control_seconds: Duration = Field(default=0.5, gt=0, description="Pause between two looks at an experiment")
    updater_seconds: Duration = Field(default=0.1, gt=0, description="Pause between two looks for containers")
    watchdog_seconds: Duration = Field(
        default=30.0, gt=0, description="Jobs that wait so long before idle containers are published anew"
    )
    max_lost_attempts: int = Field(default=5, ge=1, description="A job that loses its container so often fails")

    manager_url: str = Field(
        default="", description="Where agents bring logs and outputs; into the state directory where empty"
    )
    store_password: SecretStr = Field(default=SecretStr(""), description="Password of the store, added to its URL")
    broker_password: SecretStr = Field(default=SecretStr(""), description="Password of the broker, added to its URL")
    agent_token: SecretStr = Field(
        default=SecretStr(""),
        description="What agents show the manager, and it asks for; job messages are signed with a key made of it",
    )
    admin_token: SecretStr = Field(
        default=SecretStr(""), description="The first administrator's token; others are made with `jqueuer token add`"
    )
    metrics_token: SecretStr = Field(
        default=SecretStr(""), description="A token that opens `/metrics` alone; Prometheus shows it"
    )
    authentication: Literal["tokens", "none"] = Field(
        default="tokens", description="Who may use the API: who shows a token, or, with none, whoever reaches the port"
    )
    max_refused_logins: int = Field(
        default=20, ge=1, description="Wrong tokens an address may show in a minute before it has to wait"
    )
    session_seconds: Duration = Field(
        default=43_200.0, gt=0, description="A browser that has logged in and is not used for so long is logged out"
    )
    tls_certificate: Path | None = Field(
        default=None, description="Certificate chain (PEM) the manager shows; with it, it speaks HTTPS only"
    )
    tls_key: Path | None = Field(default=None, description="Private key (PEM) of that certificate")
    ca_file: Path | None = Field(
        default=None,
        description="Certificates (PEM) by which the other end of https://, rediss:// and amqps:// is known",
    )

    webhook_secret: Annotated[SecretStr, _WEBHOOK_SECRET] = Field(
        default=SecretStr(""), description="Webhooks are signed with it; without one nobody is notified"
    )
    webhook_url: Annotated[SecretStr, _WEBHOOK_URL] = Field(
        default=SecretStr(""), description="Told how every experiment ends, and of every deadline at risk"
    )

    docker_url: str = Field(default="unix:///var/run/docker.sock", description="The Docker engine of this node")
    runner: Literal["resident", "exec"] = Field(
        default="resident", description="Commands in containers: by a resident shell, or one exec each"
    )
    drain_seconds: Duration = Field(
        default=86_400.0, gt=0, description="How long a container that is no longer wanted may finish its job"
    )
    allowed_mounts: tuple[str, ...] = Field(
        default=(),
        description="Directories and volumes that experiments may mount, each exactly as named, as a JSON list",
    )
    allowed_networks: tuple[str, ...] = Field(
        default=(), description="Networks that experiments may join, as a JSON list"
    )
    allowed_images: tuple[str, ...] = Field(
        default=("*",), description="Images that experiments may run, as shell patterns in a JSON list"
    )
    allowed_urls: tuple[str, ...] = Field(
        default=("*",),
        description="URLs that experiments may name (`notify`, `policy.url`), as shell patterns in a JSON list",
    )
    registry_auth_file: Path | None = Field(
        default=None, description="Docker's config.json with credentials of private registries"
    )

    max_body_bytes: ByteSize = Field(default=20_000_000, ge=1, description="Largest request body, streamed ones too")
    max_input_bytes: ByteSize = Field(default=1_073_741_824, ge=1, description="Largest input file")
    max_jobs: int = Field(default=1_000_000, ge=1, description="Most jobs in one experiment")
    max_experiments_per_user: int = Field(default=1000, ge=1, description="Experiments of one user that have not ended")
    max_open_requests: int = Field(
        default=256, ge=16, description="Requests the manager has begun or that wait; more are told to come again"
    )
    max_concurrent_jobs: int = Field(
        default=256, ge=1, description="Jobs that one agent runs at once; containers beyond it wait with theirs"
    )
    max_log_bytes: ByteSize = Field(default=1_048_576, ge=1024, description="Kept of each captured stream")
    max_output_bytes: ByteSize = Field(default=1_073_741_824, ge=0, description="Outputs kept per job")
    max_output_files: int = Field(default=1000, ge=0, description="Output files kept per job")

    retention_seconds: Duration = Field(default=30 * 86_400.0, gt=0, description="How long ended experiments are kept")
    journal_entries: int = Field(default=5000, ge=10, description="Decisions kept per experiment")

    @property
    def full_store_url(self) -> str:
        """The store's URL with its password."""
        return _with_password(self.store_url, self.store_password)

    @property
    def full_broker_url(self) -> str:
        """The broker's URL with its password."""
        return _with_password(self.broker_url, self.broker_password)


def _with_password(url: str, password: SecretStr) -> str:
    parts = urlsplit(url)
    if not password.get_secret_value() or parts.password is not None:
        return url
    address = parts.netloc.rpartition("@")[2]
    user = quote(parts.username or "", safe="")
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password.get_secret_value(), safe='')}@{address}"))


def load_settings() -> Settings:
    """The settings from the environment; :class:`~jqueuer.errors.SettingsError` names every one that is wrong.

    A setting that is not there is looked for among Docker's secrets, in a file of its name in lower case.
    """
    try:
        return Settings(_secrets_dir=_SECRETS if _SECRETS.is_dir() else None)
    except ValidationError as error:
        wrong = "; ".join(
            f"JQUEUER_{'_'.join(str(part) for part in fault['loc']).upper()}: {fault['msg'].removeprefix(_OF_PYDANTIC)}"
            for fault in error.errors()
        )
        raise SettingsError(f"wrong settings: {wrong}") from None
