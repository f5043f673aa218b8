# SPDX-License-Identifier: MIT
"""Drawings of results: as SVG for the report, in colours that its style sheet sets, and as PNG."""

import io
import re
from html import escape

from matplotlib.figure import Figure

from overlock_tools.core.analyze.derived import View
from overlock_tools.core.model.histograms import Times
from overlock_tools.core.model.quantities import duration, per_unit, seconds, si
from overlock_tools.core.render.canvas import INK, SERIES, SHARES, Frame
from overlock_tools.core.render.lines import Line, lines
from overlock_tools.core.render.rows import Dots, Panel, rows


def _sorted(values: dict[str, float], largest: bool = False) -> list[str]:
    return sorted(values, key=values.__getitem__, reverse=largest)


def rates(view: View, frame: Frame | None = None) -> Figure:
    return lines(view, Line("rate", f"{view.result.unit} per second", si), frame)


def gaps(view: View, frame: Frame | None = None) -> Figure:
    axis = "longest time between acquisitions of a thread"
    return lines(view, Line("gap", axis, duration), frame)


def ratios(view: View, frame: Frame | None = None) -> Figure:
    """To the baseline, with the interval, the best on top."""
    base = view.result.baseline
    found = {v: r for v in view.variants if (r := view.ratio(v, base, view.judged))}
    values = {variant: ratio.value for variant, ratio in found.items()}
    bars = {v: (r.low, r.high) for v, r in found.items() if r.low is not None and r.high}
    wide = max(values.values(), default=1) > 10 * min(values.values(), default=1)
    panel = Panel(
        f"rate relative to {base}",
        lambda value: f"{si(value).strip()}×",
        [Dots("", "o", values)],
        bars,
        log=wide,
        line=1.0,
    )
    return rows(view, _sorted(values, largest=True), [panel], frame)


def values_at(view: View, measure: str) -> dict[str, float]:
    found = {v: view.value(measure, v, view.at) for v in view.variants}
    return {variant: value for variant, value in found.items() if value is not None}


def latency(view: View, frame: Frame | None = None) -> Figure:
    low, high = values_at(view, "p50"), values_at(view, "max")
    dots = [
        Dots("p50", "o", low),
        Dots("p99", "|", values_at(view, "p99")),
        Dots("p99.99", "^", values_at(view, "p99.99")),
        Dots("max", "s", high, filled=False),
        Dots("longest gap", "D", values_at(view, "gap"), filled=False),
    ]
    bars = {variant: (low[variant], high[variant]) for variant in low}
    panel = Panel(f"waiting to acquire, {view.at} threads", duration, dots, bars, log=True)
    return rows(view, _sorted(values_at(view, "p99")), [panel], frame)


def fairness(view: View, frame: Frame | None = None) -> Figure:
    even, least = values_at(view, "jain"), values_at(view, "least_to_most")
    panels = [
        Panel("Jain's index", "{:g}".format, [Dots("", "o", even)], limits=SHARES),
        Panel("least ÷ most", "{:g}".format, [Dots("", "o", least)], limits=SHARES),
    ]
    return rows(view, _sorted(even, largest=True), panels, frame)


def cost(view: View, frame: Frame | None = None) -> Figure:
    costs, spinning = values_at(view, "cpu"), values_at(view, "spinning")
    panels = [Panel("per unit of work", per_unit, [Dots("", "o", costs)], log=True)]
    if spinning:
        bars = {variant: (0.0, share) for variant, share in spinning.items()}
        dots = [Dots("", "|", spinning)]
        panels.append(Panel("share outside the work", "{:.0%}".format, dots, bars, limits=SHARES))
    return rows(view, _sorted(costs), panels, frame)


def handover(view: View, frame: Frame | None = None) -> Figure:
    typical = values_at(view, "handover")
    rare = {
        v: Times([cell.handover for cell in view.cells(v, view.at)]).percentile(99) for v in typical
    }
    bars = {variant: (typical[variant], rare[variant]) for variant in typical}
    dots = [Dots("median", "o", typical), Dots("p99", "|", rare)]
    axis = f"release to next acquisition, {view.at} threads"
    return rows(view, _sorted(typical), [Panel(axis, duration, dots, bars, log=True)], frame)


def queue(view: View, frame: Frame | None = None) -> Figure:
    mean, most = values_at(view, "queue"), values_at(view, "queue_max")
    dots = [Dots("mean", "o", mean), Dots("most", "|", most)]
    panel = Panel(f"other threads waiting, of {view.at - 1}", "{:g}".format, dots)
    return rows(view, _sorted(mean), [panel], frame)


def run_times(view: View, frame: Frame | None = None) -> Figure:
    mean, deviation = values_at(view, "run_time"), values_at(view, "run_time_sd")
    bars = {
        v: (max(t - deviation.get(v, 0), 0.0), t + deviation.get(v, 0)) for v, t in mean.items()
    }
    wide = max(mean.values(), default=1) > 10 * min(mean.values(), default=1)
    axis = f"run time of a thread, mean ± σ, {view.at} threads"
    panel = Panel(axis, seconds, [Dots("", "o", mean)], bars, log=wide)
    return rows(view, _sorted(mean), [panel], frame)


def svg(figure: Figure, title: str) -> str:
    """The figure as an element of a page, its colours left to the page's style sheet."""
    text = _svg(figure)
    for i, (light, _) in enumerate(SERIES):
        text = text.replace(light, f"var(--series-{i})")
    text = text.replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="s:([^"]*)"', r' class="s" data-s="\1"', text)
    text = re.sub(r' id="[a-zA-Z]+[a-zA-Z0-9]*_\d+"', "", text)
    text = re.sub(r" font-family: [^;\"]*;?|font: ([^;\"]*?) '[^\"]*?(?=[;\"])", r"", text)
    text = re.sub(r"\s*\n\s*", " ", re.sub(r">\s+<", "><", text)).strip()
    head, rest = text.split(">", 1)
    return f'{head} role="img" aria-label="{escape(title)}">{rest}'


def _svg(figure: Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def picture(figure: Figure, kind: str) -> bytes:
    """For where there is no page around it: on white; `kind` is png or svg."""
    figure.patch.set_alpha(1)
    figure.patch.set_facecolor("white")
    out = io.BytesIO()
    metadata: dict[str, str | None] = {"Software": None} if kind == "png" else {"Date": None}
    figure.savefig(out, format=kind, dpi=200, metadata=metadata)
    return out.getvalue()
