# SPDX-License-Identifier: MIT
"""Outcomes as JSON: schema/check.json says what each part is."""

import json
from collections.abc import Sequence
from typing import Any

from overlock_tools.check.outcome import Outcome
from overlock_tools.check.weaken import Judged
from overlock_tools.core.ordinary.lock import Lock

FORMAT = "overlock-check"
VERSION = 1


def document(
    outcomes: Sequence[Outcome],
    weakened: Sequence[Judged],
    command: str,
    whole: bool,
    uncovered: Sequence[dict[str, Any]] = (),
) -> str:
    said = {
        "format": FORMAT,
        "version": VERSION,
        "command": command,
        "complete": whole,
        "results": [_outcome(one) for one in outcomes],
        "weakened": [_judged(one) for one in weakened],
        "uncovered": list(uncovered),
    }
    return json.dumps(said, indent=2) + "\n"


def _outcome(one: Outcome) -> dict[str, Any]:
    job, result = one.job, one.result
    return {
        "lock": job.subject.name,
        "header": str(job.subject.header) if job.subject.header else None,
        "operations": _operations(job.subject.taken),
        "tune": dict(setting.split("=", 1) for setting in job.subject.tune),
        "scenario": job.scenario,
        "roles": job.roles,
        "model": job.model,
        "contexts": job.size.contexts,
        "acquisitions": job.size.acquisitions,
        "budgets": result.get("budgets", dict(job.budgets)),
        "clock": result.get("clock", job.clock) or None,
        "search": job.search.kind,
        "weakened": job.weaken or None,
        "verdict": one.verdict,
        "words": one.words,
        "exhausted": one.exhausted,
        "ended": result.get("ended"),
        "error": one.error or None,
        "cached": one.cached,
        "executions": one.executions,
        "redundant": int(result.get("redundant", 0)),
        "steps": int(result.get("steps", 0)),
        "seconds": one.seconds,
        "notes": result.get("notes") or {},
        "failure": _failure(one),
        "native": one.native,
        "coverage": _coverage(one),
        "loops": one.result.get("loops") or [],
    }


def _coverage(one: Outcome) -> dict[str, Any] | None:
    found = one.coverage
    return {"files": found["files"]} if found and "files" in found else None


def _operations(taken: Lock | None) -> dict[str, str] | None:
    """The type and the functions of a lock that was found in a file."""
    return {"type": taken.of, **taken.listed} if taken else None


def _failure(one: Outcome) -> dict[str, Any] | None:
    failure = one.failure
    if not failure:
        return None
    return {
        "property": failure.property,
        "how": failure.how,
        "replay": failure.replay,
        "command": one.job.command_to_replay(failure.replay) if failure.replay else None,
        "events": one.result["failure"].get("events") or [],
    }


def _judged(one: Judged) -> dict[str, Any]:
    return {
        "file": one.site.file,
        "line": one.site.line,
        "order": one.site.order,
        "text": one.site.text,
        "class": one.kind,
        "property": one.missed_by or None,
        "scenario": one.scenario or None,
        "command": one.command or None,
        "argument": one.argument or None,
        "exhausted": one.exhausted,
        "words": one.words,
    }
