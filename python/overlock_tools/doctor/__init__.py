# SPDX-License-Identifier: MIT
"""overlock doctor: does preemption hurt here, and what can be done about it."""

from dataclasses import dataclass
from typing import Any

from overlock_tools.core.system.kernel_files import Tree

# Each adds its facts to the list.
from overlock_tools.doctor import (  # noqa: F401
    counting_facts,
    hypervisor_facts,
    inside_facts,
    load_facts,
    machine_facts,
    native_facts,
    openmp_facts,
    process_facts,
)
from overlock_tools.doctor.fact import FACTS, Fact, Known, World, learn
from overlock_tools.doctor.inside import Inside
from overlock_tools.doctor.judging import Answer, Finding
from overlock_tools.doctor.probe import Probe
from overlock_tools.doctor.rules import judge
from overlock_tools.doctor.watch import Clock, observe

OF_A_PROCESS = ("process", "openmp")  # only of one that was asked for
GROUPS = (  # in the report's order
    *OF_A_PROCESS,
    "overcommit",
    "machine",
    "hypervisor",
    "scheduler",
    "costs",
    "features",
    "permissions",
    "knowledge",
)


def of_group(group: str) -> list[Fact]:
    return [one for one in FACTS if one.group == group]


@dataclass(frozen=True)
class Report:
    pid: int | None
    seconds: float
    known: list[Known]
    findings: list[Finding]
    probe_lacks: str  # why there was no native probe; empty if there was

    @property
    def answer(self) -> Answer:
        return self.findings[0].rule.answer if self.findings else Answer.BLIND

    @property
    def verdict(self) -> str:
        if not self.findings:
            return "too few facts are known here."
        return self.findings[0].verdict


@dataclass(frozen=True)
class Looking:
    """How long, by which clock, and what looks into the program meanwhile."""

    seconds: float
    clock: Clock
    inside: Inside | None = None


def examine(tree: Tree, probe: Probe, pid: int | None, looking: Looking) -> Report:
    watch = observe(tree, pid, looking.seconds, looking.clock)
    if looking.inside:
        looking.inside.join()
    world = World(tree, probe, watch, pid, looking.inside)
    groups = GROUPS if pid is not None else GROUPS[len(OF_A_PROCESS) :]
    known = [learn(one, world) for group in groups for one in of_group(group)]
    lacks = "" if probe.built else probe.lacking
    return Report(pid, watch.seconds, known, judge(known, pid), lacks)


def as_json(report: Report) -> dict[str, Any]:
    return {
        "format": "overlock-doctor",
        "version": 1,
        "pid": report.pid,
        "seconds": round(report.seconds, 3),
        "answer": report.answer.name.lower(),
        "verdict": report.verdict,
        "findings": [
            {
                "rule": finding.rule.id,
                "answer": finding.rule.answer.name.lower(),
                "scope": finding.rule.scope.value,
                "verdict": finding.verdict,
                "advice": list(finding.advice),
            }
            for finding in report.findings
        ],
        "facts": [
            {
                "id": one.fact.id,
                "group": one.fact.group,
                "name": one.fact.name,
                "value": one.value,
                "text": one.text,
                "unknown": one.why_not,
                "how": one.fact.how,
                "means": one.fact.means,
            }
            for one in report.known
        ],
        "probe": report.probe_lacks or None,
    }
