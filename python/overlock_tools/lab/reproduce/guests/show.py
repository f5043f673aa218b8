# SPDX-License-Identifier: MIT
"""What `overlock guest paper` says on a terminal."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from overlock_tools.core.analyze import ministat, paper_claims
from overlock_tools.core.model import paper_settings, quantities, stats
from overlock_tools.core.model.measures import MEASURES, Measure
from overlock_tools.core.model.results import Result
from overlock_tools.guest.show import cell, table_of_locks
from overlock_tools.lab.reproduce.guests.experiment import SMALLER, Experiment


def measures(result: Result, names: Sequence[str], out: Console) -> None:
    """Of each lock at each number of vCPUs, with the range of the rounds for rates."""
    known = {measure.name: measure for measure in MEASURES}
    guests = int(result.parameters["guests"])
    table = table_of_locks("rig", *(known[name].heading for name in names))
    for vcpus in result.threads:
        for variant in result.variants:
            if result.of(variant, vcpus):
                cells = [_measured(result, known[name], variant, vcpus) for name in names]
                table.add_row(variant, f"{guests}×{vcpus}", *cells)
    out.print(Text(f"{result.title}; rate in {result.unit}", style="bold"), table, "")


def _measured(result: Result, measure: Measure, variant: str, threads: int) -> str:
    if measure.name == "rate":
        return cell(result, variant, threads)
    return quantities.shown(measure, result.value(measure.name, variant, threads))


def claims(experiment: Experiment, results: Mapping[str, Result], out: Console) -> None:
    """What the paper says, and whether it is so here."""
    for result in results.values():
        if result.statistic == paper_settings.MINISTAT:
            for text in ministat.compared(result):
                out.print(text, highlight=False)
    for part, claim in _claimed(experiment, results):
        where = f"{paper_settings.CITED[claim.paper]}, {claim.figure}" + (
            f", {part}" if part else ""
        )
        said = Text(f"{where}: {claim.sentence} [{claim.verdict}]", style="bold")
        out.print(said, soft_wrap=True)
        out.print(f"    {claim.reason}", soft_wrap=True, highlight=False)
    slices = {str(r.native["slices_by"]) for r in results.values() if "slices_by" in r.native}
    if slices:
        out.print(f"Source of slice ends: {', '.join(sorted(slices))}.")
    other = f"{experiment.otherwise}; {SMALLER}" if experiment.otherwise else SMALLER
    out.print(f"Differences from the paper: {other}.", soft_wrap=True)


def _claimed(
    experiment: Experiment, results: Mapping[str, Result]
) -> Iterator[tuple[str, paper_claims.Claim]]:
    """Of all parts together, then of each by itself, as far as it was measured there."""
    for claim in experiment.claims(results):
        yield "", claim
    for part, result in results.items():
        for claim in paper_claims.claims(result):
            ours = claim.paper == experiment.paper
            if ours and claim.verdict != paper_claims.Verdict.NOT_MEASURED:
                yield part, claim


def counts(result: Result, names: Sequence[str], out: Console) -> None:
    """Events by themselves: the median of the rounds."""
    table = table_of_locks("vCPUs", *map(str.lower, names))
    for vcpus in result.threads:
        for variant in result.variants:
            cells = result.of(variant, vcpus)
            found = [
                stats.median([c.events.get(name, 0) for c in cells]) for name in names if cells
            ]
            if found:
                table.add_row(variant, str(vcpus), *(quantities.plain(v).strip() for v in found))
    out.print(Text("Counted, medians", style="bold"), table, "")
