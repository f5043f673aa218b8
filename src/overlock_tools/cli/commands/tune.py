# SPDX-License-Identifier: MIT
"""overlock tune: propose a lock and tunables from a program's critical sections."""

import json
import os
from pathlib import Path
from typing import Any

import click

from overlock_tools.cli.commands import run
from overlock_tools.model.quantities import duration
from overlock_tools.preload import config, live, profiling, stacks, tuning
from overlock_tools.system import files
from overlock_tools.system.errors import FAILED, Fail


def measured(program: str, args: tuple[str, ...], lock: str, folded: Path | None) -> dict[str, Any]:
    """The report of one run, its calls named; its streams are the program's."""
    preset = {parameter.name: None for parameter in run.command.params}
    wanted = {"lock": lock, "sites": (), "histograms": True, "output": os.devnull}
    wanted |= {"rwlock": "glibc", "spinlock": "glibc", "folded": folded}
    options = preset | dict.fromkeys(run.tunable_names()) | wanted
    (name, variables), _ = run.prepare(program, options)
    path = Path(name)
    ended = profiling.run(path, (program, *args), variables, lambda _: None)
    if not ended.last:
        raise Fail(
            f"{path.name} {ended.how} and wrote no report; make it return from main or call exit()",
            FAILED,
        )
    return profiling.named(ended.last)


def table(advice: tuning.Advice, rows: int) -> str:
    short = list(tuning.SHORT_NS)
    lines = [
        f"{'acquisitions':>13} {'waited':>7} {'ahead':>6} {'p50':>8} {'p99':>8} {'longest':>8} "
        f"{short[0]:>12} {short[1]:>12}  call"
    ]
    for site in advice.sites[:rows]:
        ahead = "" if site.ahead is None else f"{site.ahead:.1f}"
        times = " ".join(f"{duration(tuning.quantile(site.hold, q)):>8}" for q in (0.5, 0.99, 1))
        under = " ".join(
            f"{tuning.share_under(site.hold, ns):>12.2%}" for ns in tuning.SHORT_NS.values()
        )
        waits = f"{site.acquisitions:>13} {site.contended:>7.1%} {ahead:>6}"
        where = f" ({site.where})" if site.where else ""
        lines.append(f"{waits} {times} {under}  {site.name}{where}")
    if advice.sites[rows:]:
        rest = sum(site.acquisitions for site in advice.sites[rows:])
        lines.append(f"{rest:>13} at {len(advice.sites) - rows} other calls")
    lines += ["", "p50, p99, longest: hold time, at most; 2^12, 2^14 cycles: share of sections"]
    lines += ["under 1.5 and 6.1 us, the bounds of Teabe et al. 2017", ""]
    lines += [f"{p.what} = {p.value}: {p.why}" for p in advice.proposals]
    lines += [f"  {name}: {p.value}: {p.why}" for name, p in advice.apart.items()]
    return "\n".join(lines)


def as_file(advice: tuning.Advice, program: str) -> str:
    lines = [f"Proposals of `overlock tune` for {program}, for `overlock run --config`."]
    lines += [f"{p.what} = {p.value}: {p.why}" for p in advice.proposals]
    if advice.apart:
        lines += ["A [[site]] with the function that initialises or first locks these mutexes"]
        lines += ["could choose a separate lock for them:"]
        lines += [f"  {name}: {p.value}: {p.why}" for name, p in advice.apart.items()]
    return config.to_text(advice.chosen, "\n".join(lines))


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Exit codes: 0 success, 1 PROGRAM wrote no report, 2 bad usage, 125 to 127 as in "
    "`overlock run`. PROGRAM's own exit code is discarded.",
)
@click.option(
    "--lock",
    default="pv_preemptable_ticket",
    show_default=True,
    metavar="NAME",
    help="Lock to measure with; one with a queue also measures the queue length.",
)
@click.option(
    "--json",
    "json_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File for the proposals as JSON.",
)
@click.option(
    "--write",
    "config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File for the proposals as TOML, for `overlock run --config`.",
)
@click.option(
    "--folded",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File for the stacks of waits, as with `overlock run --folded`.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=live.ROWS,
    show_default=True,
    metavar="N",
    help="Number of call sites in the table.",
)
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(program: str, args: tuple[str, ...], lock: str, **options: Any) -> None:
    """Propose a lock, tau, csd and spin for PROGRAM, from a run with counters.

    The command explains each proposal. The proposals depend on the length of PROGRAM's critical
    sections, the length of its queues and whether lock holders are preempted. Run it with the work,
    and next to the other load, for which to tune it.

    \b
    Examples:
      overlock tune -- pbzip2 -k FILE
      overlock tune --write locks.toml -- ./server --once
      overlock tune --folded waits.folded --top 5 -- ./server --once
      overlock run --config locks.toml -- ./server --port 8080
    """
    json_path, written, folded = (options[name] for name in ("json_path", "config", "folded"))
    for path in filter(None, (json_path, written, folded)):
        files.check_writable(path)
    report = measured(program, args, lock, folded)
    advice = tuning.advice(report)
    if json_path:
        files.write(json_path, json.dumps(advice.to_json(), indent=1) + "\n")
    if folded:
        files.write(folded, stacks.folded(report))
    if not advice.sites:
        click.echo(f"{program} acquired no mutex that can be replaced; there is nothing to tune")
        return
    click.echo(table(advice, options["top"]))
    if written:
        files.write(written, as_file(advice, program))
