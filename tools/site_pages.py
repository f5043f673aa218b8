# SPDX-License-Identifier: MIT
"""Hooks of MkDocs: what the site has beyond the pages of docs/.

A lock's page gets its facts, header comment, hand-over and rates. A file or folder outside docs/
to which a page links gets a page, under source/. Links follow. The page of `overlock reproduce` is
reproduced.html.
"""

import os.path
import posixpath
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parent))
import handover_picture
import lock_pages
import measured
from overlock_tools.core.model import defs
from overlock_tools.lab.reproduce import kept, rows
from overlock_tools.lab.reproduce import page as reproduced

TOP = Path(__file__).resolve().parent.parent
DOCS = TOP / "docs"
SOURCE = "source"
A_FEW = 20
LOCKS = "locks/"  # this entry of the navigation becomes one for each lock
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")
COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
LANGUAGES = {".c": "c", ".h": "c", ".def": "c", ".in": "c", ".py": "python", ".patch": "diff"}
LANGUAGES |= {".json": "json", ".toml": "toml", ".cpp": "cpp", ".hpp": "cpp"}

texts: dict[str, str] = {}  # of the pages, by their place in the site


def outside_fences(change: Callable[[str], str], text: str) -> str:
    parts = FENCE.split(text)
    return "".join(part if n % 2 else change(part) for n, part in enumerate(parts))


def place(path: Path) -> str:
    """The page of a file or folder."""
    if path.is_relative_to(DOCS):
        return str(path.relative_to(DOCS))
    if path.is_dir():
        path /= "README.md" if (path / "README.md").exists() else "index.md"
    end = "" if path.suffix == ".md" else ".md"
    return f"{SOURCE}/{path.relative_to(TOP)}{end}"


def followed(text: str, origin: Path, found: list[Path]) -> str:
    """The text with its links as the site has them; what they lead to is added to `found`."""

    def link(match: re.Match[str]) -> str:
        path = Path(os.path.normpath(origin.parent / match[1]))
        if re.match(r"[a-z]+:", match[1]) or not path.exists() or not path.is_relative_to(TOP):
            return match[0]
        found.append(path)
        return posixpath.relpath(place(path), posixpath.dirname(place(origin)))

    return outside_fences(lambda part: LINK.sub(link, part), text)


def for_markdown(text: str) -> str:
    """GitHub wants a bar in the code of a table escaped; here it is taken as it stands."""

    def change(part: str) -> str:
        part = CODE.sub(lambda code: code[0].replace("\\|", "|"), part)
        return COMMENT.sub("\n", part)

    return outside_fences(change, text)


def listing(folder: Path) -> str:
    """Of a small folder, files are links."""
    entries = [entry for entry in sorted(folder.iterdir()) if entry.name[0] not in "._"]
    small = len(entries) <= A_FEW
    lines = [
        f"- [`{e.name}`]({e.name})" if small and e.is_file() else f"- `{e.name}`" for e in entries
    ]
    return "\n".join(["", *lines, ""])


def of_source(path: Path) -> str:
    """The page of a file or folder outside docs/."""
    if path.suffix == ".md":
        return path.read_text()
    title = f"# {path.relative_to(TOP)}\n\n"
    if path.is_dir():
        return title + listing(path)
    language = LANGUAGES.get(path.suffix, "text")
    return f"{title}````{language}\n{path.read_text()}\n````\n"


def pictures() -> dict[str, str]:
    """By name."""
    locks = list(defs.load().locks)
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(locks, pool.map(handover_picture.of_lock, locks), strict=True))
    if rates := measured.load():
        found |= {f"{v}-rate": measured.draw(rates, v) for v in locks if v in rates.locks}
    return found


def on_config(config: MkDocsConfig) -> None:
    """A page for each lock, in the order of locks.def."""
    locks = [f"{LOCKS}{lock}.md" for lock in defs.load().locks]

    def entry(one: Any) -> Any:
        if isinstance(one, dict):
            return {title: entry(those) for title, those in one.items()}
        if isinstance(one, list):
            return [page for each in one for page in (locks if each == LOCKS else [entry(each)])]
        return one

    config.nav = entry(config.nav)


def on_files(files: Files, config: MkDocsConfig) -> None:
    drawn = pictures()
    for name, svg in drawn.items():
        files.append(File.generated(config, f"img/{LOCKS}{name}.svg", content=svg))
    waiting = [DOCS / file.src_uri for file in files if file.src_uri.endswith(".md")]
    waiting += [TOP / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    while waiting:
        path = waiting.pop()
        if (path / "README.md").exists():
            path /= "README.md"
        uri = place(path)
        if uri in texts or (path.is_relative_to(DOCS) and path.suffix != ".md"):
            continue
        if not path.is_relative_to(DOCS):
            text = of_source(path)
            files.append(File.generated(config, uri, content=text))
            origin = path / "index.md" if path.is_dir() else path
        else:
            text, origin = path.read_text(), path
        if uri.startswith(LOCKS):
            text = lock_pages.page(defs.load().lock(path.stem), text, drawn[path.stem])
        texts[uri] = for_markdown(followed(text, origin, waiting))


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    uri = page.file.src_uri
    if uri.startswith(SOURCE) and "````" in markdown:  # the search finds what explains, not sources
        page.meta["search"] = {"exclude": True}
    return texts.get(uri, markdown)


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    page = Path(config.site_dir) / "reproduced.html"
    page.write_text(reproduced.html(rows.load(), kept.load()))
