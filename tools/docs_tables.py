#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills the generated parts of docs/ and README: the tables of locks, workloads, events and so on.

A page marks such a part by <!-- generated: NAME --> and <!-- end -->, or NAME LOAD for one load.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import advice_tables
import apps_measured
import chaos_programs
import cpu_counts
import fit_measured
import guest_measured
import judged
import knowledge_measured
import machines
import newest
import reached
import replay_validated
import reproduced
import scheduler_measured
import simulated_grid
import simulator_speed
import simulator_validated
import spins_measured
import survey
import table_sources
from lock_pages import PROPERTIES, linked, rates, table
from overlock_tools.bench import subjects
from overlock_tools.bench.conditions import SCENARIOS
from overlock_tools.chaos import settings as chaos
from overlock_tools.check import capabilities
from overlock_tools.cli.commands.tunables import WHEN
from overlock_tools.core.model import defs, loads
from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.doctor import GROUPS, of_group
from overlock_tools.doctor.rules import RULES

TOP = Path(__file__).resolve().parent.parent
DOCS = TOP / "docs"
README = TOP / "README.md"
PART = re.compile(
    r"(?P<start><!-- generated: (?P<name>[a-z-]+)(?: (?P<load>[\w@-]+))? -->\n)"
    r"(?P<text>.*?)(?P<end><!-- end -->)",
    re.DOTALL,
)
RELATIVE = re.compile(r"\]\((?![a-z]+:|#)")  # links are made as from a page of docs/


def locks_table() -> str:
    rows = [
        [f"[`{lock.id}`](locks/{lock.id}.md)", linked(lock.source), lock.what]
        for lock in defs.load().locks.values()
    ]
    return table(["lock", "source", "what it is"], rows)


def properties_table() -> str:
    rows = [
        [f"[`{lock.id}`](locks/{lock.id}.md)", *(of(lock) for of in PROPERTIES.values())]
        for lock in defs.load().locks.values()
    ]
    return table(["lock", *PROPERTIES], rows)


def lock_rates(lock: str) -> str:
    return rates(defs.load().lock(lock))


def peers_table() -> str:
    peers = defs.load().peers.values()
    rows = [[f"`{peer.id}`", f"`{peer.package}`", peer.what] for peer in peers]
    return table(["lock", "Debian package", "what it is"], rows)


def workloads_table() -> str:
    rows = [[f"`{w.name}`", w.what, w.unit] for w in subjects.subjects().workloads.values()]
    return table(["workload", "what it is", "unit counted"], rows)


def parameters_table() -> str:
    rows = [
        [w.name, f"`{p.option}`", "`" + "`, `".join(p.values or (p.preset,)) + "`", p.what]
        for w in subjects.subjects().workloads.values()
        for p in w.parameters
    ]
    return table(["workload", "option", "default, or values", "meaning"], rows)


def loads_table() -> str:
    """The options beside their workloads, as a shell takes them."""
    known = subjects.subjects().workloads
    rows = []
    for load in loads.LOADS:
        words = {p.key: p.option for p in known[load.workload].parameters}
        said = [f"{words.get(key, f'--{key}')} {value}" for key, value in load.options.items()]
        command = " ".join(["overlock bench", load.workload, *said])
        rows.append([f"{load.name}: {load.what}", f"`{command}`"])
    return table(["load", "command"], rows)


def scenarios_table() -> str:
    rows = []
    for scenario in SCENARIOS:
        value = scenario.metavar.replace("|", "\\|")  # GitHub ends a cell there, even in code
        rows.append([f"`--{scenario.name} {value}`", scenario.help])
    return table(["option", "what it does"], rows)


def chaos_kinds_table() -> str:
    return table(["kind", "the moment"], [[f"`{k}`", what] for k, what in chaos.kinds().items()])


def events_table() -> str:
    rows = [[f"`{e.name}`", e.what] for e in defs.load().events.values()]
    return table(["event", "counts"], rows)


def variables_table() -> str:
    rows = [[f"`{name}`", what] for name, what in defs.load().variables.items()]
    return table(["environment", "meaning"], rows)


def tunables_table() -> str:
    rows = []
    for t in defs.load().tunables.values():
        names = [f"`{t.name}`", f"`{t.option}`", f"`{t.variable}`"]
        facts = [defs.UNITS[t.unit], str(t.default), t.range, WHEN[t.when], linked(t.source)]
        rows.append([*names, *facts, t.what])
    headings = ["name", "option", "environment", "unit", "default", "range", "can change"]
    return table([*headings, "source of the default", "meaning"], rows)


def rules_table() -> str:
    rows = [
        [f"`{rule.id}`", rule.answer.value, rule.verdict, "; ".join(rule.advice)] for rule in RULES
    ]
    return table(["rule", "answer", "verdict", "advice"], rows)


