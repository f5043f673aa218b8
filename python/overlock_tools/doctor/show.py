# SPDX-License-Identifier: MIT
"""The report on a terminal: the verdict first, then what to do, then the facts."""

from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from overlock_tools.core.system.called import typed
from overlock_tools.doctor import Report, openmp_facts
from overlock_tools.doctor.fact import Known
from overlock_tools.doctor.judging import Answer, Finding, Scope

STYLES = {
    Answer.YES: "bold red",
    Answer.LIKELY: "bold yellow",
    Answer.POSSIBLE: "bold yellow",
    Answer.BLIND: "bold magenta",
    Answer.NO: "bold green",
    Answer.NOTE: "bold",
}
MATTER = (Answer.YES, Answer.LIKELY, Answer.POSSIBLE, Answer.BLIND)
MOST_WIDTH = 100


def _finding(out: Console, finding: Finding, advised: set[str], most: int | None = None) -> None:
    """`most`: so much advice of it."""
    answer = finding.rule.answer
    out.print(Text.assemble((f"{answer.value}: ", STYLES[answer]), finding.verdict))
    for advice in finding.advice[:most]:
        if advice not in advised:
            line = Table.grid(padding=(0, 1))
            line.add_row("   -", Text(typed(advice)))
            out.print(line)
    advised.update(finding.advice)


def _facts(known: list[Known], fills: bool) -> Table:
    table = Table.grid(padding=(0, 2), expand=fills)
    table.add_column(ratio=1, style="dim")
    table.add_column(ratio=2)
    for one in known:
        text = Text(one.text)
        if one.why_not:
            text = Text(f"unknown: {one.why_not}", style="dim")
        lines = (one.fact.how, one.fact.means, *one.details)
        text.append("".join(f"\n{line}" for line in lines), style="dim italic")
        table.add_row(one.fact.name, text)
    return table


def _first_of_machine(report: Report) -> Finding | None:
    machine = (f for f in report.findings if f.rule.scope is Scope.MACHINE)
    return next(machine, None)


def show(out: Console, report: Report, verbose: bool) -> None:
    """On a terminal up to 100 columns wide; elsewhere without what only fills the lines."""
    if out.is_terminal:
        _show(out, report, verbose)
        return
    with out.capture() as captured:
        _show(out, report, verbose)
    out.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _show(out: Console, report: Report, verbose: bool) -> None:
    if out.is_terminal:
        out.width = min(out.width, MOST_WIDTH)
    whom = f"process {report.pid}" if report.pid else "this machine"
    out.print(Text(f"Does preemption hurt {whom}? Observed for {report.seconds:.1f} s.\n"))
    if not report.findings:
        out.print(
            Text.assemble((f"{report.answer.value}: ", STYLES[report.answer]), report.verdict)
        )
    if verbose:
        _all(out, report)
    else:
        _verdict(out, report)
    if report.probe_lacks:
        out.print(Text(f"\nwithout the native probe: {report.probe_lacks}", style="yellow"))


def _verdict(out: Console, report: Report) -> None:
    """One, with what to do first; of others, what may matter too."""
    for finding in report.findings[:1]:
        _finding(out, finding, set(), 1)
    others = [
        one
        for one in report.findings[1:]
        if one.rule.answer in MATTER and not (report.pid and one.rule.scope is Scope.MACHINE)
    ]
    for finding in others:
        _finding(out, finding, set(), 0)
    rest = len(report.findings) - len(others) - 1
    more = f"{rest} more findings, " if rest > 0 else ""
    facts = len(report.known)
    out.print(Text(f"\n-v: {more}{facts} facts, and all that may help.", style="dim"))


def _all(out: Console, report: Report) -> None:
    advised: set[str] = set()
    for finding in report.findings:
        if report.pid and finding is _first_of_machine(report):
            out.print(Text("\nThe machine", style="bold"))
        _finding(out, finding, advised)
    for group, those in groupby(report.known, key=lambda one: one.fact.group):
        known = list(those)
        if group == openmp_facts.GROUP and not known[0].value:
            continue  # most programs have no such runtime
        out.print(Text(f"\n{group}", style="bold"))
        out.print(Padding(_facts(known, out.is_terminal), (0, 0, 0, 2)))
