# SPDX-License-Identifier: MIT
"""The report, as a browser sees it, and its refusal to need anything but itself."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest
from conftest import Overlock

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--enable-logging=stderr", "--force-device-scale-factor=1", "--hide-scrollbars"),
]
DARK = "--blink-settings=preferredColorScheme=0"
# The page in a frame as wide as a phone or a desk; what the frame sees goes into the outer page.
FRAME = """<!doctype html><body style="margin:0"><iframe id="f" width="{width}" height="3000"
style="border:0" srcdoc="{page}"></iframe><pre id="seen"></pre><script>
const frame = document.getElementById("f");
frame.onload = () => {{
  const d = frame.contentDocument, style = frame.contentWindow.getComputedStyle(d.body);
  const size = e => {{ const r = e.getBoundingClientRect(); return [r.width, r.height]; }};
  document.getElementById("seen").textContent = JSON.stringify({{
    title: d.title, width: d.documentElement.clientWidth, needed: d.documentElement.scrollWidth,
    plots: [...d.querySelectorAll("figure svg")].map(size),
    letters: [...d.querySelectorAll("figure svg text")].map(e => size(e)[1]),
    tables: d.querySelectorAll("table").length, rows: d.querySelectorAll("tbody tr").length,
    ink: style.color, paper: style.backgroundColor, text: d.body.innerText,
    lines: [...d.querySelectorAll("figure svg path")].map(
      e => frame.contentWindow.getComputedStyle(e).stroke),
  }});
}};
</script>"""


@pytest.fixture(scope="module")
def page(result_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from overlock_tools import report, results

    path = tmp_path_factory.mktemp("report") / "report.html"
    result = results.from_file(result_file)
    result.warnings.append("something <else> & more was running")
    path.write_text(report.html([result, result], "overlock report <x>", ["A first word."]))
    return path


def browse(page: Path, folder: Path, width: int, *flags: str) -> tuple[dict[str, Any], str]:
    """What a frame of that width sees, and what the browser's console said."""
    outer = folder / f"frame{width}.html"
    outer.write_text(FRAME.format(width=width, page=escape(page.read_text())))
    profile = f"--user-data-dir={folder}/profile"
    done = subprocess.run(
        [
            CHROMIUM,
            *FLAGS,
            *flags,
            profile,
            "--window-size=1300,3000",
            "--dump-dom",
            f"file://{outer}",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    seen = re.search(r'<pre id="seen">(.+?)</pre>', done.stdout, re.DOTALL)
    assert seen, done.stdout[-2000:]
    found: dict[str, Any] = json.loads(unescape(seen[1]))
    return found, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@pytest.mark.parametrize("width", [390, 1200])
def test_page_in_a_browser(page: Path, tmp_path: Path, width: int) -> None:
    seen, console = browse(page, tmp_path, width)
    assert console == ""
    assert seen["title"] == "Overlock report"
    assert seen["width"] == width
    assert seen["needed"] <= width, "the page scrolls sideways"
    assert len(seen["plots"]) == 4
    assert all(200 < w <= width and h > 80 for w, h in seen["plots"])
    assert min(seen["letters"]) >= 8, "text in a plot is too small to read"
    assert seen["tables"] == 3 * 2 + 1
    assert "something <else> & more was running" in seen["text"]
    assert "overlock report <x>" in seen["text"]
    assert "overlock bench sections --locks" in seen["text"]


def test_light_and_dark(page: Path, tmp_path: Path) -> None:
    light, _ = browse(page, tmp_path, 800)
    dark, _ = browse(page, tmp_path, 800, DARK)
    assert luminance(light["paper"]) > 0.8
    assert luminance(dark["paper"]) < 0.2
    for seen in (light, dark):
        assert contrast(seen["ink"], seen["paper"]) >= 7
    for seen in (light, dark):
        drawn = {line for line in seen["lines"] if line.startswith("rgb(")}
        assert len(drawn) >= 5, "the lines of the plots have lost their colours"
        assert all(contrast(line, seen["paper"]) >= 2.5 for line in drawn)
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
    assert not re.findall(r'(?:src|href|data|poster)\s*=\s*"(?!#)', text)
    assert "@import" not in text
    assert not re.findall(r"url\((?!#)", text)
    assert "<script" not in text


def test_report_command(overlock: Overlock, tmp_path: Path, result_file: Path) -> None:
    done = overlock("report", result_file, result_file, "-o", "r.html", "--png", "r.png")
    assert (done.returncode, done.stdout) == (0, "written: r.png\nwritten: r.html\n")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert (tmp_path / "r.html").read_text().count("<section>") == 3
    assert {path.name for path in tmp_path.iterdir()} == {"r.html", "r.png"}


def test_partial_result_says_so(overlock: Overlock, tmp_path: Path, result_file: Path) -> None:
    body = json.loads(result_file.read_text())
    body["cells"], body["complete"] = body["cells"][:20], False
    (tmp_path / "part.json").write_text(json.dumps(body))
    assert overlock("report", "part.json", "-o", "r.html").returncode == 0
    assert "It was interrupted" in (tmp_path / "r.html").read_text()


def test_result_without_a_cell_is_refused(
    overlock: Overlock, tmp_path: Path, result_file: Path
) -> None:
    body = json.loads(result_file.read_text())
    body["cells"] = []
    (tmp_path / "none.json").write_text(json.dumps(body))
    done = overlock("report", "none.json", "-o", "r.html")
    assert done.returncode == 2
    assert done.stderr == "overlock: none.json has no complete cell; measure for longer\n"
    assert not (tmp_path / "r.html").exists()
