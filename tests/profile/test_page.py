# SPDX-License-Identifier: MIT
"""The page says what the terminal says, escapes what others named, and loads nothing."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from overlock_tools.profile import page, show
from tests.profile.test_command import profile
from tests.profile.test_report import cause, frames_of, lock, report_of

EVIL = "<script>alert(1)</script>"


class Text(HTMLParser):
    """What a reader sees, and the tags; a tag that does not close its own is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags, self.open = "", list[str](), list[str]()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.text += data + "\n"


def read(found: dict[str, Any]) -> Text:
    text = Text()
    text.feed(page.html(found, "overlock profile"))
    assert text.open == []
    return text


def test_it_says_what_the_terminal_says() -> None:
    found = report_of(stacks=[frames_of(0x10)])
    text = read(found).text
    assert all(line in text for line in show.sentences(found))
    assert "holder preempted 60 %, holder running 40 %" in text
    assert "taken by `worker` of the same program" in text
    assert "waiter, 0.0 ms" in text
    assert "0x10" in text
    assert found["unknown"][0] in text


def test_waits_of_unknown_kind_are_in_the_headline_alone() -> None:
    text = read(report_of(locks=[lock(owners=0, value=17)])).text
    assert "wait at futexes of unknown kind" in text
    assert "unknown futex" not in text


def test_names_of_others_are_text() -> None:
    found = report_of(causes=[cause(taker=EVIL)], stacks=[frames_of(0x10)])
    found["program"] = EVIL
    for call in (found["locks"][0]["site"], found["locks"][0]["stacks"][0]["calls"][0]):
        call["function"] = EVIL
    read_page = read(found)
    assert read_page.tags.count("script") == 1
    assert EVIL in read_page.text


def test_it_is_written_and_loads_nothing(tmp_path: Path) -> None:
    done = profile("--by", "looks", "--html", "r.html", "--", "true", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "r.html").read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)|url\(|@import""", text)
    assert "--html r.html -- true" in text
