# SPDX-License-Identifier: MIT
"""The report, as a browser sees it, and its refusal to need anything but itself."""

import copy
import csv
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from html import escape, unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from overlock_tools.core.analyze import paper_claims, verdict
from overlock_tools.core.analyze.derived import View
from overlock_tools.core.model import quantities, results
from overlock_tools.core.model.results import GivenUp, Result
from overlock_tools.core.render import canvas, figures, heat, lines, plots, report, tables
from tests.command import Overlock
from tests.core import planted
from tests.processes import HANG_S

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--enable-logging=stderr", "--force-device-scale-factor=1", "--hide-scrollbars"),
]
LIGHT, DARK = (f"--blink-settings=preferredColorScheme={scheme}" for scheme in (1, 0))
# The page in a frame as wide as a phone or a desk; what the frame sees goes into the outer page.
FRAME = """<!doctype html><meta charset="utf-8">
<body style="margin:0"><iframe id="f" width="{width}" height="3000"
style="border:0" srcdoc="{page}"></iframe><pre id="seen"></pre><script>
const frame = document.getElementById("f");
frame.onload = () => {{
  const d = frame.contentDocument, style = e => frame.contentWindow.getComputedStyle(e);
  const all = what => [...d.querySelectorAll(what)];
  const size = e => {{ const r = e.getBoundingClientRect(); return [r.width, r.height]; }};
  const behind = e => {{
    const clear = () => /, 0\\)$|transparent/.test(style(e).backgroundColor);
    while (e.parentElement && clear()) e = e.parentElement;
    return style(e).backgroundColor;
  }};
  const texts = [
    ...all("p, h1, h2, h3, button, a, td, th, small, pre, summary").map(
      e => [style(e).color, behind(e), e.textContent]),
    ...all("figure svg text").map(e => [style(e).fill, behind(e.ownerSVGElement), e.textContent]),
  ];
  const seen = {{
    title: d.title, width: d.documentElement.clientWidth, needed: d.documentElement.scrollWidth,
    plots: all("figure svg").map(size), letters: all("figure svg text").map(e => size(e)[1]),
    outside: all("figure svg text").filter(e => {{
      const r = e.getBoundingClientRect(), f = e.closest("figure").getBoundingClientRect();
      return r.left < f.left || r.right > f.right;
    }}).map(e => e.textContent),
    captions: all("figure").map(e => e.querySelectorAll("figcaption p:not(.soft)").length),
    tables: all("table").length, heat: all(".heat").length, sections: all("section").length,
    paper: style(d.body).backgroundColor, text: d.body.innerText,
    texts: [...new Set(texts.map(t => JSON.stringify(t)))].map(t => JSON.parse(t)),
    lines: all("figure svg path").map(e => style(e).stroke),
  }};
  const button = d.querySelector(".legend button");
  button.click();
  seen.picked = button.dataset.s;
  seen.on = [...new Set(all(".on").map(e => e.dataset.s))];
  seen.figuresOn = all("figure").filter(e => e.querySelector(".s.on")).length;
  seen.pressed = button.getAttribute("aria-pressed");
  d.getElementById("theme").click();
  seen.otherPaper = style(d.body).backgroundColor;
  document.getElementById("seen").textContent = JSON.stringify(seen);
}};
</script>"""


@pytest.fixture(scope="module")
def world() -> list[Result]:
    """All contenders, all measures, two workloads; and what can be said of a result besides."""
    quota = {
        "asked": {},
        "seen": {},
        "held": True,
        "words": "a quota of 1 CPUs in every 100 ms, used up in 312 of 400 periods",
    }
    one, other = planted.world("sections"), planted.world("fairness", 2)
    one.warnings.append("something <else> & more was running")
    one.collapsed.append(GivenUp("mcs", 64, "a tenth of the best"))
    one.missing.append("nsync_mu")
    one.impossible.append(GivenUp("twa", 64, "no memory"))
    other.scenario = {"settings": {"quota": "1"}, "proof": {"quota": quota}}
    other.complete = False
    return [one, other]


@pytest.fixture(scope="module")
def page(world: list[Result], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report.html(world, "overlock report <x>", ["A first word."]))
    return path


