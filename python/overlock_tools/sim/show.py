# SPDX-License-Identifier: MIT
"""What `overlock sim` prints beside the tables of measurements."""

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from overlock_tools.core.model.quantities import plain
from overlock_tools.sim import lists, machines, scenario, toml
from overlock_tools.sim.resolve import Place, told


def listing(out: Console) -> None:
    """Ready scenarios, and what a scenario can name."""
    known = lists.load()
    titles = {name: _title(path) for name, path in scenario.ready().items()}
    _part(out, "scenarios", titles)
    _part(out, "machines", {name: _title(path) for name, path in machines.named().items()})
    for word, hosts in (("scheduler", known.hosts), ("feature", known.features)):
        for host in hosts.values():
            settings = {key: f"{s.what}  [{_from(s)}]" for key, s in host.settings.items()}
            _part(out, f"{word} {host.name}: {host.what}", settings)
    _part(out, "kinds of guests", known.guests)
    for workload in known.workloads.values():
        parameters = {lists.key(p): f"{p.what}  [{p.preset}]" for p in workload.parameters}
        _part(out, f"workload {workload.name}: {workload.what}", parameters)
    costs = {c.name: f"{c.what}  [{c.preset:g} ns: {c.source}]" for c in known.costs.values()}
    _part(out, "costs", costs)


def _from(setting: lists.Setting) -> str:
    return ": ".join(filter(None, (plain(setting.preset).strip(), setting.source)))


def _title(path: Any) -> str:
    return str(toml.read(path)[0].get("title", ""))


def _part(out: Console, heading: str, entries: dict[str, str]) -> None:
    out.print(Text(heading, style="bold"), soft_wrap=True)
    table = Table.grid(padding=(0, 2))
    for name, what in entries.items():
        table.add_row(Text(f"  {name}"), Text(what))
    out.print(table)


def resolved(places: Sequence[Place]) -> str:
    """What overlock-sim is told of the first seed: a line of JSON for each lock at each point."""
    return "".join(
        json.dumps(told(place, variant, place.scenario.seeds[0])) + "\n"
        for place in places
        for variant in place.variants
    )
