"""An experiment that has ended is deleted by its page, after a question that says what is lost."""

from __future__ import annotations

import pytest

from jqueuer.client import ClientError
from tests.browser.chromium import Browser, Theme
from tests.browser.descriptions import LONG, MIXED
from tests.embedded.running import System

COMMANDS = '[aria-label="Commands"] button'


def ended(system: System) -> str:
    experiment_id = system.submit(MIXED)
    system.api.wait(experiment_id, poll_seconds=0.05)
    return experiment_id


def test_an_experiment_is_deleted_only_after_a_question_that_says_what_is_lost(
    browser: Browser, system: System
) -> None:
    experiment_id = ended(system)
    browser.open(f"/experiments/{experiment_id}")
    browser.click(COMMANDS, "Delete")
    browser.see("20 jobs with every attempt, what they printed, their outputs, and all decisions", "dialog")
    browser.click("dialog button", "Back")
    assert system.api.experiment(experiment_id)["state"] == "failed"

    browser.click(COMMANDS, "Delete")
    browser.click("dialog button", "Delete for good")

    browser.see("Experiments", "h1")
    assert browser.path == "/"
    with pytest.raises(ClientError) as refused:
        system.api.experiment(experiment_id)
    assert refused.value.status == 404
    browser.wait(
        lambda: not browser.driver.find_elements("css selector", f'a[href="/experiments/{experiment_id}"]'),
        "it is listed no more",
    )


def test_what_runs_cannot_be_deleted(browser: Browser, system: System) -> None:
    experiment_id = system.submit(LONG)
    browser.open(f"/experiments/{experiment_id}")
    browser.find(COMMANDS, "Cancel")
    buttons = browser.driver.find_elements("css selector", COMMANDS)
    assert not any("Delete" in button.text for button in buttons)

    system.api.cancel(experiment_id)
    browser.find(COMMANDS, "Delete")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_the_question(browser: Browser, system: System, theme: Theme) -> None:
    browser.open(f"/experiments/{ended(system)}")
    browser.choose_theme(theme)
    browser.click(COMMANDS, "Delete")
    browser.find("dialog p")
    assert browser.accessibility_faults() == []