def browse(page: Path, folder: Path, width: int, *flags: str) -> tuple[dict[str, Any], str]:
    """What a frame of that width sees, and what the browser's console said."""
    outer = folder / f"frame{width}.html"
    outer.write_text(FRAME.format(width=width, page=escape(page.read_text())))
    profile = f"--user-data-dir={folder}/profile"
    window = ["--window-size=1500,3000", "--dump-dom"]
    done = subprocess.run(
        [CHROMIUM, *FLAGS, *flags, profile, *window, f"file://{outer}"],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    seen = re.search(r'<pre id="seen">(.+?)</pre>', done.stdout, re.DOTALL)
    assert seen, done.stdout[-2000:] + done.stderr[-2000:]
    found: dict[str, Any] = json.loads(unescape(seen[1]))
    return found, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@pytest.mark.parametrize("width", [390, 1400])
def test_page_in_a_browser(page: Path, tmp_path: Path, width: int) -> None:
    seen, console = browse(page, tmp_path, width)
    assert console == ""
    assert seen["title"] == "Overlock report"
    assert seen["width"] == width
    assert seen["needed"] <= width, "the page scrolls sideways"
    assert len(seen["plots"]) == 8 + 9
    assert all(200 < w <= width and h > 80 for w, h in seen["plots"])
    assert min(seen["letters"]) >= 8, "text in a plot is too small to read"
    assert seen["outside"] == [], "text in a plot is cut off"
    assert sum(seen["captions"]) >= len(seen["captions"]), "figures have no verdicts"
    assert seen["heat"] == 4
    for words in (
        "A first word.",
        "something <else> & more was running",
        "overlock report <x>",
        "overlock bench sections --locks",
        "Verified from outside, quota: a quota of 1 CPUs in every 100 ms, used up in 312 of 400",
        "The measurement was interrupted",
        "Not compared because not installed: nsync_mu.",
        "Impossible: twa at 64 (no memory).",
        "▼ collapsed",
        "★ best",
        "hollow: cut, measured in one round only",
    ):
        assert words in seen["text"]


def test_a_lock_is_picked_out_everywhere(page: Path, tmp_path: Path) -> None:
    seen, _ = browse(page, tmp_path, 800)
    assert seen["on"] == [seen["picked"]]
    assert seen["figuresOn"] == len(seen["plots"])
    assert seen["pressed"] == "true"


def test_light_and_dark(page: Path, tmp_path: Path) -> None:
    light, _ = browse(page, tmp_path, 800, LIGHT)
    dark, _ = browse(page, tmp_path, 800, DARK)
    assert luminance(light["paper"]) > 0.8
    assert luminance(dark["paper"]) < 0.2
    assert (light["otherPaper"], dark["otherPaper"]) == (dark["paper"], light["paper"])
    for seen in (light, dark):
        poor = [text for ink, paper, text in seen["texts"] if contrast(ink, paper) < 4.5]
        assert poor == [], "text that is hard to read"
        drawn = {line for line in seen["lines"] if line.startswith("rgb(")}
        assert len(drawn) >= 5, "the lines of the plots have lost their colours"
        assert all(contrast(line, seen["paper"]) >= 3 for line in drawn)
    assert set(light["lines"]) != set(dark["lines"])


def luminance(colour: str) -> float:
    """WCAG 2's relative luminance."""
    parts = [int(n) / 255 for n in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_page_loads_nothing(page: Path) -> None:
    text = page.read_text()
    assert not re.findall(r'(?:src|href|data|poster|action)\s*=\s*"(?!#)', text)
    assert "@import" not in text
    assert not re.findall(r"url\((?!#)", text)
    assert "default-src 'none'" in text
    assert not re.findall(r"https?://(?!www\.w3\.org/)", text)  # names of XML's kinds


def test_page_is_not_too_long(page: Path) -> None:
    """Nine workloads of as many contenders, rounds and measures are to stay within 5 MB."""
    assert page.stat().st_size < 5e6 * 2 / 9


def test_a_paper_s_numbers_stand_beside_ours() -> None:
    found = planted.result({"byte": {4: 9.0}, "ticket": {4: 9.0}}, [], "lockloop")
    text = report.html([found], "x")
    assert "Long (slides): mean ms" not in text, "without run times there is nothing to compare"
    found.settings["turns"] = 1000
    for cell in found.cells:
        cell.finish_ns = [1_000_000, 3_000_000]
    text = report.html([found], "x")
    row = "".join(f"<td>{ms}</td>" for ms in ("386", "153", "2,000", "1,029"))
    assert f'<th scope="row">4</th>{row}' in text  # 2 ms for 1,000 pairs, 2 s for a million
    claims = paper_claims.claims(found)
    assert claims
    for claim in claims:
        assert escape(claim.sentence) in text
        assert f"<td>{escape(claim.verdict)}</td><td>{escape(claim.reason)}</td>" in text


def test_what_takes_no_lock_goes_by_its_own_name() -> None:
    found = planted.result({"ticket": {1: 100.0, 2: 50.0}}, [], "invalidation")
    (claim,) = paper_claims.claims(View(found).result)
    assert claim.reason.startswith("invalidation with 2 threads ÷ one: 0.50×")
    text = report.html([found], "x")
    assert "ticket" not in re.sub("<section><h2>How it was.*", "", text, flags=re.DOTALL)
    assert "invalidation uses no lock of --locks, so it was measured only once" in text
    shown = [tables.matrix(found, 1, 1), tables.detail(found, 2), tables.overall(found)]
    for table in shown:
        lines = printed(table)
        assert lines[-1].startswith("invalidation ")
        assert "ticket" not in "".join(lines)


def test_how_a_throw_was_counted_stands_beside_it() -> None:
    found = planted.result({"ticket": {1: 9.0}, "tas": {1: 9.0}}, [], "throw_locked")
    found.native = {
        "throw": {"throws": 7, "searches": 14, "mutex_calls": 0, "loader_calls": 0, "libc": "glibc"}
    }
    assert "7 throws made 14 searches" in report.html([found], "x")


def test_each_machine_is_named_where_they_differ() -> None:
    rates = {"ticket": {8: 1.0}, "tas": {8: 50.0}}
    one, other = (planted.result(rates, [], kind) for kind in ("one", "other"))
    assert "Measured on" not in report.html([one, other], "x")
    other.machine = {**planted.MACHINE, "cpu": "Another CPU"}
    text = report.html([one, other], "x")
    assert "These results come from 2 machines: compare only within a column." in text
    assert text.count("Measured on 2 CPUs, Another CPU") == 1
    assert text.count("Measured on 2 CPUs, Made-up CPU") == 1
    assert re.search(r"<h2>Machine 2</h2><p>2 CPUs, Another CPU", text)


def test_links_lead_to_what_they_name() -> None:
    rates = {"ticket": {8: 1.0}, "tas": {8: 50.0}}
    lone = planted.result({"none": {8: 1.0}}, [], "lone")
    found = [lone, *(planted.result(rates, [], kind) for kind in ("one", "other"))]
    text = report.html(found, "x")
    links = re.findall(r'<a href="#(\w+)">(\w+)</a>', text)
    assert {name for _, name in links} == {"lone", "one", "other"}
    for anchor, name in links:
        assert f'<section id="{anchor}"><h2>{name}</h2>' in text


def test_names_are_text_and_nothing_else() -> None:
    found = planted.result({'<i a="b">&': {1: 9, 4: 9}, "tas": {1: 9, 4: 9}}, [], "program")
    found.title = found.command = "<script>alert(1)</script>"
    text = report.html([found], "x")
    assert "<i a=" not in text
    assert text.count("<script>") == 1
    for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(drawing)  # noqa: S314 - our own


# Figures


def test_many_series_are_told_apart_by_what_matters(world: list[Result]) -> None:
    view = View(world[0])
    drawn = canvas.styles(view)
    bold = {style.role: variant for variant, style in drawn.items() if style.bold}
    assert bold == {
        "baseline": "ticket",
        "best lock": view.best_lock,
        "best peer": view.best_peer,
    }
    fallen = {variant for variant, style in drawn.items() if style.role == "collapsed"}
    assert {"mcs", "twa", "ck_spinlock_mcs"} <= fallen
    assert {style.colour for v, style in drawn.items() if not style.role} == {canvas.GREY}
    assert {v for v, style in drawn.items() if style.dashed} == set(world[0].peers)


def test_few_series_have_a_colour_each() -> None:
    found = planted.result({f"lock{i}": {1: 9, 4: 9} for i in range(8)}, ["lock7"])
    assert len({style.colour for style in canvas.styles(View(found)).values()}) == 8


@pytest.mark.parametrize(
    "places", [[], [0.5], [0.5] * 7, [0, 0.01, 0.02, 1, 1], [0.1, 0.5, 0.9], [1.0] * 11]
)
def test_labels_do_not_hide_each_other(places: list[float]) -> None:
    moved = lines.moved_apart(places, 0.1)
    assert len(moved) == len(places)
    assert all(b - a > 0.0999 for a, b in pairwise(moved))
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in moved)
    if all(b - a >= 0.1 for a, b in pairwise(places)):
        assert moved == places


def test_what_was_not_measured_in_full_is_hollow() -> None:
    found = planted.result({"ticket": {1: 9, 8: 1}, "tas": {1: 9, 8: 9}}, [])

    def hollow() -> list[str]:
        axes = plots.rates(View(found)).axes[0]
        return [str(a.get_gid()) for a in axes.lines if a.get_markerfacecolor() == "none"]

    assert hollow() == []
    found.cells[-1].cut = True
    found.collapsed.append(GivenUp("ticket", 8, "a tenth of the best"))
    assert sorted(hollow()) == ["s:tas", "s:ticket"]


def test_what_did_nothing_is_drawn_where_one_turn_would_be() -> None:
    found = planted.result({"ticket": {1: 9, 8: 0}, "tas": {1: 9, 8: 9}}, [])
    axes = plots.rates(View(found)).axes[0]
    lines = [line for line in axes.lines if line.get_gid() == "s:ticket"]
    assert np.asarray(lines[0].get_xydata()) == pytest.approx(np.array([[1, 9], [8, 1]]))
    assert [line.get_markerfacecolor() for line in lines].count("none") == 1


def test_heat_says_what_its_colours_say() -> None:
    rates = {"ticket": {8: 1.0}, "tas": {8: 50.0}, "ttas": {8: 90.0}, "mutex": {8: 90.0}}
    views = [View(planted.result(rates, ["mutex"], kind)) for kind in ("one", "other")]
    for cell in views[0].result.cells:
        if cell.variant == "mutex":
            cell.work = 180 - cell.work
    (found, *_) = heat.tables([View(view.result) for view in views])
    words = {variant: cells[0].word for variant, cells in found.rows.items() if cells[0]}
    best, alike = (v for v in found.rows if v in ("ttas", "mutex"))
    assert words == {best: "★ best", alike: "≈ best", "tas": "", "ticket": "▼ collapsed"}
    assert 'class="h0">1.1 %<small>▼ collapsed' in found.html
    assert list(found.rows)[-1] == "ticket"


@pytest.mark.parametrize(
    ("share", "text"),
    [(1, "100 %"), (0.996, "100 %"), (0.5, "50 %"), (0.034, "3.4 %"), (3e-7, "< 0.01 %")],
)
def test_shares(share: float, text: str) -> None:
    assert heat.percent(share) == text


# The command


def test_report_command(overlock: Overlock, tmp_path: Path, result_file: Path) -> None:
    done = overlock("report", result_file, result_file, "-o", "r.html", "--png", "r.png")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["written: r.html", "written: r.png"]
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert (tmp_path / "r.html").read_text().count('<section id="r') == 2
    assert {path.name for path in tmp_path.iterdir()} == {"r.html", "r.png"}


def test_every_figure_as_a_picture_that_is_read_alone(
    overlock: Overlock, tmp_path: Path, world: list[Result]
) -> None:
    from PIL import Image

    given, pictures = tmp_path / "results", tmp_path / "pictures"
    given.mkdir()
    pictures.mkdir()
    (given / "fairness.json").write_text(world[1].partial_json())
    done = overlock("report", given, "--png", pictures, "--svg", pictures)
    assert done.returncode == 0, done.stderr
    view = View(world[1])
    names = {f"01-fairness-{kind.name}" for kind in figures.of(view)}
    assert {p.name for p in pictures.iterdir()} == {
        f"{n}.{k}" for n in names for k in ("png", "svg")
    }
    for kind in figures.of(view):
        path = pictures / f"01-fairness-{kind.name}.svg"
        drawing = ET.parse(path)  # noqa: S314 - our own
        text = " ".join("".join(e.itertext()) for e in drawing.iterfind(".//{*}text"))
        assert f"{view.name}: {kind.title}" in text
        for sentence in kind.said(view):
            assert sentence in text
        assert "est lock: tas_yield" in text, "no legend"
        with Image.open(path.with_suffix(".png")) as image:
            image.load()  # all of it is there
            assert image.convert("RGB").getpixel((2, 2)) == (255, 255, 255)


def test_a_name_without_an_ending_is_a_folder(
    overlock: Overlock, tmp_path: Path, result_file: Path
) -> None:
    done = overlock("report", result_file, "--png", "pictures/")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "pictures").glob("01-*.png"))) > 1
    (tmp_path / "file").touch()
    done = overlock("report", result_file, "--png", "file")
    why = "overlock: file is a file; give a folder, or a file name that ends in .png\n"
    assert (done.returncode, done.stderr) == (2, why)


