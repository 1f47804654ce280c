"""Printing a description: parsing what is printed gives what was printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from jqueuer.descriptor.events import MERGE_KEY
from jqueuer.descriptor.yamltext import plain_value
from jqueuer.kinds import WrittenFloat
from jqueuer.model import Experiment, Job


class _Dumper(yaml.SafeDumper):
    """Quotes every text that our reader, or a YAML 1.1 reader, would not take for text."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        # the emitter folds unusual line ends into ordinary ones unless it writes them as escapes
        safe = text.isprintable() and text != MERGE_KEY and isinstance(plain_value(text), str)
        style = None if safe else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    def represent_written(self, number: WrittenFloat) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:float", number.text)

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_representer(WrittenFloat, _Dumper.represent_written)


def to_yaml(value: dict[str, Any]) -> str:
    """Plain values as YAML that our reader reads back exactly."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def dump_description(experiment: Experiment, jobs: Iterable[Job]) -> str:
    """The native description, as YAML, of an experiment and its jobs."""
    written = {"name": experiment.name, **experiment.model_dump(mode="json", exclude_defaults=True)}
    written["jobs"] = [_job(job) for job in jobs]
    return to_yaml(written)


def _job(job: Job) -> dict[str, Any]:
    written = job.model_dump(mode="json", exclude_defaults=True)
    if len(job.tasks) == 1:
        written = {"id": job.id, **written.pop("tasks")[0], **written}
    return written
