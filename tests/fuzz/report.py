# SPDX-License-Identifier: MIT
"""The page of a result whose names, numbers and shape are hostile: nothing in it is executable."""

import html.parser
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.cli.commands import report
    from overlock_tools.core.render import report as page
    from tests.fuzz.hostile import commanded, fuzz, is_plain

assert report.command
assert page
FOLDER = Path(tempfile.mkdtemp(prefix="overlock-fuzz-"))
# What our own pages have. What links or runs comes from us alone.
ELEMENTS = """
a body button dd details div dl dt figcaption figure footer h1 h2 h3 head header html li meta p pre
script section small style summary table tbody td th thead title tr ul wbr
circle clippath defs g line path rect svg text tspan use
"""
ATTRIBUTES = """
aria-hidden aria-label aria-pressed charset class clip-path content d data-s fill height hidden href
http-equiv id lang name preserveaspectratio role scope stroke stroke-dasharray stroke-width style
transform type version viewbox width x x1 x2 xlink:href xmlns xmlns:xlink y y1 y2
"""
LINKS = ("href", "xlink:href")


class Looker(html.parser.HTMLParser):
    """Reads the page as a browser does."""

    scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS.split(), f"the page has an element {tag}"
        self.scripts += tag == "script"
        for name, value in attrs:
            assert name in ATTRIBUTES.split(), f"the page has an attribute {name}"
            assert name not in LINKS or (value or "").startswith("#"), f"the page links to {value}"


def take(data: bytes) -> None:
    given, made = FOLDER / "given.json", FOLDER / "page.html"
    given.write_bytes(data)
    made.unlink(missing_ok=True)
    commanded("report", given, "-o", made)
    if made.exists():
        text = made.read_text()
        looker = Looker()
        looker.feed(text)
        assert looker.scripts == 1, f"the page has {looker.scripts} scripts"
        assert is_plain(text), "the page has control characters"


if __name__ == "__main__":
    fuzz(take, documents=True)
