# SPDX-License-Identifier: MIT
"""`overlock apps list`."""

import json
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from overlock_tools.apps.catalogue import APPS
from overlock_tools.apps.probe import Probe, facts
from overlock_tools.apps.results import installed
from overlock_tools.core.system import files
from overlock_tools.core.system.terminal import console


def show(probe: Probe | None, json_file: Path | None) -> int:
    """`probe`: measure whether each program's locks matter."""
    out = console()
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("program", "here", "what it does", "papers", "locks that are replaced"):
        table.add_column(heading, no_wrap=heading in ("program", "here"))
    for app in APPS.values():
        table.add_row(app.name, "no" if app.missing() else "yes", app.what, app.papers, app.reach)
    out.print(table)
    if lacking := [app.name for app in APPS.values() if app.missing()]:
        out.print(f"overlock apps install {' '.join(lacking)}", highlight=False, soft_wrap=True)
    here = [app for app in APPS.values() if not app.missing()]
    found = {fact.name: fact for fact in facts(here, probe, out)} if probe else {}
    if json_file:
        listed = [
            {
                "name": app.name,
                "what": app.what,
                "unit": app.unit,
                "papers": app.papers,
                "packages": list(app.packages),
                "installed": installed(app.packages),
                "missing": app.missing(),
                "reach": app.reach,
                "control": app.control,
                "parameters": dict(app.presets),
                "facts": asdict(found[app.name]) if app.name in found else None,
            }
            for app in APPS.values()
        ]
        files.write(json_file, json.dumps(listed, indent=1) + "\n")
    return 0
