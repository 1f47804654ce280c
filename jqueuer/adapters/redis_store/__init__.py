"""The store on Redis or Valkey: experiments, the job ledger, the local container registry.

Keys, where ``X`` is ``jq:x:<experiment id>``::

    jq:experiments            sorted set  id → creation time        X            hash    record and sums
    jq:active, jq:receiving   sets of ids                           X:order      sorted set  job id → position
    jq:key:<key>              Idempotency-Key → digest, id          X:<state>    sorted set per job state
    jq:services               hash  id → containers requested       X:leases     sorted set  job id → expiry (ms)
    jq:tokens                 hash  digest → whose, which role      X:due        sorted set  job id → when (ms)
    jq:clock                  hash  the steady clock's reading      X:busy       hash  container → job id
    jq:kind:<digest>          list of ids, ended last first         X:busy_since hash  container → since when (ms)
    jq:version                how all of this is written            X:measured   hash  counts and sums of durations
    jq:deleted:<id>           it was here, for a day                X:job:<id>   hash  spec, state, token, attempts
    jq:session:<digest>       digest of its token, while it lasts   X:journal    list of decisions
    jq:session:of:<digest>    sorted set  session → its end (ms)    X:history    list of points to draw
                                                                    X:spans      list of the latest ended attempts
    jq:outbox                 sorted set  message → when it is due  X:outbox     hash  message → what is to be told
    jq:webhooks               hash  outcome → how many tries        X:containers hash  id → status
                                                                    X:draining   set   ids of given-up containers

While two copies of a job run, each has a lease (``<job id> <token>``), and the job's ``copies`` say who runs them.
The post command is a job in a lane of its own (``X:post`` in place of ``X``), so it is counted nowhere.
Every change of a job's state is one Lua script: the counts are sizes of sets and always add up.
"""

from jqueuer.adapters.redis_store.connection import connect
from jqueuer.adapters.redis_store.experiments import RedisExperimentStore
from jqueuer.adapters.redis_store.ledger import RedisJobLedger
from jqueuer.adapters.redis_store.outbox import RedisOutbox
from jqueuer.adapters.redis_store.registry import RedisContainerRegistry
from jqueuer.adapters.redis_store.sessions import RedisSessionStore
from jqueuer.adapters.redis_store.tokens import RedisTokenStore

__all__ = [
    "RedisContainerRegistry",
    "RedisExperimentStore",
    "RedisJobLedger",
    "RedisOutbox",
    "RedisSessionStore",
    "RedisTokenStore",
    "connect",
]
