"""Telling people, by signed webhooks, how an experiment ended or that its deadline is at risk; all of it pure.

``notification`` is what is told, ``signature`` how a receiver knows that we said it, ``risk`` when a deadline is at
risk, ``schedule`` when a message that was not taken is tried again.
"""

from __future__ import annotations

from jqueuer.notifying.notification import Body, Facts, ForecastFacts, JobFacts, Message, new_message, receiver_of
from jqueuer.notifying.risk import UNTOLD, Risk, Verdict, judge
from jqueuer.notifying.schedule import GIVE_UP_SECONDS, next_try_at
from jqueuer.notifying.signature import check_secret, headers, new_secret

__all__ = [
    "GIVE_UP_SECONDS",
    "UNTOLD",
    "Body",
    "Facts",
    "ForecastFacts",
    "JobFacts",
    "Message",
    "Risk",
    "Verdict",
    "check_secret",
    "headers",
    "judge",
    "new_message",
    "new_secret",
    "next_try_at",
    "receiver_of",
]
