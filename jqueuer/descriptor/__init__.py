"""The experiment description: reading the native format (YAML, JSON) and both dialects of 2018, printing, the schema.

Everything here is pure except for the CSV file of a sweep, which is read from the folder the caller names.
"""

from __future__ import annotations

from jqueuer.descriptor.description import Description, Dialect
from jqueuer.descriptor.inlining import inline_files
from jqueuer.descriptor.lines import read_job_line, read_jobs_header
from jqueuer.descriptor.policies import known_policies
from jqueuer.descriptor.printing import dump_description
from jqueuer.descriptor.reading import read_description
from jqueuer.descriptor.schema import json_schema

__all__ = [
    "Description",
    "Dialect",
    "dump_description",
    "inline_files",
    "json_schema",
    "known_policies",
    "read_description",
    "read_job_line",
    "read_jobs_header",
]