def widest_label(axes: Axes) -> float:
    """Of a tick, which may stand at either end of the axis."""
    return float(max(label.get_window_extent().width for label in axes.get_xticklabels()))


def test_labels_of_two_axes_do_not_collide(world: list[Result]) -> None:
    view, pairs = View(world[1]), 0
    for kind in figures.of(view):
        figure = kind.draw(view, kind.frame(view))
        figure.draw_without_rendering()
        for left, right in pairwise(figure.axes):
            if left.get_position().y0 == right.get_position().y0:
                room = right.get_window_extent().x0 - left.get_window_extent().x1
                assert (widest_label(left) + widest_label(right)) / 2 < room, kind.name
                names = [axes.xaxis.label.get_window_extent() for axes in (left, right)]
                assert names[0].x1 < names[1].x0, kind.name
                pairs += 1
    assert pairs


def test_each_verdict_stands_once_and_the_conclusion_first(world: list[Result]) -> None:
    for result in world:
        (section,) = re.findall(r"<section id=.*?</section>", report.html([result], ""), re.DOTALL)
        words = [unescape(line) for line in re.findall(r"<p>(.*?)</p>", section)]
        conclusion = verdict.conclusion(View(result))
        assert words[0] == conclusion
        view = View(result)
        assert conclusion == view.judgements[-1].sentence
        said = {line for kind in figures.of(view) for line in kind.said(view)}
        said |= {*verdict.summary(view)}
        assert {line: words.count(line) for line in said} == dict.fromkeys(said, 1)


