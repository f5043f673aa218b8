# SPDX-License-Identifier: MIT
"""Plots of results: SVG for the report, in colours that its style sheet sets, and PNG."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from overlock_tools.results import Result
from overlock_tools.tables import si

# Okabe and Ito's colours, which the colour-blind can tell apart, and two greys; (light, dark).
SERIES = (
    ("#d55e00", "#ff8b3d"),
    ("#0072b2", "#5db8f5"),
    ("#009e73", "#2fd0a2"),
    ("#b5589a", "#eb9ccd"),
    ("#a07800", "#e8b800"),
    ("#3f4aa8", "#9fa8ff"),
    ("#6b6b6b", "#a8a8a8"),
    ("#8c4a2f", "#d39b80"),
)
INK = "#010203"  # stands for the text colour until the style sheet says which
MARKERS = "osD^vP"
WIDTH_INCHES = 5.2  # so that text is still readable when a phone shows it at 360 pixels


@dataclass(frozen=True)
class Style:
    """How one variant is drawn wherever it appears."""

    index: int
    dashed: bool  # peers, so that they are not told by colour alone

    @property
    def colour(self) -> str:
        return SERIES[self.index % len(SERIES)][0]

    @property
    def marker(self) -> str:
        return MARKERS[self.index % len(MARKERS)]

    @property
    def line(self) -> str:
        return "--" if self.dashed else ("-" if self.index < len(SERIES) else ":")


def styles(result: Result) -> dict[str, Style]:
    """The baseline of a program comes last, so that a lock looks alike in all results of a page."""
    ordered = sorted(result.variants, key=lambda v: v == result.baseline and v in result.peers)
    return {v: Style(i, v in result.peers) for i, v in enumerate(ordered)}


def _figure(height: float) -> tuple[Figure, Axes]:
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "overlock", "font.size": 11})
    figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    axes.tick_params(colors=INK, which="both")
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(INK)
    axes.grid(True, color=INK, alpha=0.15, linewidth=0.7)
    axes.set_axisbelow(True)
    return figure, axes


def rates(result: Result) -> Figure:
    """Rate over numbers of threads, both logarithmic: median, and the range over the rounds."""
    figure, axes = _figure(4.2)
    for variant, style in styles(result).items():
        _draw_rates(axes, result, variant, style)
    axes.set_xscale("log", base=2)
    _log_rates(axes, [rate for cell in result.cells if (rate := cell.rate)])
    axes.set_xticks(result.threads, [str(n) for n in result.threads])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: si(float(value)).strip()))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"threads, on {result.cpus} CPUs", color=INK)
    axes.set_ylabel(f"{result.unit} per second", color=INK)
    if min(result.threads) <= result.cpus < max(result.threads):
        axes.axvline(result.cpus, color=INK, alpha=0.5, linewidth=1, linestyle=(0, (2, 3)))
    return figure


def _log_rates(axes: Axes, rates: list[float]) -> None:
    """A logarithmic axis with several labels, however few decades there are."""
    axes.set_yscale("log")
    low, high = min(rates, default=1), max(rates, default=1)
    axes.set_ylim(low / 1.4, high * 1.4)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 50 * low else (1.0,)))


def _draw_rates(axes: Axes, result: Result, variant: str, style: Style) -> None:
    threads = [n for n in result.threads if result.of(variant, n)]
    if not threads:
        return
    found = [result.rates(variant, n) for n in threads]
    medians = [result.median_rate(variant, n) or 0 for n in threads]
    down = [m - min(r) for m, r in zip(medians, found, strict=True)]
    up = [max(r) - m for m, r in zip(medians, found, strict=True)]
    axes.errorbar(
        threads,
        medians,
        yerr=[down, up],
        label=variant,
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        markersize=4.5,
        linewidth=1.8,
        elinewidth=0.9,
        capsize=2,
    )
    bounds = [n for n in threads if result.cut(variant, n)]
    axes.plot(
        bounds,
        [result.median_rate(variant, n) or 0 for n in bounds],
        **_hollow(style),
    )


def _hollow(style: Style) -> dict[str, Any]:
    """Of a run that did not finish: its value is a bound."""
    return {
        "linestyle": "",
        "marker": style.marker,
        "markersize": 7,
        "markerfacecolor": "none",
        "markeredgecolor": style.colour,
    }


def ratios(result: Result, threads: Sequence[int]) -> Figure:
    """The ratio to the baseline with its interval, the best on top."""
    found = {v: result.ratio(v, result.baseline, list(threads)) for v in result.variants}
    known = sorted(((v, r) for v, r in found.items() if r), key=lambda item: item[1].value)
    figure, axes = _figure(0.75 + 0.3 * len(known))
    drawn = styles(result)
    for y, (variant, ratio) in enumerate(known):
        style = drawn[variant]
        if ratio.low is not None and ratio.high is not None:
            axes.plot([ratio.low, ratio.high], [y, y], color=style.colour, linewidth=2.5)
        bound = any(result.cut(variant, n) for n in threads)
        full = {"color": style.colour, "marker": style.marker, "markersize": 6}
        axes.plot([ratio.value], [y], **(_hollow(style) if bound else full))
    axes.axvline(1, color=INK, alpha=0.6, linewidth=1)
    axes.set_xscale("log")
    values = [x for _, r in known for x in (r.low or r.value, r.high or r.value)]
    if max(values) < 10 * min(values):  # the decades would leave one label, or none
        axes.set_xscale("linear")
        axes.set_xlim(left=0)
    else:
        axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{si(float(value)).strip()}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(known)), [variant for variant, _ in known])
    axes.set_xlabel(f"times the rate of {result.baseline}", color=INK)
    return figure


def svg(figure: Figure, title: str) -> str:
    """The figure as an element of a page, its colours left to the page's style sheet."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    for i, (light, _) in enumerate(SERIES):
        text = text.replace(light, f"var(--series-{i})")
    text = text.replace(INK, "currentColor")
    head, rest = text.split(">", 1)
    label = title.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'{head} role="img" aria-label="{label}">{rest}'


def picture(result: Result) -> bytes:
    """The rates as PNG, on white, with title and legend: for where there is no page around it."""
    figure = rates(result)
    axes = figure.axes[0]
    ink = "#1b1f24"
    lengths = [
        f"{result.settings[key]:g} ns" for key in ("cs_ns", "ncs_ns") if key in result.settings
    ]
    title = f"{lengths[0]} in the lock, {lengths[1]} outside" if len(lengths) == 2 else result.title
    axes.set_title(title, loc="left", fontsize=12, color=ink)
    handles, labels = axes.get_legend_handles_labels()
    last = {v: result.median_rate(v, result.threads[-1]) or 0 for v in result.variants}
    ordered = sorted(zip(labels, handles, strict=True), key=lambda entry: -last[entry[0]])
    axes.legend(
        [handle for _, handle in ordered],
        [label for label, _ in ordered],
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        frameon=False,
        fontsize=10,
    )
    for text in (axes.xaxis.label, axes.yaxis.label):
        text.set_color(ink)
    axes.tick_params(colors=ink, which="both")
    figure.set_size_inches(8.2, 4.4)
    figure.patch.set_alpha(1)
    figure.patch.set_facecolor("white")
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=160, metadata={"Software": None})
    return out.getvalue()
