import math
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jqueuer.descriptor import Description, inline_files, read_description
from jqueuer.descriptor.printing import to_yaml
from jqueuer.errors import DescriptionError
from jqueuer.model import InputFile, Job, Shell, Task
from tests.strategies import scalars

DATA = Path(__file__).parents[2] / "data" / "native"
JOB = "job: {command: [run, '{{x}}']}"


def sweep(text: str, base: Path | None = None) -> Description:
    return read_description(f"sweep:\n  {text}".encode(), base=base)


def values_of(parameter: str) -> list[object]:
    return [job.parameters["x"] for job in sweep(f"{{parameters: {{x: {parameter}}}, {JOB}}}").jobs]


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("{from: 0.1, to: 0.9, step: 0.1}", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
        ("{from: 1, to: 7, step: 3}", [1, 4, 7]),
        ("{from: 1, to: 8, step: 3}", [1, 4, 7]),
        ("{from: 3, to: 1, step: -1}", [3, 2, 1]),
        ("{from: 1, to: 2, step: 0.5}", [1.0, 1.5, 2.0]),
        ("{from: 2, to: 2, step: 1}", [2]),
        ("{from: 0, to: 1, count: 3}", [0.0, 0.5, 1.0]),
        ("{from: 0, to: 100, count: 5}", [0, 25, 50, 75, 100]),
        ("{from: 1, to: 1000, count: 4, scale: log}", [1, 10, 100, 1000]),
        ("{from: 1.0, to: 0.001, count: 4, scale: log}", [1.0, 0.1, 0.01, 0.001]),
        ("{from: 1e-300, to: 1e300, count: 3, scale: log}", [1e-300, 1.0, 1e300]),
        ("[1, 0.5, true, text]", [1, 0.5, True, "text"]),
    ],
)
def test_ranges_are_clean_and_include_both_ends(parameter: str, values: list[object]) -> None:
    assert values_of(parameter) == values
    assert [type(value) for value in values_of(parameter)] == [type(value) for value in values]


@given(st.integers(-1000, 1000), st.integers(0, 50), st.integers(1, 400))
def test_a_range_by_steps_has_the_decimals_a_person_would_write(start: int, count: int, step: int) -> None:
    """Counted in hundredths, so that the expected numbers need no arithmetic on floats."""
    written = [f"{(start + index * step) / 100:.2f}" for index in range(count + 1)]
    found = values_of(f"{{from: {written[0]}, to: {written[-1]}, step: {step / 100:.2f}}}")
    assert found == [float(number) for number in written]


parameter_sets = st.dictionaries(
    st.from_regex(r"\A[a-z]{1,6}\Z").filter(lambda name: name not in ("index", "repeat")),
    st.lists(scalars, min_size=1, max_size=4),
    min_size=1,
    max_size=3,
)


@given(parameter_sets, st.none() | st.integers(1, 3))
def test_a_grid_has_as_many_jobs_as_the_product_of_its_parameters(
    parameters: dict[str, list[object]], repeat: int
) -> None:
    text = {"sweep": {"parameters": parameters, "job": {"command": ["x"]}} | ({"repeat": repeat} if repeat else {})}
    description = read_description(to_yaml(text).encode())
    assert description.count == math.prod(len(values) for values in parameters.values()) * (repeat or 1)
    jobs = list(description.jobs)
    assert len(jobs) == len({job.id for job in jobs}) == description.count
    for job in jobs:
        assert all(job.parameters[name] in values for name, values in parameters.items())


@given(parameter_sets)
def test_every_job_of_a_sweep_is_a_valid_one(parameters: dict[str, list[object]]) -> None:
    """Jobs are made without validation; validating them must change nothing."""
    names = list(parameters)
    job = {
        "id": "j{{index}}",
        "command": ["run", *(f"{{{{{name}}}}}" for name in names)],
        "environment": {"X": "{{" + names[0] + "}}"},
        "inputs": ["in-{{index}}"],
        "post_job": {"shell": "echo {{ " + names[-1] + " }}"},
    }
    description = read_description(to_yaml({"sweep": {"parameters": parameters, "job": job}}).encode())
    for made in description.jobs:
        assert Job.model_validate(made.model_dump()) == made
        assert Job.model_validate_json(made.model_dump_json(exclude_defaults=True)) == made