def test_the_header_has_date_and_command(world: list[Result]) -> None:
    one, other = copy.deepcopy(world[:2])
    one.settings["date"], other.settings["date"] = "2026-02-03", "2026-02-01"
    header = report.html([one], "").split("</header>")[0]
    assert "Measured on 2026-02-03." in header
    assert escape(one.command) in header
    both = report.html([one, other], "")
    assert "Measured on 2026-02-01 to 2026-02-03." in both.split("</header>")[0]
    assert escape(other.command) in both


def test_text_of_a_picture_is_within_it(world: list[Result]) -> None:
    view = View(world[1])
    for kind in figures.of(view):
        figure = kind.draw(view, kind.frame(view))
        figure.draw_without_rendering()
        width, height = figure.bbox.size
        texts = [*figure.texts, *(t for axes in figure.axes for t in axes.texts)]
        for text in filter(lambda t: t.get_text(), texts):
            box = text.get_window_extent()
            inside = box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height
            assert inside, f"{kind.name}: {text.get_text()!r} is cut off"


def test_csv_of_many_results(overlock: Overlock, tmp_path: Path, result_file: Path) -> None:
    done = overlock("report", result_file, result_file, "--csv", "r.csv")
    assert (done.returncode, done.stdout) == (0, "written: r.csv\n")
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    assert len(rows) == 2 * len(results.from_file(result_file).cells)
    assert {row["workload"] for row in rows} == {"sections"}


