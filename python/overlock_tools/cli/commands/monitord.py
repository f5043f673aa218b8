# SPDX-License-Identifier: MIT
"""overlock monitord: tells programs which of their threads have a CPU, and until when."""

from pathlib import Path
from typing import Any

import click

from overlock_tools.cli.options import Within


@click.command()
@click.option(
    "--socket",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Socket at which programs get their page.  [default: /run/overlock/monitor]",
)
@click.option(
    "--detail",
    type=click.Choice(("least", "full")),
    default="least",
    show_default=True,
    help="Contents of the pages. full: ends also depend on whether other threads, of any user, "
    "wait for the CPU.",
)
@click.option("--seconds", type=Within(0.001, 1e9), help="End after this time.")
@click.option(
    "--cost",
    is_flag=True,
    help="Also measure what the monitor costs at each context switch; this itself costs time.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON at the end.")
def command(**options: Any) -> int:
    """Report to programs which of their threads have a CPU.

    It runs until Ctrl-C: docs/knowledge.md.

    Needs root, or CAP_BPF and CAP_PERFMON, and Linux 6.13 or later with BTF. Programs that use
    liboverlock, or run under `overlock run`, ask for a page of their own when they start, and
    learn nothing of other programs. `overlock run --monitor` starts one for a single program.

    \b
    Examples:
      overlock monitord                     Ctrl-C ends it and prints a summary
      overlock monitord --seconds 10 --cost
      systemctl start overlock-monitord     the same, in a sandbox
    """
    from overlock_tools.core.system import monitord

    monitord.run(options)
