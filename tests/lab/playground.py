"""A cluster for a person to try: ``python -m tests.lab.playground up``, and ``down``. Made and removed by make."""

from __future__ import annotations

import shutil
import sys

from tests.lab import available
from tests.lab.cluster import start
from tests.lab.images import cache_directory, images
from tests.lab.lab import Lab

_NAME, _SUBNET = "jqtry", "10.79.0"
_GUIDE = """
A Swarm of {count} nodes runs on this machine, and JQueuer on it.

  manager      {url}          (for the command line: export JQUEUER_URL={url} JQUEUER_TOKEN_FILE={token_file})
  Prometheus   {prometheus_url}
  engines      {engines}
               docker --host {first} node ls
  shared       {shared}  is seen by all nodes, and experiments may mount it

Try:

  echo "Authorization: Bearer $(cat {token_file})" > header
  curl -X POST -H @header -H "Content-Type: application/yaml" \\
       --data-binary @experiments/epidemic-swarm.yaml {url}/api/v1/experiments
  curl -H @header {url}/api/v1/experiments

`make swarm-down` removes all of it.
"""


def main() -> int:
    """Do what the one argument says."""
    if reason := available.why_not():
        print(reason, file=sys.stderr)  # noqa: T201
        return 1
    match sys.argv[1:]:
        case ["up"]:
            up()
        case ["down"]:
            down()
        case _:
            print("usage: python -m tests.lab.playground up | down", file=sys.stderr)  # noqa: T201
            return 2
    return 0


def up() -> None:
    """Start the cluster anew, and leave it running."""
    lab = Lab(cache_directory() / "playground", name=_NAME, subnet=_SUBNET, registry_data=images().registry_data).up()
    try:
        cluster = start(lab)
    except BaseException:
        lab.down()
        raise
    guide = _GUIDE.format(
        count=len(lab.nodes), url=cluster.url, token_file=cluster.token_file,
        prometheus_url=cluster.prometheus_url, shared=lab.shared,
        engines=" ".join(node.docker_url for node in lab.nodes), first=lab.nodes[0].docker_url,
    )  # fmt: skip
    print(guide)  # noqa: T201
    lab.leave()


def down() -> None:
    """Remove the cluster, whoever started it."""
    directory = cache_directory() / "playground"
    Lab(directory, name=_NAME, subnet=_SUBNET).remove()
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
