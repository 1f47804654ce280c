from hypothesis import given, settings

from jqueuer.descriptor import dump_description, read_description
from jqueuer.model import Experiment, Job
from tests import strategies


@given(strategies.experiments, strategies.job_lists)
@settings(max_examples=50, deadline=None)
def test_parsing_what_is_printed_gives_what_was_parsed(experiment: Experiment, jobs: list[Job]) -> None:
    description = read_description(dump_description(experiment, jobs).encode())
    assert (description.experiment, list(description.jobs)) == (experiment, jobs)
    assert (description.dialect, description.count) == ("native", len(jobs))


def test_what_is_printed_is_short_and_readable() -> None:
    jobs = [Job.model_validate({"id": "a", "command": ["echo", "yes", "1e3", "<<"], "timeout": 90})]
    assert dump_description(Experiment(name="x", deadline=5400.0), jobs) == (
        "name: x\n"
        "deadline: 1h30m\n"
        "jobs:\n"
        "- id: a\n"
        "  command:\n"
        "  - echo\n"
        "  - 'yes'\n"
        '  - "1e3"\n'
        '  - "<<"\n'
        "  timeout: 1m30s\n"
    )