def star(text: str) -> str:
    """Escapes stars, which would be emphasis."""
    return text.replace("*", "\\*")


def facts_table() -> str:
    rows = [
        [f"`{f.id}`", f.group, f.name, star(f.how), f.means] for g in GROUPS for f in of_group(g)
    ]
    return table(["fact", "group", "name", "source", "meaning"], rows)


def check_scenarios_table() -> str:
    rows = [[f"`{name}`", what] for name, what in capabilities.load().scenarios.items()]
    return table(["scenario", "actions of the contexts"], rows)


def check_models_table() -> str:
    rows = [[f"`{name}`", what] for name, what in capabilities.load().models.items()]
    return table(["model", "meaning"], rows)


def check_budgets_table() -> str:
    known = capabilities.load()
    rows = [[f"`{k}`", str(known.usual[k]), what] for k, what in known.budgets.items()]
    return table(["budget", "default per context", "allowed event"], rows)


def guest_rates(load: str) -> str:
    found = guest_measured.known(load)
    crowded = [rig for rig in found.rigs[-2:] if found.tells("even", rig)]
    rows = [
        [
            f"`{lock}`",
            *(found.cell(lock, rig) for rig in found.rigs),
            *(found.share("even", lock, rig) for rig in crowded),
        ]
        for lock in found.locks
    ]
    even = [f"least ÷ most of a vCPU, {rig}" for rig in crowded]
    return table(["lock", *found.rigs, *even], rows)


def guest_hosted(load: str) -> str:
    """The rates of guests in one rig, under a hypervisor with PV locks and steal time."""
    found = guest_measured.known(load)
    (rig,) = found.rigs
    rows = [
        [
            f"`{lock}`",
            found.in_force(lock),
            found.cell(lock, rig),
            found.share("even", lock, rig),
            found.share("stolen", lock, rig),
        ]
        for lock in found.locks
    ]
    return table(["lock", "in force", rig, "least ÷ most of a vCPU", "stolen"], rows)


def guest_about(load: str) -> str:
    return guest_measured.about(guest_measured.known(load))


def guest_claims(load: str) -> str:
    return guest_measured.claims(guest_measured.known(load))


def apps_about(program: str) -> str:
    return apps_measured.about(apps_measured.known(program))


def apps_rates(program: str) -> str:
    found = apps_measured.known(program)
    rows = [[f"`{v}`", *(found.cell(v, place) for place in found.places)] for v in found.locks]
    return table(["lock", *map(apps_measured.heading, found.places)], rows)


def apps_ratios(place: str) -> str:
    """The rate under each lock relative to glibc's, of every program measured there."""
    there = {
        name: program
        for name, program in apps_measured.programs().items()
        if place in program.places and "@" not in name
    }
    locks = dict.fromkeys(v for p in there.values() for v in p.locks if v != p.baseline)
    rows = [[f"`{name}`", *(p.ratio(v, place) for v in locks)] for name, p in there.items()]
    return table(["program", *(f"`{lock}`" for lock in locks)], rows)


def apps_as(paper: str) -> str:
    """The measurements of that paper: a row for each program and number of threads."""
    those = {
        name.partition("@")[0]: program
        for name, program in apps_measured.programs().items()
        if name.endswith(f"@{paper}")
    }
    locks = list(next(iter(those.values())).locks)
    rows = [
        [f"`{name}`", apps_measured.heading(place), *(p.cell(v, place) for v in locks)]
        for name, p in those.items()
        for place in p.places
    ]
    return table(["program", "", *(f"`{lock}`" for lock in locks)], rows)


def apps_why() -> str:
    """The cost of waiting under each lock, of every program measured with counters."""
    rows = [
        [f"`{name}`", f"`{lock}`", *apps_measured.why(numbers)]
        for name, program in apps_measured.programs().items()
        for lock, numbers in program.counted.items()
    ]
    headings = ("stalls per million", "behind waiters", "PSP per million", "CPU time")
    return table(["program", "lock", *headings], rows)


def apps_held() -> str:
    """Figure 3 of Teabe et al. 2017, for these programs."""
    headings = ("median", "mean", "99 %", "≤ 1 µs", "≤ 2^12 cycles", "≤ 2^14 cycles")
    return table(["program", *headings], apps_measured.held())