def test_placeholders_are_filled_in_everywhere_and_nothing_else_is_touched() -> None:
    (job,) = sweep(
        """{parameters: {x: [1.10], name: [a b]}, job: {
          id: '{{x}}-{{index}}',
          tasks: [
            [run, '--x={{ x }}', '{{.State}}', '{{x }} {{name}} {x} 100%s', '{{}}'],
            {shell: 'echo {{name}}', timeout: 5}],
          pre_job: [a, '{{x}}'],
          post_job: {shell: 'rm {{x}}'},
          environment: {X: '{{x}}', Y: plain},
          inputs: [{path: 'p{{x}}', source: 's{{x}}'}, q],
          outputs: ['o/{{x}}/*']}}"""
    ).jobs
    assert job == Job(
        id="1.10-1",
        tasks=(
            Task(command=("run", "--x=1.10", "{{.State}}", "1.10 a b {x} 100%s", "{{}}")),
            Task(command=Shell(shell="echo a b"), timeout=5.0),
        ),
        pre_job=("a", "1.10"),
        post_job=Shell(shell="rm 1.10"),
        environment={"X": "1.10", "Y": "plain"},
        inputs=(InputFile(path="p1.10", source="s1.10"), InputFile(path="q")),
        outputs=("o/1.10/*",),
        parameters={"x": 1.1, "name": "a b"},
    )


def test_a_grid_changes_its_last_parameter_fastest_and_repetitions_faster_still() -> None:
    description = sweep(
        "{parameters: {x: [1, 2], y: [a, b]}, repeat: 2, job: {id: '{{x}}{{y}}{{repeat}}', command: [x]}}"
    )
    assert [job.id for job in description.jobs] == ["1a1", "1a2", "1b1", "1b2", "2a1", "2a2", "2b1", "2b2"]


def test_zip_takes_values_side_by_side() -> None:
    text = (
        "{parameters: {x: [1, 2], y: [a, b]}, combine: zip, repeat: 2, job: {id: '{{x}}{{y}}{{repeat}}', command: [x]}}"
    )
    assert [job.id for job in sweep(text).jobs] == ["1a1", "1a2", "2b1", "2b2"]


def test_repetitions_alone_are_a_sweep() -> None:
    description = sweep("{repeat: 12, job: {command: [run, --seed, '{{repeat}}']}}")
    assert [job.id for job in description.jobs][::11] == ["01", "12"]


def test_ids_are_padded_to_one_width() -> None:
    description = sweep("{parameters: {x: {from: 1, to: 1000, step: 1}}, job: {command: [x]}}")
    assert [job.id for job in description.jobs][::999] == ["0001", "1000"]


def test_constants_of_the_template_join_the_parameters() -> None:
    (job,) = sweep("{parameters: {x: [1]}, job: {command: [x], parameters: {model: sir}}}").jobs
    assert job.parameters == {"model": "sir", "x": 1}
    with pytest.raises(DescriptionError, match="'x' is a parameter of the sweep already"):
        sweep("{parameters: {x: [1]}, job: {command: [x], parameters: {x: 2}}}")


def test_names_of_built_in_placeholders_cannot_be_parameters() -> None:
    with pytest.raises(DescriptionError, match="'index' is the number of the job already"):
        sweep("{parameters: {index: [1]}, job: {command: [x]}}")
    with pytest.raises(DescriptionError, match="'repeat' is the number of the repetition already"):
        sweep("{parameters: {repeat: [1]}, repeat: 2, job: {command: [x]}}")


