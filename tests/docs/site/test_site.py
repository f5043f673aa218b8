# SPDX-License-Identifier: MIT
"""The site builds strictly and needs no network; answers are two clicks away."""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from overlock_tools.core.model import defs
from overlock_tools.lab.reproduce import rows
from tests.conftest import TOP

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)")
# A resource that a browser loads by itself; a link that a reader follows is none.
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
LOADS |= {"video": "src", "audio": "src", "object": "data", "embed": "src"}
REMOTE = re.compile(r"^(?:https?:)?//")
IN_STYLE = re.compile(r"(?:url\(|@import\s+)[\"']?(?:https?:)?//")
NOT_LOADED = {"canonical", "next", "prev"}  # of <link>

# What people ask, and the page that answers it.
QUESTIONS = {
    "My pod is throttled. Is it locks?": "docs/doctor.md",
    "My program slows down with more threads than CPUs. Is it locks?": "docs/counters.md",
    "8 OpenMP threads are slower than one in my container. What do I do?": "docs/doctor.md",
    "Which lock should I take?": "docs/choosing.md",
    "Which lock for a kernel guest?": "docs/results/guest.md",
    "How do I use this from CMake?": "docs/using.md",
    "Is it safe under fork? In a signal handler?": "docs/run.md",
    "How do I run it in production, and roll back?": "docs/throttled.md",
    "How do I know that a lock is correct?": "docs/proof.md",
    "I have a lock of my own. Can I check and measure it?": "docs/adding-a-lock.md",
    "A command fails. What does the message mean?": "docs/reference/errors.md",
}


def build(top: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", site],
        cwd=top,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(TOP, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Loaded(HTMLParser):
    """The addresses that a browser loads for a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        those = dict(attrs)
        if those.get("rel") not in NOT_LOADED and (address := those.get(LOADS.get(tag, ""))):
            self.found.append(address)


def remote(page: str) -> list[str]:
    return [one for one in Loaded(page).found if REMOTE.match(one)] + IN_STYLE.findall(page)


def test_no_page_loads_from_the_network(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    assert len(pages) > 100
    assert not [(page, remote(page.read_text())) for page in pages if remote(page.read_text())]
    styles = [path.read_text() for path in site.rglob("*.css")]
    assert styles
    assert not [style for style in styles if IN_STYLE.search(style)]


def test_what_would_be_loaded_is_found() -> None:
    fonts = '<link rel="stylesheet" href="https://fonts.example/css">'
    assert remote(fonts + '<script src="//cdn.example/x.js"></script><a href="https://a.example">')
    assert remote("<style>@import 'https://fonts.example/css'</style>")
    assert not remote('<a href="https://a.example">a</a><img src="img/a.svg">')


def test_pictures_and_locks_are_there(site: Path) -> None:
    measured = json.loads((TOP / "docs/measured/sections.json").read_text())["rates"]
    for lock in defs.load().locks:
        page = (site / f"locks/{lock}.html").read_text()
        assert "Header comment" in page
        assert ("did not have this one yet" in page) == (lock not in measured)
        rates = [f"{lock}-rate.svg"] if lock in measured else []
        for picture in (f"{lock}.svg", *rates):
            assert f"../img/locks/{picture}" in page
            assert (site / "img/locks" / picture).stat().st_size > 1000


def test_search_finds_pages_and_no_sources(site: Path) -> None:
    index = (site / "search/search_index.json").read_text()
    assert '"location":"locks/mcs.html' in index
    assert '"location":"source/CONTRIBUTING.html' in index
    assert '"location":"source/include/' not in index


def test_the_papers_rows_are_there(site: Path) -> None:
    page = (site / "reproduced.html").read_text()
    assert all(f'id="{row.id}"' in page for row in rows.load())


def copied(tmp_path: Path) -> Path:
    """The checkout as a build sees it, to break a page of it."""
    copies = (
        "docs",
        "tools",
        "mkdocs.yml",
    )  # what a build starts from: the rest is found beside tools
    for path in TOP.iterdir():
        if path.name not in (*copies, ".git", ".venv", "build"):
            (tmp_path / path.name).symlink_to(path)
    for name in copies[:2]:
        shutil.copytree(TOP / name, tmp_path / name)
    shutil.copy(TOP / copies[2], tmp_path)
    return tmp_path


def test_faults_of_pages_are_found(tmp_path: Path) -> None:
    top = copied(tmp_path)
    (top / "docs/lonely.md").write_text("# Lonely\n")
    with (top / "docs/using.md").open("a") as page:
        page.write("\n[a](no-such.md) [b](run.md#no-such)\n")
    done = build(top, top / "site")
    assert done.returncode != 0
    for fault in ("lonely.md", "no-such.md", "#no-such"):
        assert fault in done.stdout + done.stderr


def links(page: Path, text: str) -> set[Path]:
    return {(page.parent / target).resolve() for target in LINK.findall(text)}


def test_answers_are_two_clicks_away() -> None:
    readme, questions = TOP / "README.md", TOP / "docs/index.md"
    assert questions in links(readme, readme.read_text())
    sections = re.split(r"^### (.*)$", questions.read_text(), flags=re.MULTILINE)[1:]
    found = dict(zip(sections[::2], sections[1::2], strict=True))
    for question, answer in QUESTIONS.items():
        assert (TOP / answer) in links(questions, found[question]), question
