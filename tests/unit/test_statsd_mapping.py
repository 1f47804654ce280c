"""The project's mapping, and what the bridge understands of the language of such files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jqueuer.errors import SettingsError
from jqueuer.statsd_bridge.lines import Kind, Sample, parse
from jqueuer.statsd_bridge.mapping import load
from jqueuer.statsd_bridge.series import SeriesCollector
from tests.metrics_parts import MAPPING

DROP = "- {match: ., match_type: regex, action: drop, name: dropped}"
DEFAULTS = "defaults: {observer_type: histogram, histogram_options: {buckets: [1]}, ttl: 60s}"


def shown(series: SeriesCollector) -> dict[tuple[str, ...], float]:
    """Every sample by its name and label values."""
    return {
        (sample.name, *sample.labels.values()): sample.value for metric in series.collect() for sample in metric.samples
    }


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "mapping.yml"


def test_names_have_base_units_and_only_bounded_labels() -> None:
    mapping = load(MAPPING)
    for rule in mapping.mappings[:-1]:
        assert rule.match.startswith("jqueuer.")
        assert set(rule.labels) <= {"experiment", "outcome", "node", "phase"}
        assert rule.name.endswith("_total" if rule.match_metric_type is Kind.COUNTER else "_seconds")
        assert rule.help
        assert mapping.ttl(rule) == (3600 if set(rule.labels) == {"node"} else 86_400)


def test_the_mapping_keeps_to_what_the_official_exporter_accepts() -> None:
    """Its own expressions for matches, metric names and labels."""
    part = r"[a-zA-Z_](-?[a-zA-Z0-9_])*"
    for rule in load(MAPPING).mappings:
        assert rule.match_type == "regex" or re.fullmatch(rf"(\*\.|{part}\.)+(\*|{part})", rule.match)
        assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", rule.name)
        assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]+", label) for label in rule.labels)
        assert len(set(re.findall(r"\$([0-9])", "".join(rule.labels.values())))) == rule.match.count("*")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("defaults: {}\nmappings: []", "observer_type"),
        (f"{DEFAULTS}\nmappings: []", "the last rule must drop"),
        (f"{DEFAULTS}\nmappings:\n- {{match: a.*, name: a, quantiles: []}}\n{DROP}", "quantiles"),
        (f"{DEFAULTS}\nmappings:\n- {{match: a.*, name: a, match_metric_type: set}}\n{DROP}", "match_metric_type"),
        ("[", "cannot read"),
    ],
)
def test_what_the_bridge_does_not_understand_is_refused_by_name(written: Path, text: str, words: str) -> None:
    written.write_text(text)
    with pytest.raises(SettingsError, match=words):
        load(written)


def test_a_star_is_one_part_of_a_name_and_the_first_rule_wins(written: Path) -> None:
    rules = [
        '{match: a.b.*, name: first_total, labels: {what: "$1"}}',
        '{match: "a.*.*", name: second_total, labels: {what: "${2}-$1"}}',
    ]
    written.write_text("\n".join([DEFAULTS, "mappings:", DROP, *(f"- {rule}" for rule in rules), DROP]))
    series = SeriesCollector(load(written))
    for name in ("a.b.c", "a.x.y", "a.b", "a.b.c.d", "xa.b.c"):
        series.add(Sample(name, Kind.COUNTER, 1))
    assert shown(series) == {("first_total", "c"): 1, ("second_total", "y-x"): 1}


def test_a_metric_keeps_its_first_kind(written: Path) -> None:
    written.write_text(f"{DEFAULTS}\nmappings:\n- {{match: a.*, name: a_total}}\n{DROP}")
    series = SeriesCollector(load(written))
    series.add(Sample("a.b", Kind.COUNTER, 1))
    series.add(Sample("a.b", Kind.OBSERVER, 1))
    assert shown(series) == {("a_total",): 1}


def test_gauges_are_set_or_changed(written: Path) -> None:
    written.write_text(f"{DEFAULTS}\nmappings:\n- {{match: a.*, name: a_now}}\n{DROP}")
    series = SeriesCollector(load(written))
    for sample in parse(b"a.b:7|g\na.b:5|g\na.b:+2|g\na.b:-1|g"):
        series.add(sample)
    assert shown(series) == {("a_now",): 6}


def test_series_nobody_adds_to_are_forgotten(written: Path) -> None:
    written.write_text(f'{DEFAULTS}\nmappings:\n- {{match: a.*, name: a_total, labels: {{what: "$1"}}}}\n{DROP}')
    now = 0.0
    series = SeriesCollector(load(written), clock=lambda: now)
    for what in ("old", "lively"):
        series.add(Sample(f"a.{what}", Kind.COUNTER, 1))
    now = 50.0
    series.add(Sample("a.lively", Kind.COUNTER, 1))
    now = 70.0
    assert shown(series) == {("a_total", "lively"): 2}
    now = 200.0
    series.add(Sample("a.lively", Kind.COUNTER, 1))
    assert shown(series) == {("a_total", "lively"): 1}
    now = 300.0
    assert shown(series) == {}


def test_a_mapping_of_metrics_that_never_expire(written: Path) -> None:
    eternal = DEFAULTS.replace("60s", "0s")
    written.write_text(f"{eternal}\nmappings:\n- {{match: a.*, name: a_total}}\n{DROP}")
    now = 0.0
    series = SeriesCollector(load(written), clock=lambda: now)
    series.add(Sample("a.b", Kind.COUNTER, 1))
    now = 1e9
    assert shown(series) == {("a_total",): 1}


@pytest.mark.parametrize(
    ("line", "sample"),
    [
        ("a:1|c", Sample("a", Kind.COUNTER, 1)),
        ("a:3|c|@0.1", Sample("a", Kind.COUNTER, 30)),
        ("a:250|ms", Sample("a", Kind.OBSERVER, 0.25)),
        ("a:2|h|@0.5", Sample("a", Kind.OBSERVER, 2, times=2)),
        ("a:2|d", Sample("a", Kind.OBSERVER, 2)),
        ("a:7|g", Sample("a", Kind.GAUGE, 7)),
        ("a:-7|g", Sample("a", Kind.GAUGE, -7, relative=True)),
    ],
)
def test_lines_are_read_as_the_official_exporter_reads_them(line: str, sample: Sample) -> None:
    assert list(parse(line.encode())) == [sample]


@pytest.mark.parametrize(
    "line", ["", "a", "a:", ":1|c", "a:1", "a:x|c", "a:-1|c", "a:1|s", "a:nan|g", "a:1|c|@x", "a:1|c|@2", "a:1|c|@1|x"]
)
def test_what_is_no_sample_is_left_out_and_the_rest_is_not(line: str) -> None:
    assert list(parse(f"{line}\nb:1|c".encode())) == [Sample("b", Kind.COUNTER, 1)]