def test_other_number_of_threads(overlock: Overlock, tmp_path: Path, result_file: Path) -> None:
    assert overlock("report", result_file, "-o", "r.html", "--at", "2").returncode == 0
    assert "Fairness, 2 threads".lower() in (tmp_path / "r.html").read_text().lower()


def test_partial_result_says_so(overlock: Overlock, tmp_path: Path, result_file: Path) -> None:
    body = json.loads(result_file.read_text())
    body["cells"], body["complete"] = body["cells"][:20], False
    (tmp_path / "part.json").write_text(json.dumps(body))
    assert overlock("report", "part.json", "-o", "r.html").returncode == 0
    assert "The measurement was interrupted" in (tmp_path / "r.html").read_text()


def test_refusals(overlock: Overlock, tmp_path: Path, result_file: Path) -> None:
    body = json.loads(result_file.read_text())
    body["cells"] = []
    (tmp_path / "none.json").write_text(json.dumps(body))
    (tmp_path / "empty").mkdir()
    for words, error in (
        (["none.json"], "none.json has no complete cell; measure longer"),
        (["empty"], "empty contains no results; create them with `overlock bench matrix -o empty`"),
        (
            [result_file, "--at", "7"],
            f"--at 7: {result_file} has results for 1, 2, 6 threads; choose one of these",
        ),
    ):
        done = overlock("report", *words, "-o", "r.html")
        assert (done.returncode, done.stderr) == (2, f"overlock: {error}\n")
    assert not (tmp_path / "r.html").exists()


