"""An experiment in the browser: from its submission to its end, and what is done to it on the way."""

from __future__ import annotations

from tests.browser.chromium import Browser
from tests.browser.descriptions import LONG, MIXED, TALKATIVE
from tests.embedded.running import System


def test_an_experiment_is_submitted_and_watched_to_its_end_without_loading_the_page_again(
    browser: Browser, system: System
) -> None:
    browser.open("/submit")
    browser.paste("#description", MIXED)
    browser.see("20 jobs", "#check")
    browser.click("#submit")

    browser.see("town sizes", "h1")
    browser.driver.execute_script("window.stillTheSamePage = true")
    browser.see("It failed.", ".verdict")
    browser.see("2 failed jobs", ".wrong")
    browser.find('.verdict [role=img][aria-label="20 jobs: 18 accomplished, 2 failed"]')
    assert browser.driver.execute_script("return window.stillTheSamePage")
    browser.find(".uplot canvas")
    browser.find(".timeline canvas")
    browser.find(".histogram li")


def test_the_stderr_of_a_failed_job_is_one_click_away_and_text_only(browser: Browser, system: System) -> None:
    experiment_id = system.submit(MIXED)
    system.api.wait(experiment_id, poll_seconds=0.05)
    browser.open(f"/experiments/{experiment_id}")

    browser.click(".wrong a", "stderr")

    browser.see("ValueError: <b>nobody</b> lives in small", ".log")
    assert browser.path == f"/experiments/{experiment_id}/jobs/small-7#stderr"
    browser.see("exit code 3")


def test_what_a_job_prints_is_shown_while_it_runs(browser: Browser, system: System) -> None:
    experiment_id = system.submit(TALKATIVE)
    browser.open(f"/experiments/{experiment_id}/jobs/talker#stdout")

    browser.see("line 3\n", ".log")
    browser.see("line 12\n", ".log")
    text = browser.find(".log").text.split("\n")
    numbers = [int(line.removeprefix("line ")) for line in text if line]
    assert numbers == list(range(1, len(numbers) + 1)), "every line once, in order"
    system.api.cancel(experiment_id)


def test_jobs_are_found_by_state_and_by_a_part_of_their_id(browser: Browser, system: System) -> None:
    experiment_id = system.submit(MIXED)
    system.api.wait(experiment_id, poll_seconds=0.05)
    browser.open(f"/experiments/{experiment_id}?state=failed")
    browser.see("1–2 of 2", "#jobs")

    browser.fill("#jobs input[type=search]", "large")

    browser.see("1–1 of 1", "#jobs")
    browser.see("large-7", "#jobs table")


def test_an_experiment_is_cancelled_only_after_a_question(browser: Browser, system: System) -> None:
    experiment_id = system.submit(LONG)
    browser.open(f"/experiments/{experiment_id}")
    browser.click('[aria-label="Commands"] button', "Cancel")
    browser.see("Cancel it?", "dialog")
    browser.click("dialog button", "Back")
    assert system.api.experiment(experiment_id)["state"] == "running"

    browser.click('[aria-label="Commands"] button', "Cancel")
    browser.click("dialog button", "Cancel the experiment")

    browser.see("It was cancelled.", ".verdict")
    assert system.api.experiment(experiment_id)["state"] == "cancelled"


def test_a_deadline_is_changed_and_a_wrong_one_explained(browser: Browser, system: System) -> None:
    experiment_id = system.submit(LONG)
    before = system.api.experiment(experiment_id)
    browser.open(f"/experiments/{experiment_id}")
    browser.click('[aria-label="Commands"] button', "Change deadline")
    browser.fill("#change-deadline", "tomorrow")
    browser.click("dialog button", "Change")
    browser.see("deadline", "dialog [role=alert]")

    browser.fill("#change-deadline", "5h")
    browser.click("dialog button", "Change")

    browser.wait(lambda: not browser.driver.find_elements("css selector", "dialog"), "the dialog closes")
    after = system.api.experiment(experiment_id)
    assert after["deadline_at"] - before["created_at"] == 5 * 3600
    browser.see("4h 59m left", ".verdict")
    system.api.cancel(experiment_id)


def test_an_experiment_is_paused_and_resumed(browser: Browser, system: System) -> None:
    experiment_id = system.submit(LONG)
    browser.open(f"/experiments/{experiment_id}")
    browser.click('[aria-label="Commands"] button', "Pause")
    browser.click("dialog button", "Pause")
    browser.see("It is paused.", ".verdict")

    browser.click('[aria-label="Commands"] button', "Resume")

    browser.wait(lambda: system.api.experiment(experiment_id)["state"] == "running", "it runs again")
    browser.find('[aria-label="Commands"] button', "Pause")
    system.api.cancel(experiment_id)


def test_failed_jobs_are_retried(browser: Browser, system: System) -> None:
    experiment_id = system.submit(MIXED)
    system.api.wait(experiment_id, poll_seconds=0.05)
    browser.open(f"/experiments/{experiment_id}")
    browser.click('[aria-label="Commands"] button', "Retry failed")
    browser.click("dialog button", "Retry")

    browser.wait(lambda: len(system.attempts(experiment_id, "small-7")) == 2, "the failed job has a second attempt")


def test_the_list_follows_what_is_submitted_meanwhile(browser: Browser, system: System) -> None:
    browser.open("/")
    browser.see("Experiments", "h1")
    experiment_id = system.submit("name: a newcomer\njobs: [{command: ['true']}]")

    browser.see("a newcomer", "main")

    browser.click("main a", "a newcomer")
    browser.see("a newcomer", "h1")
    assert browser.path == f"/experiments/{experiment_id}"


def test_the_list_says_whether_what_runs_makes_it(browser: Browser, system: System) -> None:
    experiment_id = system.submit(LONG)
    browser.open("/")

    browser.find("table.experiments tr", "makes it")

    system.api.cancel(experiment_id)
    browser.wait(
        lambda: "makes it" not in browser.find("table.experiments tr", "long night").text,
        "what has ended has no forecast",
    )


def test_many_windows_of_one_browser_are_all_served(browser: Browser, system: System) -> None:
    """A browser keeps six connections to a manager, and a stream holds one."""
    experiment_id = system.submit(LONG)
    for _ in range(8):
        browser.driver.switch_to.new_window("window")
        browser.open(f"/experiments/{experiment_id}")
        browser.find("#jobs tbody tr")
    system.api.cancel(experiment_id)
    browser.see("It was cancelled.", ".verdict")


def test_a_page_that_was_open_before_the_first_job_draws_what_comes(browser: Browser, system: System) -> None:
    experiment_id = system.submit(MIXED)
    system.api.pause(experiment_id)
    browser.open(f"/experiments/{experiment_id}")
    browser.find(".timeline")
    system.api.resume(experiment_id)

    browser.see("It failed.", ".verdict")
    drawn = (
        "const canvas = document.querySelector('.timeline canvas');"
        "const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
        "return pixels.some((value) => value !== 0)"
    )
    browser.wait(lambda: browser.driver.execute_script(drawn), "the timeline is drawn")
