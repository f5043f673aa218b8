# SPDX-License-Identifier: MIT
"""`overlock tune`: a run with counters, and the proposals as a table, JSON and TOML."""

import json
import os
from pathlib import Path
from typing import Any

from overlock_tools.model import defs
from overlock_tools.model.quantities import duration
from overlock_tools.preload import config, profiling, run, stacks, tuning
from overlock_tools.system import files
from overlock_tools.system.errors import FAILED, Fail


def measured(program: str, args: tuple[str, ...], lock: str, folded: Path | None) -> dict[str, Any]:
    """The report of one run, its calls named; its streams are the program's."""
    wanted = {"lock": lock, "histograms": True, "output": os.devnull, "folded": folded}
    options = run.NOTHING | dict.fromkeys(defs.load().tunables) | wanted | {"children": False}
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


def tune(program: str, args: tuple[str, ...], lock: str, options: dict[str, Any]) -> None:
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
        print(
            f"{program} acquired no mutex that can be replaced; there is nothing to tune",
            flush=True,
        )
        return
    print(table(advice, options["top"]), flush=True)
    if written:
        files.write(written, as_file(advice, program))
