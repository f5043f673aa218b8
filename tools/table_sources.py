#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How old the published tables are: what they depend on, and what of that has changed since.

    tools/table_sources.py                      what has changed, for each table
    tools/table_sources.py --accept TABLE       it was made from the sources as they are
            --at COMMIT                         from those of that commit
            --because REASON                    it was not, but still holds; its page says why

docs/measured/tables.toml lists the tables, docs/measured/tables.json keeps a hash of each unit that
a table depends on. A hash is of the meaning: comments and layout do not count. `make docs` writes
what has changed on the pages.
"""

import argparse
import ast
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path

import kept_json
from overlock_tools.core.system.errors import Fail

TOP = Path(__file__).resolve().parent.parent
LIST = TOP / "docs/measured/tables.toml"
KEPT = TOP / "docs/measured/tables.json"
LOCKS = "include/overlock/lock"
ALIASES = "include/overlock/aliases.def"
ALIAS = re.compile(r"^OL_ALIAS\((\w+),", re.MULTILINE)
ALL = "all"
DIGITS = 12  # of a hash
FEW = 8  # locks that are named; of more, the number
C_LIKE = {".c", ".h", ".cpp", ".hpp", ".def"}
# A comment, or what may look as if it had one.
C_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
INCLUDED = re.compile(r'#\s*include\s+["<](?:overlock/lock/)?(\w+\.h)[">]')


@dataclass(frozen=True)
class Unit:
    what: str
    files: tuple[str, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    id: str
    pages: tuple[str, ...]
    command: str
    units: tuple[str, ...]
    locks: tuple[str, ...]
    data: tuple[str, ...] = ()
    parts: bool = False
    renew: bool = False


@dataclass(frozen=True)
class Tables:
    units: Mapping[str, Unit]
    tables: Mapping[str, Table]


@dataclass
class Kept:
    """Of a table: when it was made, from what, and which changes since then were accepted."""

    commit: str
    date: str
    units: dict[str, str]
    accepted: dict[str, dict[str, str]] = field(default_factory=dict)  # of a unit: hash, because


def parse(text: str) -> Tables:
    raw = tomllib.loads(text)
    units = {
        name: Unit(one["what"], tuple(one["files"]), tuple(one.get("except", ())))
        for name, one in raw["unit"].items()
    }
    tables = {}
    for name, one in raw["table"].items():
        if one["locks"] == ALL:
            one["locks"] = [ALL]
        lists = {key: tuple(value) for key, value in one.items() if isinstance(value, list)}
        tables[name] = Table(id=name, **(one | lists))
    return Tables(units, tables)


@cache
def load() -> Tables:
    return parse(LIST.read_text())


def kept() -> dict[str, Kept]:
    return {name: Kept(**one) for name, one in json.loads(KEPT.read_text()).items()}


def keep(found: Mapping[str, Kept]) -> None:
    ordered = {name: asdict(found[name]) for name in load().tables if name in found}
    kept_json.write(KEPT, ordered)


# What a source means


def meaning(path: Path) -> str:
    """The source without what changes nothing: comments, layout, Python's docstrings."""
    text = path.read_text(errors="replace")
    if path.suffix in C_LIKE:
        return " ".join(C_TOKEN.sub(lambda t: " " if t["comment"] else t[0], text).split())
    if path.suffix == ".py":
        return ast.unparse(_without_docstrings(ast.parse(text)))
    if path.suffix == ".toml":
        return json.dumps(tomllib.loads(text), sort_keys=True)
    return text


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _hashed(top: Path, paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(f"{path.relative_to(top)}\0{meaning(path)}\0".encode())
    return found.hexdigest()[:DIGITS]


def files(top: Path, unit: Unit) -> set[Path]:
    found = {path for pattern in unit.files for path in top.glob(pattern) if path.is_file()}
    return found - {path for pattern in unit.left_out for path in top.glob(pattern)}


def _of_lock(top: Path, lock: str) -> list[Path]:
    """Its header, and those beside it that it includes."""
    waiting, found = [f"{lock}.h"], dict[str, Path]()
    while waiting:
        name = waiting.pop()
        path = top / LOCKS / name
        if name not in found and path.exists():
            found[name] = path
            waiting += INCLUDED.findall(path.read_text())
    return [*found.values()]


def _former(top: Path) -> set[str]:
    """Names that locks had; a header of one has names alone."""
    names = top / ALIASES
    return set(ALIAS.findall(names.read_text())) if names.exists() else set()


@cache
def hashes(top: Path) -> dict[str, str]:
    """Of every unit and lock, as they are below that folder."""
    found = {name: _hashed(top, files(top, unit)) for name, unit in load().units.items()}
    for lock in sorted({path.stem for path in (top / LOCKS).glob("*.h")} - _former(top)):
        found[lock] = _hashed(top, _of_lock(top, lock))
    return found


def needs(table: Table, now: Mapping[str, str]) -> dict[str, str]:
    locks = table.locks
    if locks == (ALL,):
        locks = tuple(name for name in now if name not in load().units)
    return {name: now.get(name, "") for name in (*table.units, *locks)}


# What has changed


def changed(table: Table, one: Kept, now: Mapping[str, str]) -> list[str]:
    """What is otherwise than when the table was made, but for what was accepted."""
    return [
        name
        for name, hash_ in needs(table, now).items()
        if hash_ not in (one.units.get(name), one.accepted.get(name, {}).get("hash"))
    ]


def accepted(table: Table, one: Kept, now: Mapping[str, str]) -> dict[str, list[str]]:
    """By the reason, what has changed without harm."""
    found: dict[str, list[str]] = {}
    for name, how in one.accepted.items():
        if needs(table, now).get(name) == how["hash"] != one.units.get(name):
            found.setdefault(how["because"], []).append(name)
    return found


def words(names: list[str]) -> str:
    """Units as the list calls them, locks by their names."""
    units = [load().units[name].what for name in names if name in load().units]
    locks = [f"`{name}`" for name in names if name not in load().units]
    return ", ".join([*units, *([f"{len(locks)} locks"] if len(locks) > FEW else locks)])


def age(id_: str) -> str:
    """What the table's page says."""
    table, one, now = load().tables[id_], kept()[id_], hashes(TOP)
    made = "Made in parts, the oldest one" if table.parts else "Made"
    said = [f"{made} at commit {one.commit} ({one.date}) by {table.command}."]
    since, fine = changed(table, one, now), accepted(table, one, now)
    if since:
        again = "Not all was made anew" if table.parts else "Not made anew"
        said.append(f"{again} since these changed: {words(since)}.")
    said += [f"Still holds after changes of {words(of)}: {why}." for why, of in fine.items()]
    if not since and not fine:
        said.append("Nothing that it depends on has changed since.")
    return " ".join(said) + "\n"


# The command


def _git(*arguments: str) -> bytes:
    command = ["git", "-C", str(TOP), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout


def _commit(name: str) -> tuple[str, str]:
    found = _git("log", "-1", "--format=%h %as", "--abbrev=8", name).decode().split()
    return found[0], found[1]


def made_at(commit: str, table: Table) -> Kept:
    """From the sources of that commit."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(_git("archive", commit))) as archive:
            archive.extractall(folder, filter="data")
        return Kept(*_commit(commit), needs(table, hashes(Path(folder))))


def accept(id_: str, commit: str | None, because: str | None) -> None:
    if id_ not in load().tables:
        raise Fail(f"there is no table {id_}; there are {', '.join(load().tables)}")
    table, found, now = load().tables[id_], kept(), hashes(TOP)
    if because:
        reason = because.rstrip(".")
        one = found[id_]
        one.accepted |= {
            name: {"hash": now[name], "because": reason} for name in changed(table, one, now)
        }
    else:
        found[id_] = made_at(commit, table) if commit else Kept(*_commit("HEAD"), needs(table, now))
    keep(found)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accept", action="append", metavar="TABLE", default=[])
    parser.add_argument("--at", metavar="COMMIT")
    parser.add_argument("--because", metavar="REASON")
    options = parser.parse_args()
    try:
        for id_ in options.accept:
            accept(id_, options.at, options.because)
    except Fail as error:
        print(f"table_sources.py: {error.message}", file=sys.stderr)
        return error.code
    if not options.accept:
        for id_ in load().tables:
            print(f"{id_}: {age(id_)}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