def test_unknown_placeholders_come_with_a_suggestion() -> None:
    with pytest.raises(DescriptionError, match=r"unknown placeholder \{\{betta\}\}; did you mean 'beta'\?"):
        sweep("{parameters: {beta: [1]}, job: {command: [x, '{{betta}}']}}")


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{command: ['{{x}}']}", "in job 2 this is '': expected some text"),
        ("{command: {shell: '{{x}}'}}", "in job 2 this is '': expected some text"),
        ("{command: [x], inputs: ['/{{x}}']}", "in job 1 this is '/a'"),
        ("{command: [x], inputs: ['b/{{x}}{{x}}']}", "in job 3 this is 'b/..'"),
        ("{command: [x], id: '{{x}}'}", "in job 2 this is ''"),
    ],
)
def test_texts_are_checked_as_they_become(template: str, problem: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        sweep(f"{{parameters: {{x: [a, '', '.']}}, job: {template}}}")
    assert caught.value.faults[0].message.startswith(problem)


def test_columns_of_a_table_are_parameters_that_change_together() -> None:
    description = sweep(
        """{csv: {text: "virus,beta\\nflu,0.30\\n\\ncold,1\\n"}, parameters: {town: [a, b]},
        job: {id: '{{virus}}-{{town}}', command: [run, '{{beta}}']}}"""
    )
    assert [(job.id, job.tasks[0].command, job.parameters["beta"]) for job in description.jobs] == [
        ("flu-a", ("run", "0.30"), "0.30"),
        ("flu-b", ("run", "0.30"), "0.30"),
        ("cold-a", ("run", "1"), 1),
        ("cold-b", ("run", "1"), 1),
    ]


def test_a_table_is_read_from_the_folder_of_the_description(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("\ufeffx\n1\n2\n", "utf-8")
    text = f"{{csv: table.csv, {JOB}}}"
    assert [job.parameters["x"] for job in sweep(text, tmp_path).jobs] == [1, 2]
    with pytest.raises(DescriptionError, match="a file cannot be read here"):
        sweep(text)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot read table.csv: No such file"),
        (b"x\n\xff\n", "not valid UTF-8"),
        (b"", "a header and at least one row"),
        (b"x\n", "a header and at least one row"),
        (b"x,x\n1,2\n", "is a column of the table already"),
        (b"the x\n1\n", "cannot be a parameter"),
        (b"index\n1\n", "is the number of the job already"),
        (b'x\n"1\n', "line 2 of the table"),
        (b"x\n1\x00\n", "NUL"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(tmp_path: Path, content: bytes | None, problem: str) -> None:
    if content is not None:
        (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(DescriptionError, match=problem):
        sweep(f"{{csv: table.csv, {JOB}}}", tmp_path)


def test_a_description_can_be_sent_with_its_table(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text('x\n"a, ""b"""\n', "utf-8")
    for csv in ("table.csv", "{path: table.csv}"):
        data = f"deadline: 1.50h\nsweep: {{csv: {csv}, job: {{command: [run, 1.10, '{{{{x}}}}']}}}}".encode()
        sent, here = read_description(inline_files(data, tmp_path)), read_description(data, base=tmp_path)
        assert (sent.experiment, list(sent.jobs)) == (here.experiment, list(here.jobs))
        assert next(iter(sent.jobs)).tasks[0].command == ("run", "1.10", 'a, "b"')


def test_a_description_without_a_table_is_sent_as_it_is(tmp_path: Path) -> None:
    for data in ((DATA / "list.yaml").read_bytes(), (DATA / "sweep.yaml").read_bytes()):
        assert inline_files(data, tmp_path) is data
    with pytest.raises(DescriptionError, match=r"line 2: sweep\.csv: cannot read none\.csv"):
        inline_files(b"sweep:\n  csv: none.csv\n", tmp_path)


def test_a_hundred_thousand_jobs_are_ten_lines() -> None:
    description = sweep(
        "{parameters: {x: {from: 1, to: 100000, step: 1}}, job: {id: 'j{{x}}', command: [run, '{{x}}']}}"
    )
    assert description.count == 100_000
    last = deque(description.jobs, maxlen=1).pop()
    assert last == Job(id="j100000", tasks=(Task(command=("run", "100000")),), parameters={"x": 100_000})
