"""What was counted and observed, kept until nobody adds to it any more, and shown to Prometheus."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from jqueuer.statsd_bridge.lines import Kind, Sample
from jqueuer.statsd_bridge.mapping import Mapping


@dataclass
class _Series:
    changed_at: float
    ttl: float
    value: float = 0.0
    """The count, the gauge, or the sum of what was observed."""
    buckets: list[int] = field(default_factory=list)

    def over(self, now: float) -> bool:
        return 0 < self.ttl < now - self.changed_at


@dataclass
class _Family:
    kind: Kind
    help: str
    labels: tuple[str, ...]
    bounds: tuple[float, ...]
    series: dict[tuple[str, ...], _Series] = field(default_factory=dict)


class SeriesCollector(Collector):
    """Takes samples from one thread, and shows them to another."""

    def __init__(self, mapping: Mapping, clock: Callable[[], float] = time.monotonic) -> None:
        self._mapping = mapping
        self._clock = clock
        self._families: dict[str, _Family] = {}
        self._lock = threading.Lock()

    def add(self, sample: Sample) -> None:
        """Count a sample where the mapping says; one of another kind than its family has is left out."""
        found = self._mapping.find(sample.name, sample.kind)
        if found is None:
            return
        rule, labels = found
        bounds = self._mapping.buckets(rule)
        with self._lock:
            family = self._families.setdefault(
                rule.name, _Family(sample.kind, rule.help, tuple(sorted(labels)), bounds)
            )
            if (family.kind, family.labels) != (sample.kind, tuple(sorted(labels))):
                return
            now, key = self._clock(), tuple(labels[label] for label in family.labels)
            series = family.series.get(key)
            if series is None or series.over(now):
                series = _Series(now, 0.0, buckets=[0] * (len(family.bounds) + 1))
                family.series[key] = series
            series.changed_at, series.ttl = now, self._mapping.ttl(rule)
            _count(series, family, sample)

    def collect(self) -> Iterable[Metric]:
        """Every family with the series that are still fresh."""
        with self._lock:
            now = self._clock()
            for family in self._families.values():
                family.series = {key: series for key, series in family.series.items() if not series.over(now)}
            return [_metric(name, family) for name, family in self._families.items() if family.series]


def _count(series: _Series, family: _Family, sample: Sample) -> None:
    if sample.kind is Kind.OBSERVER:
        series.buckets[bisect_left(family.bounds, sample.value)] += sample.times
        series.value += sample.value * sample.times
    elif sample.kind is Kind.GAUGE and not sample.relative:
        series.value = sample.value
    else:
        series.value += sample.value


def _metric(name: str, family: _Family) -> Metric:
    if family.kind is Kind.OBSERVER:
        bounds = [*(_bound(bound) for bound in family.bounds), "+Inf"]
        histogram = HistogramMetricFamily(name, family.help, labels=family.labels)
        for key, series in family.series.items():
            counts = accumulate(series.buckets)
            histogram.add_metric(key, list(zip(bounds, counts, strict=True)), series.value)
        return histogram
    kind = CounterMetricFamily if family.kind is Kind.COUNTER else GaugeMetricFamily
    metric = kind(name, family.help, labels=family.labels)
    for key, series in family.series.items():
        metric.add_metric(key, series.value)
    return metric


def _bound(bound: float) -> str:
    """As the official exporter writes it: 1, not 1.0."""
    short = f"{bound:g}"
    return short if float(short) == bound else repr(bound)
