# SPDX-License-Identifier: MIT
"""Random loads in a table and in sentences; random_loads_plot.py draws them."""

from collections.abc import Iterator, Sequence

from rich.console import Console, Group

from overlock_tools.core.analyze import random_loads
from overlock_tools.core.analyze.random_loads import AS_GOOD, FAR, Document, Judged, Summary
from overlock_tools.core.model.quantities import count, duration, factor
from overlock_tools.core.render.tables import Column, drawn


def show(document: Document, out: Console) -> None:
    for cpus, loads in random_loads.by_cpus(document.loads).items():
        worst = random_loads.worst(loads)
        first = "the worst first" if len(worst) == len(loads) else f"the {len(worst)} worst"
        title = f"{_loads(len(loads))} on {cpus} CPUs, {first}"
        out.print(_table(title, worst, document.gap), "")
        out.print("To repeat these:")
        for load in worst:
            for command in filter(None, (load.repeat, load.natively)):
                out.print(f"  {command}", soft_wrap=True)
        out.print("")
        for line in sentences(document, cpus, random_loads.summary(loads)):
            out.print(line, soft_wrap=True)
        out.print("")
    if left := len(document.unjudged):
        out.print(f"Not judged: {_loads(left)}, of which too little is known yet.", soft_wrap=True)


def line(load: Judged) -> str:
    """Of one load, while others follow."""
    if load.failure:
        return f"load {load.number}: WRONG: {load.failure}"
    again = f", beside itself {factor(load.again)}" if load.again is not None else ""
    return (
        f"load {load.number}: {factor(load.ratio)}{_between(load)} of {load.peer}{again}; "
        f"{load.what}, {count(load.threads)}"
    )


def _between(load: Judged) -> str:
    if load.low is None or load.high is None:
        return ""
    return f" ({factor(load.low)} – {factor(load.high)})"


def _table(title: str, loads: Sequence[Judged], gap: str) -> Group:
    columns = [
        Column("load", [str(load.number) for load in loads]),
        Column("÷ best", [factor(load.ratio) for load in loads]),
        Column("range", [_between(load).strip(" ()") for load in loads], 3),
        Column("best other", [load.peer or "–" for load in loads]),
        Column("A/A", [_of(load.again) for load in loads], 2),
        Column(gap, [duration(load.gap_ns) for load in loads], 4),
        Column(f"its {gap}", [duration(load.peer_gap_ns) for load in loads], 5),
        Column("CPU ÷ mutex", [_of(load.cpu_beside_mutex) for load in loads], 6),
        Column("threads", [str(load.threads) for load in loads], 1),
    ]
    return drawn(title, columns)


def _of(ratio: float | None) -> str:
    return "" if ratio is None else factor(ratio)


def sentences(document: Document, cpus: int, found: Summary) -> Iterator[str]:
    ours = document.ours
    yield (
        f"On {cpus} CPUs, of {_loads(found.loads)}: {ours} has a median of {factor(found.median)} "
        f"and a geometric mean of {factor(found.geometric_mean)} of the best other lock's rate."
    )
    yield f"- {found.not_far:.0%} of the loads: {FAR} of it or more."
    yield f"- {found.as_good:.0%}: {AS_GOOD} or more."
    if found.spread is not None:
        yield (
            f"- {found.reach_bar:.0%}: {factor(found.bar)} or more, which is {AS_GOOD} less the "
            f"spread of {ours} beside itself ({factor(found.spread)}: nine of ten of its ratios to "
            "itself are no farther from 1)."
        )
    if found.again_as_good is not None:
        yield f"- Beside itself, {ours} reaches {AS_GOOD} in {found.again_as_good:.0%}."
    if found.gap_ns is not None:
        yield (
            f"- Longest {document.gap} of a thread with the most threads "
            f"({_named(found.most_threads)}): {duration(found.gap_ns)}; of the best other lock "
            f"{duration(found.peers_gap_ns)}."
        )
    if found.cpu_beside_mutex is not None:
        yield (
            f"- CPU time per operation: {factor(found.cpu_beside_mutex)} of pthread_mutex's, the "
            "median over the loads."
        )
    if found.failed:
        yield f"- WRONG: it failed under {_named(found.failed)}."


def _named(numbers: Sequence[int]) -> str:
    return f"load{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def _loads(number: int) -> str:
    return f"{number} load{'' if number == 1 else 's'}"
