# SPDX-License-Identifier: MIT
"""docs/results/counterexamples.md shows what the commands that it states print."""

import re

import chart_picture
import counterexamples as made


def steady(page: str) -> list[str]:
    """Without the lines of the client's file, which change with every edit there."""
    return re.sub(r" *client\.cpp:\d+.*", "", page).splitlines()


def test_page_is_what_the_commands_print() -> None:
    page = made.PAGE.read_text()
    now, then = steady(made.fill(page)), steady(page)
    differ = [pair for pair in zip(now, then, strict=False) if pair[0] != pair[1]]
    assert not differ, "`make docs` brings the page up to date"
    assert len(now) == len(then)


def test_every_counterexample_is_shown_and_fails_as_it_says() -> None:
    shown = {name: text for _, name, text, _ in made.PART.findall(made.PAGE.read_text())}
    assert shown.keys() == made.COUNTEREXAMPLES.keys()
    for name, one in made.COUNTEREXAMPLES.items():
        assert f": FAILS: {one.property}\n" in shown[name]


def test_the_search_finds_them() -> None:
    for one in made.COUNTEREXAMPLES.values():
        if one.schedule:
            assert f": FAILS: {one.property}\n" in made.run(one.search())


def test_picture_shows_what_is_printed() -> None:
    def words(svg: str) -> list[str]:
        return [text for text in re.findall(r">([^<>\n]+)<", svg) if "client.cpp" not in text]

    now = words(chart_picture.draw())
    then = words(chart_picture.OUT.read_text())
    differ = [pair for pair in zip(now, then, strict=False) if pair[0] != pair[1]]
    assert not [pair for pair in differ if "world_" not in pair[0]], "`make docs` draws it"
    assert len(now) == len(then) > len(chart_picture.MARKS)
