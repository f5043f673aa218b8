# SPDX-License-Identifier: MIT
"""What `overlock reproduce` does: asks, shows, and writes the page."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from overlock_tools.core.system import files
from overlock_tools.core.system.errors import INTERRUPTED, say
from overlock_tools.core.system.terminal import console
from overlock_tools.lab.reproduce import answers, kept, page, show
from overlock_tools.lab.reproduce import run as running
from overlock_tools.lab.reproduce.answers import Answers
from overlock_tools.lab.reproduce.rows import Row
from overlock_tools.lab.reproduce.run import Chosen

FEW = 8  # rows of which all is told


@dataclass(frozen=True)
class Shown:
    """Where answers are kept, and what is shown beside them."""

    folder: Path
    others: Sequence[Path]
    with_kept: bool
    page: Path | None
    pdf: Path | None


def run(chosen: Chosen, shown: Shown) -> int:
    for path in filter(None, (shown.page, shown.pdf)):
        files.check_writable(path)
    ours = _known(shown.folder)
    shipped = kept.load()
    code = _ask(chosen, shown.folder, ours, shipped)
    for path in shown.others:
        ours.join(answers.read(path))
    if shown.with_kept:
        ours.join(shipped)
    _show(chosen.rows, ours, console())
    _write(chosen.rows, ours, shown)
    return code


def _known(folder: Path) -> Answers:
    path = folder / running.FILE
    return answers.read(path) if path.exists() else Answers()


def _ask(chosen: Chosen, folder: Path, ours: Answers, shipped: Answers) -> int:
    """What the budget has time for; 130 if it was interrupted."""
    if chosen.budget_s == 0:
        return 0
    kept_s = {**shipped.took_s, **ours.took_s}
    plan = running.prepared(chosen, ours, kept_s, folder)
    say(show.forecast(plan.forecast_s(), len(plan.questions)))
    try:
        plan.all()
    except KeyboardInterrupt:
        say("interrupted: what is done is kept; the same command goes on")
        return INTERRUPTED
    return 0


def _show(asked: Sequence[Row], ours: Answers, out: Console) -> None:
    show.verdicts(asked, ours, out)
    if len(asked) <= FEW:
        show.reasons(asked, ours, out)
    out.print(show.counts(asked, ours), soft_wrap=True, highlight=False)


def _write(asked: Sequence[Row], ours: Answers, shown: Shown) -> None:
    if not shown.page and not shown.pdf:
        return
    text = page.html(asked, ours)
    if shown.page:
        files.write(shown.page, text)
    if shown.pdf:
        with tempfile.TemporaryDirectory(prefix="overlock-reproduce-") as folder:
            html = Path(folder) / "page.html"
            html.write_text(text)
            page.pdf(html, shown.pdf)
