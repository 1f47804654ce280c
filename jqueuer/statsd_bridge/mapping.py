"""The mapping file of the statsd exporter, as far as ours uses it: what a sample is called, and its labels."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from jqueuer.errors import SettingsError
from jqueuer.model import Frozen
from jqueuer.statsd_bridge.lines import Kind
from jqueuer.units import Duration

_CAPTURE = re.compile(r"\$\{?([0-9]+)\}?")


class HistogramOptions(Frozen):
    """How observations are counted."""

    buckets: tuple[float, ...]
    """Upper bounds; the one of infinity is added."""


class Defaults(Frozen):
    """What holds for every rule that does not say otherwise."""

    observer_type: Literal["histogram"]
    histogram_options: HistogramOptions
    ttl: Duration = 0.0
    """A series to which nothing was added for so long is forgotten; 0: never."""


class Rule(Frozen):
    """What becomes of the samples whose name matches."""

    match: str
    name: str
    help: str = ""
    match_type: Literal["glob", "regex"] = "glob"
    match_metric_type: Kind | None = None
    action: Literal["map", "drop"] = "map"
    labels: dict[str, str] = Field(default_factory=dict)
    histogram_options: HistogramOptions | None = None
    ttl: Duration | None = None

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The names it is for; a ``*`` stands for one part between dots."""
        if self.match_type == "regex":
            return re.compile(self.match)
        return re.compile(r"\A" + re.escape(self.match).replace(r"\*", "([^.]*)") + r"\Z")

    def labels_of(self, matched: re.Match[str]) -> dict[str, str]:
        """The labels of a sample with this name: ``$1`` is what the first ``*`` stood for."""
        return {
            label: _CAPTURE.sub(lambda capture: matched[int(capture[1])], template)
            for label, template in self.labels.items()
        }


class Mapping(Frozen):
    """The whole file."""

    defaults: Defaults
    mappings: tuple[Rule, ...]

    @model_validator(mode="after")
    def _the_rest_is_dropped(self) -> Self:
        last = self.mappings[-1] if self.mappings else None
        if last is None or (last.match, last.match_type, last.action) != (".", "regex", "drop"):
            raise ValueError("the last rule must drop what no other names (match: ., match_type: regex, action: drop)")
        return self

    def find(self, name: str, kind: Kind) -> tuple[Rule, dict[str, str]] | None:
        """The rule for a sample and its labels, or None where it is to be dropped."""
        for rule in self._in_order:
            matched = rule.pattern.search(name) if rule.match_metric_type in (None, kind) else None
            if matched is not None:
                return None if rule.action == "drop" else (rule, rule.labels_of(matched))
        return None

    @cached_property
    def _in_order(self) -> list[Rule]:
        """Globs come before regular expressions, wherever they stand."""
        return sorted(self.mappings, key=lambda rule: rule.match_type)

    def buckets(self, rule: Rule) -> tuple[float, ...]:
        """The upper bounds of a rule's histogram."""
        return (rule.histogram_options or self.defaults.histogram_options).buckets

    def ttl(self, rule: Rule) -> float:
        """After how many seconds a rule's series are forgotten; 0: never."""
        return self.defaults.ttl if rule.ttl is None else rule.ttl


def load(path: Path) -> Mapping:
    """The mapping in a file; :class:`~jqueuer.errors.SettingsError` says what is wrong with it."""
    try:
        return Mapping.model_validate(yaml.safe_load(path.read_text()))
    except (OSError, yaml.YAMLError) as error:
        raise SettingsError(f"cannot read the mapping {path}: {error}") from None
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors())
        raise SettingsError(f"the mapping {path} is not what this bridge understands: {faults}") from None