PARTS: dict[str, Callable[..., str]] = {
    "age": table_sources.age,
    "advice": advice_tables.situations,
    "advice-gains": advice_tables.gains,
    "advice-measured": advice_tables.measured,
    "locks": locks_table,
    "lock-rates": lock_rates,
    "properties": properties_table,
    "peers": peers_table,
    "workloads": workloads_table,
    "parameters": parameters_table,
    "scenarios": scenarios_table,
    "events": events_table,
    "tunables": tunables_table,
    "variables": variables_table,
    "doctor-rules": rules_table,
    "doctor-facts": facts_table,
    "chaos-kinds": chaos_kinds_table,
    "chaos-overhead": chaos_programs.overhead_table,
    "chaos-programs": chaos_programs.programs_table,
    "chaos-bugs": chaos_programs.bugs_table,
    "replay-bounds": replay_validated.bounds_table,
    "replay-programs": replay_validated.programs_table,
    "replay-guests": replay_validated.guests_table,
    "replay-left-out": replay_validated.left_out_table,
    "replay-overhead": replay_validated.overhead_table,
    "cpu-counts": cpu_counts.counts_table,
    "cpu-counts-with": cpu_counts.with_table,
    "cpu-counts-about": cpu_counts.about_table,
    "cpu-counts-machines": cpu_counts.machines,
    "cpu-counts-left-out": cpu_counts.left_out_table,
    "check-scenarios": check_scenarios_table,
    "check-models": check_models_table,
    "check-budgets": check_budgets_table,
    "apps-about": apps_about,
    "apps-rates": apps_rates,
    "apps-ratios": apps_ratios,
    "apps-as": apps_as,
    "apps-why": apps_why,
    "apps-held": apps_held,
    "guest-about": guest_about,
    "guest-rates": guest_rates,
    "guest-hosted": guest_hosted,
    "guest-claims": guest_claims,
    "scheduler": scheduler_measured.scheduler_table,
    "scheduler-neighbours": scheduler_measured.neighbours_table,
    "scheduler-papers": scheduler_measured.papers_table,
    "scheduler-paper-programs": scheduler_measured.paper_programs_table,
    "scheduler-preempted": scheduler_measured.preempted_table,
    "scheduler-programs": scheduler_measured.programs_table,
    "scheduler-switches": scheduler_measured.switches_table,
    "knowledge-worth": knowledge_measured.worth_table,
    "knowledge-predicted": knowledge_measured.predicted_table,
    "knowledge-cost": knowledge_measured.cost_table,
    "grid-against-others": simulated_grid.against_others,
    "grid-classes": simulated_grid.classes,
    "grid-regrets": simulated_grid.regrets,
    "reproduced-counts": reproduced.counts,
    "reproduced": reproduced.verdicts,
    "judged-ablation": judged.ablation,
    "judged-summary": judged.summary,
    "judged-ratios": judged.ratios,
    "judged-qualities": judged.qualities,
    "loads": loads_table,
    "machines": machines.facts_table,
    "machines-rates": machines.rates_table,
    "machines-left": machines.left_table,
    "machines-costs": machines.costs_table,
    "simulator-speed": simulator_speed.speed_table,
    "simulator-scores": simulator_validated.scores_table,
    "simulator-wrong": simulator_validated.wrong_table,
    "simulator-xeon": simulator_validated.xeon_table,
    "fit-rates": fit_measured.rates_table,
    "fit-about": fit_measured.about_table,
    "spins-rates": spins_measured.rates_table,
    "spins-bounds": spins_measured.bounds_table,
    "spins-costs": spins_measured.costs_table,
    "spins-about": spins_measured.about_table,
    "survey": survey.waiting,
    "survey-counts": survey.counts,
    "survey-reached": reached.counts_table,
    "survey-verdicts": reached.summary,
    "newest-checks": newest.checks_table,
    "newest-survey": newest.survey_table,
    "newest-versions": newest.versions_table,
    "survey-measured": survey.measured,
    "survey-commands": survey.commands,
}


def made(found: re.Match[str], page: Path) -> str:
    """The current text of the generated part, with its links as from that page."""
    text = PARTS[found["name"]](*([found["load"]] if found["load"] else []))
    up = "../" * len(page.relative_to(DOCS).parent.parts) if page.is_relative_to(DOCS) else ""
    return RELATIVE.sub(f"]({up}", text)


def fill(page: Path) -> str:
    """The page with its generated parts up to date."""

    def part(found: re.Match[str]) -> str:
        if found["name"] not in PARTS:
            raise Fail(f"there is no generated part {found['name']}; there are {', '.join(PARTS)}")
        try:
            return found["start"] + made(found, page) + found["end"]
        except Fail as error:
            if error.code != MISSING:
                raise
            print(f"docs: {found['name']} is left as it was: {error.message}", file=sys.stderr)
            return found[0]

    return PART.sub(part, page.read_text())


def main() -> int:
    try:
        for page in (README, *DOCS.rglob("*.md")):
            page.write_text(fill(page))
    except Fail as error:
        print(f"docs: {error.message}", file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
