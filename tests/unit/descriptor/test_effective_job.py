from hypothesis import given

from jqueuer.model import Experiment, InputFile, Job, Shell, Task, effective_job
from tests import strategies

JOB = Job(id="a", tasks=(Task(command=("x",)), Task(command=("y",), timeout=5.0)))


def test_a_job_takes_over_the_defaults_of_its_experiment() -> None:
    experiment = Experiment(
        pre_job=("make", "ready"),
        post_job=Shell(shell="rm *"),
        timeout=60.0,
        environment={"A": "1", "B": "1"},
        inputs=(InputFile(path="common"),),
        outputs=("log",),
    )
    job = JOB.model_copy(update={"environment": {"B": "2"}, "inputs": (InputFile(path="own"),), "outputs": ("result",)})
    assert effective_job(experiment, job) == Job(
        id="a",
        tasks=(Task(command=("x",), timeout=60.0), Task(command=("y",), timeout=5.0)),
        pre_job=("make", "ready"),
        post_job=Shell(shell="rm *"),
        environment={"A": "1", "B": "2"},
        inputs=(InputFile(path="common"), InputFile(path="own")),
        outputs=("log", "result"),
    )


def test_the_commands_of_a_job_win() -> None:
    experiment = Experiment(pre_job=("theirs",), post_job=("theirs",))
    job = JOB.model_copy(update={"pre_job": ("own",), "post_job": ("own",)})
    assert effective_job(experiment, job) == job


def test_without_defaults_it_is_the_job_itself() -> None:
    assert effective_job(Experiment(), JOB) is JOB


@given(strategies.experiments, strategies.jobs())
def test_nothing_a_job_says_is_lost(experiment: Experiment, job: Job) -> None:
    effective = effective_job(experiment, job)
    assert effective.environment.items() >= job.environment.items()
    assert effective.inputs[len(experiment.inputs) :] == job.inputs
    assert effective.outputs[len(experiment.outputs) :] == job.outputs
    assert [task.command for task in effective.tasks] == [task.command for task in job.tasks]
    assert (effective.id, effective.parameters) == (job.id, job.parameters)


@given(strategies.experiments, strategies.jobs())
def test_experiments_and_jobs_survive_the_store(experiment: Experiment, job: Job) -> None:
    """Both ways the store writes them: in full, and without what is at its default."""
    for value in (experiment, job):
        for text in (value.model_dump_json(), value.model_dump_json(exclude_defaults=True)):
            assert type(value).model_validate_json(text) == value
