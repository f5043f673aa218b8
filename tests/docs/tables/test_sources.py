# SPDX-License-Identifier: MIT
"""The list of published tables is whole, and notices when what a table depends on changes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kept_json
import table_sources as sources
from overlock_tools.core.model import defs
from table_sources import TOP, Table

TABLES = sources.load().tables
UNITS = sources.load().units


@pytest.mark.parametrize("glob", ["docs/results/*.md", "docs/measured/*.json"])
def test_every_result_is_in_the_list(glob: str) -> None:
    listed = {name for table in TABLES.values() for name in (*table.pages, *table.data)}
    listed.add(str(sources.KEPT.relative_to(TOP)))
    found = {str(path.relative_to(TOP)) for path in TOP.glob(glob)}
    assert not found - listed, f"name it in {sources.LIST.relative_to(TOP)}"


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_what_a_table_names_exists(table: Table) -> None:
    assert not [name for name in (*table.pages, *table.data) if not (TOP / name).exists()]
    assert not set(table.units) - UNITS.keys()
    assert not set(table.locks) - {sources.ALL} - defs.load().locks.keys()
    assert f"<!-- generated: age {table.id} -->" in (TOP / table.pages[0]).read_text()


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_has_files_and_is_used(unit: str) -> None:
    assert sources.files(TOP, UNITS[unit])
    assert unit in {name for table in TABLES.values() for name in table.units}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_depends_on_the_locks_that_its_data_names(table: Table) -> None:
    if table.locks == (sources.ALL,) or not table.data or not table.locks:
        return
    named = "|".join(defs.load().locks)
    text = "".join((TOP / name).read_text() for name in table.data)
    found = set(re.findall(rf'"({named})(?:@[^"]*)?"', text))
    assert not found - set(table.locks), f"name them in {sources.LIST.relative_to(TOP)}"


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_cheap_table_is_as_new_as_its_sources(table: Table) -> None:
    """Of the others `make docs` says on the page what has changed, which tests/docs compares."""
    changed = sources.changed(table, sources.kept()[table.id], sources.hashes(TOP))
    if table.renew:
        again = f"tools/table_sources.py --accept {table.id}"
        assert not changed, f"make it anew ({table.command}), then {again}, or --because REASON"


SAME = [
    ("a.h", "int a; /* one */\n", "int  a;\n// two\n"),
    ("a.def", 'X(a, "b // c")', '/* d */ X(a,\n  "b // c")'.replace(",\n  ", ", ")),
    (
        "a.py",
        'def f() -> int:\n    """One."""\n    return 1\n',
        "def f() -> int:\n    return 1  # two\n",
    ),
    ("a.toml", "a = 1 # one\nb = 2\n", "b = 2\n\na = 1\n"),
]
OTHER = [
    ("a.h", "int a;", "int b;"),
    ("a.c", 's = "/* a */";', 's = "/* b */";'),
    ("a.cpp", "c = '\"'; // a\nint d;", "c = '\"'; // a\nint e;"),
    ("a.py", "a = 1", "a = 2"),
    ("a.toml", "a = 1", "a = 2"),
]


def meanings(folder: Path, name: str, *texts: str) -> list[str]:
    found = []
    for text in texts:
        (folder / name).write_text(text)
        found.append(sources.meaning(folder / name))
    return found


@pytest.mark.parametrize(("name", "before", "after"), SAME)
def test_comments_and_layout_do_not_count(
    tmp_path: Path, name: str, before: str, after: str
) -> None:
    one, two = meanings(tmp_path, name, before, after)
    assert one == two


@pytest.mark.parametrize(("name", "before", "after"), OTHER)
def test_anything_else_does(tmp_path: Path, name: str, before: str, after: str) -> None:
    one, two = meanings(tmp_path, name, before, after)
    assert one != two


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a table of two locks, one of which includes a third."""
    locks = tmp_path / sources.LOCKS
    locks.mkdir(parents=True)
    for name, text in (("a", '#include "c.h"\n'), ("b", "int b;\n"), ("c", "int c;\n")):
        (locks / f"{name}.h").write_text(text)
    (tmp_path / "bench.c").write_text("int bench;\n")
    (tmp_path / "list.toml").write_text(
        '[unit.bench]\nwhat = "the benchmark"\nfiles = ["*.c"]\n'
        '[table.t]\npages = ["p.md"]\ncommand = "`make t`"\nunits = ["bench"]\nlocks = ["a", "b"]\n'
    )
    monkeypatch.setattr(sources, "TOP", tmp_path)
    monkeypatch.setattr(sources, "LIST", tmp_path / "list.toml")
    monkeypatch.setattr(sources, "KEPT", tmp_path / "kept.json")
    monkeypatch.setattr(sources, "_commit", lambda _: ("c0ffee00", "2026-01-02"))
    caches = (sources.load, sources.hashes)
    for cached in caches:
        cached.cache_clear()
    sources.keep({})
    sources.accept("t", None, None)
    yield tmp_path
    for cached in caches:
        cached.cache_clear()


def age() -> str:
    sources.hashes.cache_clear()
    return sources.age("t")


def test_a_table_made_anew_is_not_older(tree: Path) -> None:
    (tree / sources.LOCKS / "b.h").write_text("/* why */ int b;\n")
    assert age() == (
        "Made at commit c0ffee00 (2026-01-02) by `make t`. "
        "Nothing that it depends on has changed since.\n"
    )


def test_the_page_says_what_has_changed_since(tree: Path) -> None:
    (tree / "bench.c").write_text("int other;\n")
    (tree / sources.LOCKS / "c.h").write_text("int d;\n")
    assert age().endswith("Not made anew since these changed: the benchmark, `a`.\n")


def test_a_change_that_is_accepted_is_told_with_its_reason_until_the_next(tree: Path) -> None:
    header = tree / sources.LOCKS / "b.h"
    header.write_text("int renamed;\n")
    age()
    sources.accept("t", None, "a name only.")
    assert age().endswith("Still holds after changes of `b`: a name only.\n")
    header.write_text("int b = 1;\n")
    assert age().endswith("Not made anew since these changed: `b`.\n")
    sources.accept("t", None, None)
    assert "Nothing" in age()


BY_COMMANDS = (  # of overlock, not of tools
    "csd.json",
    "simulator_grid.json",
    "validation.json",
    "validation_xeon-16.json",
)


@pytest.mark.parametrize(
    "file", sorted((TOP / "docs/measured").glob("*.json")), ids=lambda f: f.name
)
def test_what_is_kept_is_as_it_is_written(file: Path) -> None:
    text = file.read_text()
    if file.name not in BY_COMMANDS:
        assert kept_json.text(json.loads(text)) == text


def test_what_is_written_is_read_again() -> None:
    wide = {"empty": [{}, [], ""], "é": ["x" * 300, {"a": [1.5, None, True], "b": "y" * 300}]}
    text = kept_json.text([wide, 1])
    assert json.loads(text) == [wide, 1]
    assert max(map(len, text.splitlines())) <= kept_json.WIDTH