# On the terminal


def printed(table: Any) -> list[str]:
    from rich.console import Console

    console = Console(width=200, color_system=None, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return capture.get().splitlines()


def test_tables_fit_a_hundred_columns(world: list[Result]) -> None:
    for threads in (1, 64):
        for table in (tables.detail(world[0], threads), tables.latency(world[0], threads)):
            lines = printed(table)
            assert len(lines) == 2 + len(world[0].variants)
            assert max(map(len, lines)) <= 100
            assert "…" not in "".join(lines)


def test_most_dispensable_column_goes_first() -> None:
    columns = [tables.Column(name, ["x" * 9], rank) for rank, name in enumerate("abcd")]
    assert [c.heading for c in tables.fitting(columns, 39)] == ["a", "b", "c", "d"]
    assert [c.heading for c in tables.fitting(columns, 38)] == ["a", "b", "c"]
    assert [c.heading for c in tables.fitting(columns, 1)] == ["a"]


def test_detail_shows_what_matters(world: list[Result]) -> None:
    heading = printed(tables.detail(world[0], 8))[1].split()
    assert heading[:2] == ["lock", "median"]
    assert {"Jain", "p99", "ticket"} <= set(heading)
    turns = printed(tables.detail(world[1], 8))[1]
    assert "run time" in turns
    assert "σ" in turns
    assert tables.latency(planted.result({"tas": {1: 1.0}}, []), 1) is None


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0.4, "0.4 ns"),
        (999.4, "999 ns"),
        (999.6, "1 µs"),
        (1234.5, "1.23 µs"),
        (2.5e6, "2.5 ms"),
        (7e10, "70 s"),
    ],
)
def test_durations(ns: float, text: str) -> None:
    assert quantities.duration(ns) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(None, "·"), (12.3, "12.3 "), (999.4, "999 "), (999.6, "1 k"), (999_600, "1 M"), (2e9, "2 G")],
)
def test_rates(rate: float | None, text: str) -> None:
    assert quantities.si(rate) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (4e-5, "< 0.0001"),
        (6e-5, "0.0001"),
        (0.5, "0.50"),
        (12.34, "12.3"),
        (2346, "2,350"),
    ],
)
def test_factors(value: float, text: str) -> None:
    assert quantities.factor(value) == text


def test_events_are_of_acquisitions_whatever_the_unit() -> None:
    found = planted.result({"ticket": {1: 9}, "tas": {1: 9}}, [])
    found.unit = "items"
    for cell in found.cells:
        cell.events = {"ACQUIRE": 1000, "SLOW": 5}
    assert "Events per 1000 acquisitions, 1 threads" in report.html([found], "x")
