"""What the page says in words, asked of its own modules in a real browser."""

from __future__ import annotations

from typing import Any

from jqueuer.descriptor import read_description
from tests.browser.chromium import Browser

NOW = 1_800_000_000.0


def call(browser: Browser, module: str, function: str, *arguments: Any) -> Any:
    """What a function of one of the page's modules returns."""
    if not browser.driver.current_url.startswith(browser.url):
        browser.open("/login")
    return browser.driver.execute_async_script(
        "const [module, name, values, done] = arguments;"
        "import(`/static/${module}`).then((found) => done(found[name](...values)), (error) => done(String(error)));",
        module,
        function,
        arguments,
    )


def experiment(**changes: Any) -> dict[str, Any]:
    forecast = {"finish_at": NOW + 60, "p95_at": NOW + 90, "probability": 0.97}
    plain = {
        "state": "running",
        "created_at": NOW - 100,
        "deadline_at": NOW + 120,
        "finished_at": None,
        "reason": "",
        "waits_for": "",
        "forecast": forecast,
    }
    return {**plain, **changes}


def with_chance(probability: float | None) -> dict[str, Any]:
    return {"forecast": {"finish_at": NOW + 60, "p95_at": NOW + 90, "probability": probability}}


VERDICTS = [
    ({}, "good", "Yes, it makes it."),
    (with_chance(0.85), "good", "Very probably."),
    (with_chance(0.7), "unsure", "Probably."),
    (with_chance(0.5), "unsure", "It could go either way."),
    (with_chance(0.2), "bad", "Probably not."),
    (with_chance(0.01), "bad", "No, not as it goes now."),
    ({"deadline_at": None, **with_chance(None)}, "plain", "Done in about 1m."),
    ({"deadline_at": NOW - 5}, "bad", "No: its deadline has passed."),
    ({"forecast": None}, "plain", "Too early to say."),
    ({"forecast": None, "waits_for": "an image to be pulled"}, "plain", "It waits."),
    ({"forecast": None, "state": "paused"}, "plain", "It is paused."),
    ({"forecast": None, "state": "finishing"}, "plain", "Nearly there."),
    ({"forecast": None, "state": "accomplished", "finished_at": NOW}, "good", "It made it."),
    ({"forecast": None, "state": "accomplished", "finished_at": NOW + 130}, "bad", "Done, but too late."),
    ({"forecast": None, "state": "accomplished", "finished_at": NOW, "deadline_at": None}, "good", "It is done."),
    ({"forecast": None, "state": "failed", "finished_at": NOW, "reason": "3 jobs failed"}, "bad", "It failed."),
    ({"forecast": None, "state": "cancelled", "finished_at": NOW}, "plain", "It was cancelled."),
]


def test_is_it_going_to_make_it(stranger: Browser) -> None:
    for changes, tone, answer in VERDICTS:
        said = call(stranger, "words.js", "verdict", experiment(**changes), NOW)
        assert (said["tone"], said["answer"]) == (tone, answer), changes
        assert said["because"], changes


def test_durations_sizes_and_chances_as_people_read_them(stranger: Browser) -> None:
    durations = {0.311: "0.31s", 4.2: "4.2s", 59.7: "1m", 61: "1m 1s", 3600: "1h", 5430: "1h 30m", 200_000: "2d 7h"}
    for seconds, text in durations.items():
        assert call(stranger, "format.js", "duration", seconds) == text
    assert call(stranger, "format.js", "duration", None) == "–"
    assert call(stranger, "format.js", "bytes", 1_440_000) == "1.4 MB"
    assert [call(stranger, "format.js", "percent", chance) for chance in (1, 0.972, 0)] == ["> 99 %", "97 %", "< 1 %"]


def test_what_is_typed_into_the_form_arrives_as_it_was_typed(stranger: Browser) -> None:
    for typed in ("plain", "true", "007", "a: b", 'with "quotes"', "# no comment", "1.10", "{braces}", "öäü"):
        form = {
            "name": "form",
            "image": "",
            "command": f"echo '{typed}' {{{{size}}}}",
            "deadline": "1h",
            "min": "1",
            "max": "2",
            "estimate": "5s",
            "attempts": "2",
            "outputs": "a.txt, b/*.csv",
            "parameters": [{"name": "size", "values": f"1, {typed}"}, {"name": "seed", "values": "1..3"}],
        }
        text = call(stranger, "pages/submit/description.js", "describe", form)

        jobs = list(read_description(text.encode()).jobs)
        commands = [getattr(job.tasks[0].command, "shell", None) for job in jobs]
        assert commands == [f"echo '{typed}' 1"] * 3 + [f"echo '{typed}' {typed}"] * 3
