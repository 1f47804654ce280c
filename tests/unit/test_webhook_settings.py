"""Settings of webhooks that cannot be meant are refused in words, without repeating what may be secret."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from jqueuer.errors import SettingsError
from jqueuer.notifying import new_secret
from jqueuer.settings import Settings, load_settings
from jqueuer_manager.notices import check_webhooks


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("WEBHOOK_SECRET", "hunter2", "expected whsec_ and then 24 to 64 random bytes in base64"),
        ("WEBHOOK_SECRET", "whsec_hunter2", "expected whsec_ and then 24 to 64 random bytes in base64"),
        ("WEBHOOK_URL", "ftp://hooks.example/hunter2", "expected a URL such as"),
        ("WEBHOOK_URL", "https://u:hunter2@hooks.example/", "a URL cannot hold a user or a password here"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(
    name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"JQUEUER_{name}", value)
    with pytest.raises(SettingsError, match=f"JQUEUER_{name}: {words}") as told:
        load_settings()
    assert "hunter2" not in str(told.value)


def test_empty_ones_are_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack's file passes them on whether they are set or not."""
    monkeypatch.setenv("JQUEUER_WEBHOOK_SECRET", "")
    monkeypatch.setenv("JQUEUER_WEBHOOK_URL", "")
    check_webhooks(load_settings())


def test_a_receiver_without_a_secret_to_sign_with_is_refused() -> None:
    url = SecretStr("https://hooks.example/")
    with pytest.raises(SettingsError, match="JQUEUER_WEBHOOK_URL needs JQUEUER_WEBHOOK_SECRET"):
        check_webhooks(Settings(webhook_url=url))
    check_webhooks(Settings(webhook_url=url, webhook_secret=SecretStr(new_secret())))
