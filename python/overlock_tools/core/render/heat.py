# SPDX-License-Identifier: MIT
"""Many results at a glance: locks by workloads, each cell said in colour, number and word."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from overlock_tools.core.analyze.derived import COLLAPSED, View
from overlock_tools.core.model.quantities import duration, per_unit

# Shares of the best from which a cell has one colour more; the last one left has the first.
STEPS = (COLLAPSED, 0.25, 0.5, 0.75, 0.9)
COLLAPSED_WORD = "▼ collapsed"
BEST_WORD, LIKE_BEST = "★ best", "≈ best"
AHEAD = "> best"  # whose median is the greatest, but not round by round


def broken(name: str) -> str:
    """A name that a narrow column may break after each of its words."""
    return escape(name).replace("_", "_<wbr>")


@dataclass(frozen=True)
class Cell:
    share: float  # of the best, however far it is
    number: str
    word: str = ""

    @property
    def html(self) -> str:
        level = sum(self.share >= step for step in STEPS)
        word = f"<small>{self.word}</small>" if self.word else ""
        return f'<td class="h{level}">{escape(self.number)}{word}</td>'


@dataclass(frozen=True)
class Heat:
    title: str
    how: str
    columns: Sequence[View]
    rows: dict[str, list[Cell | None]]

    @property
    def html(self) -> str:
        head = "".join(
            f'<th scope="col"><a href="#{view.anchor}">{broken(view.name)}</a></th>'
            for view in self.columns
        )
        body = "".join(
            f'<tr data-s="{escape(variant)}"><th scope="row">{broken(variant)}</th>'
            + "".join(cell.html if cell else "<td>·</td>" for cell in cells)
            + "</tr>"
            for variant, cells in self.rows.items()
        )
        return (
            f'<h3>{escape(self.title)}</h3><p class="soft">{escape(self.how)}</p>'
            f'<div class="scroll"><table class="heat"><thead><tr><th scope="col">lock</th>{head}'
            f"</tr></thead><tbody>{body}</tbody></table></div>"
        )


def tables(views: Sequence[View]) -> list[Heat]:
    """The first one of rates; others of what is known of more than one result."""
    views = [view for view in views if len(view.variants) > 1]
    found = [_rates(views)] if views else []
    for measure, title, text in LESS:
        heat = _less(views, measure, title, text)
        if heat:
            found.append(heat)
    return found


def _rates(views: Sequence[View]) -> Heat:
    cells = {v: [_rate(view, v) for view in views] for v in _variants(views)}
    return Heat(
        "Rate, as a share of the best",
        "Geometric mean over the numbers of threads above the number of CPUs (over all numbers if "
        f"none is). {LIKE_BEST}: no significant difference from the best. {COLLAPSED_WORD}: less "
        f"than {COLLAPSED:.0%} of the best.",
        views,
        _best_first(cells),
    )


def _rate(view: View, variant: str) -> Cell | None:
    top = view.best_of_all
    ratio = view.ratio(variant, top, view.judged) if top and variant in view.variants else None
    if ratio is None:
        return None
    if variant == top:
        return Cell(1.0, "100 %", BEST_WORD)
    number = percent(ratio.value)
    if ratio.value < COLLAPSED:
        return Cell(ratio.value, number, COLLAPSED_WORD)
    word = LIKE_BEST if ratio.alike else AHEAD if ratio.above_one else ""
    return Cell(ratio.value, number, word)


LESS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("p99", "Waiting, 99th percentile", duration),
    ("gap", "Longest gap between two acquisitions of one thread", duration),
    ("cpu", "CPU time per unit of work", per_unit),
)


def _less(
    views: Sequence[View], measure: str, title: str, text: Callable[[float], str]
) -> Heat | None:
    views = [view for view in views if view.known(measure, view.at)]
    if not views:
        return None
    columns = []
    for view in views:
        known = {v: spread.value for v, spread in view.known(measure, view.at).items()}
        least = min(known.values())
        columns.append({v: _least(value, least, text) for v, value in known.items()})
    cells = {v: [column.get(v) for column in columns] for v in _variants(views)}
    counts = sorted({view.at for view in views})
    return Heat(
        title,
        f"At {' or '.join(map(str, counts))} threads. {BEST_WORD}: the least.",
        views,
        _best_first(cells),
    )


def percent(share: float) -> str:
    if share < 1e-4:
        return "< 0.01 %"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _least(value: float, least: float, text: Callable[[float], str]) -> Cell:
    share = least / value if value else 1.0
    return Cell(share, text(value), BEST_WORD if value == least else "")


def _variants(views: Sequence[View]) -> list[str]:
    return list(dict.fromkeys(variant for view in views for variant in view.variants))


def _best_first(cells: dict[str, list[Cell | None]]) -> dict[str, list[Cell | None]]:
    def mean(variant: str) -> float:
        shares = [max(cell.share, 1e-9) for cell in cells[variant] if cell]
        return sum(map(math.log, shares)) / len(shares) if shares else -math.inf

    return {variant: cells[variant] for variant in sorted(cells, key=mean, reverse=True)}
