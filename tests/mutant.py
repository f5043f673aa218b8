#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutants: deliberately broken copies of a source, each of which a test must catch.

    tests/mutant.py apply FILE.toml FOLDER   write every mutant of the file as FOLDER/MUTANT/SOURCE
    tests/mutant.py list FILE.toml...        of each mutant: FILE.toml MUTANT SOURCE PATH

FILE.toml has a table for each mutant of one subject. `broken` says what is wrong with it; `old` and
`new` are the edit of the source `file`, which is looked for within `function` only, if that is
given. Several edits are a list, `edits`. What is the same for all mutants, stands before the
tables. What the tests want to know of a mutant, its table says, too.

`old` is compared token by token: neither white space nor comments matter. It must be there once.
A source is named by an end of its path that no other source has, so it may move. A mutant that
has little in common with its subject is a file of its own beside FILE.toml: `whole`.
"""

import os
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[1]
NOT_SOURCES = {"docs", "tests"}  # a file there is named by its whole path

C = {".c", ".h", ".def", ".cpp", ".hpp", ".cc", ".cu", ".js", ".rs"}
C_COMMENT = r"//[^\n]*|/\*.*?\*/|\\\n"
OTHER_COMMENT = r"\#[^\n]*|\\\n"
LEXEMES = r"""(?xs)
	(?P<nothing> \s+ | {comment} )
	| {string} "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
	| \.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])* | \w+
	| <<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | && | \|\| | :: | \#\#
	| [-+*/%&|^=!<>:]= | ."""
PATTERNS = {
    True: re.compile(LEXEMES.format(comment=C_COMMENT, string="")),
    False: re.compile(LEXEMES.format(comment=OTHER_COMMENT, string=r'""".*?"{3} |')),
}
AFTER_PARAMETERS = {"const", "noexcept", "override", "final", "mutable"}


class Wrong(Exception):
    """A mutant that cannot be made. It is one line."""


@dataclass(frozen=True)
class Edit:
    old: str
    new: str
    function: str = ""


@dataclass(frozen=True)
class Token:
    text: str
    begin: int
    end: int


def tokens(text: str, name: str = "source.c") -> list[Token]:
    """Without white space and comments, by the language that the file's name tells."""
    pattern = PATTERNS[Path(name).suffix in C]
    found = (t for t in pattern.finditer(text) if t.lastgroup != "nothing")
    return [Token(t[0], *t.span()) for t in found]


def words(text: str, name: str = "source.c") -> list[str]:
    return [token.text for token in tokens(text, name)]


def _closed(all_: Sequence[str], at: int) -> int:
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(all_)):
        depth += (all_[i] in "([{") - (all_[i] in ")]}")
        if not depth:
            return i + 1
    return len(all_)


def _body(all_: Sequence[str], at: int) -> int | None:
    """Where the function's body opens whose parameters begin at `at`, if that is a definition."""
    i = _closed(all_, at)
    while i < len(all_) and all_[i] in AFTER_PARAMETERS:
        i += 1
    if all_[i : i + 1] == [":"]:  # members, each NAME(...) or NAME{...}
        while all_[i : i + 1] in ([":"], [","]):
            while all_[i] not in "({":
                i += 1
            i = _closed(all_, i)
    return i if all_[i : i + 1] == ["{"] else None


def _definitions(all_: Sequence[str], function: Sequence[str]) -> Iterator[tuple[int, int]]:
    n = len(function)
    for i in range(len(all_) - n):
        if all_[i + n] == "(" and all_[i : i + n] == function:
            body = _body(all_, i + n)
            if body is not None:
                yield i, _closed(all_, body)


def _place(text: str, edit: Edit, name: str) -> tuple[int, int]:
    """The begin and the end of the old text."""
    there = tokens(text, name)
    all_, old = [token.text for token in there], words(edit.old, name)
    if not old:
        raise Wrong("the old text is empty")
    scopes, where = [(0, len(all_))], name
    if edit.function:
        scopes, where = list(_definitions(all_, words(edit.function, name))), edit.function
        if not scopes:
            raise Wrong(f"{name} defines no function {edit.function}")
    n = len(old)
    found = [i for a, b in scopes for i in range(a, b - n + 1) if all_[i : i + n] == old]
    if len(found) != 1:
        raise Wrong(f"{len(found)} matches in {where}, expected one, of: {' '.join(old)}")
    return there[found[0]].begin, there[found[0] + n - 1].end


def edited(text: str, *edits: Edit, name: str = "source.c") -> str:
    """Every edit is of the text as it is, whose language the file's name tells."""
    places = sorted((*_place(text, edit, name), edit.new.strip()) for edit in edits)
    for (_, end, _), (begin, _, _) in pairwise(places):
        if begin < end:
            raise Wrong(f"two edits overlap in {name}")
    for begin, end, new in reversed(places):
        text = _joined(_joined(text[:begin], new), text[end:])
    return text


def _joined(left: str, right: str) -> str:
    """Words stay two."""
    return left + " " * bool(re.search(r"\w$", left) and re.match(r"\w", right)) + right


def changed(text: str, *changes: tuple[str, str], name: str = "source.c") -> str:
    """The same, of pairs of old and new text."""
    return edited(text, *(Edit(old, new) for old, new in changes), name=name)


@cache
def _sources() -> list[Path]:
    found = []
    for top in TOP.iterdir():
        if top.is_dir() and not top.name.startswith((".", "build")) and top.name not in NOT_SOURCES:
            for folder, _, files in os.walk(top):
                found += [Path(folder, file) for file in files]
    return found


def source(name: str) -> Path:
    """The source whose path ends with this, or has exactly this below the top folder."""
    if (TOP / name).is_file():
        return TOP / name
    found = [path for path in _sources() if path.as_posix().endswith("/" + name)]
    if len(found) != 1:
        raise Wrong(f"{len(found)} sources have a path that ends with {name}, expected one")
    return found[0]


@dataclass(frozen=True)
class Mutant:
    name: str
    of: str  # its subject: the name of FILE.toml
    file: str
    edits: tuple[Edit, ...]
    whole: Path | None
    says: dict[str, Any]  # its table

    @property
    def path(self) -> Path:
        return self.whole or source(self.file)

    def text(self) -> str:
        text = self.path.read_text()
        try:
            return text if self.whole else edited(text, *self.edits, name=self.file)
        except Wrong as wrong:
            raise Wrong(f"mutant {self.name}: {wrong}") from None


def _edits(table: dict[str, Any]) -> Iterator[Edit]:
    scope = table.get("function", "")
    for one in table.get("edits", [table]):
        yield Edit(one["old"], one["new"], one.get("function", scope))


def _read(path: Path, name: str, table: dict[str, Any]) -> Mutant:
    if whole := table.get("whole"):
        return Mutant(name, path.stem, whole, (), path.parent / whole, table)
    try:
        return Mutant(name, path.stem, table["file"], tuple(_edits(table)), None, table)
    except KeyError as missing:
        raise Wrong(f"mutant {name} does not say {missing.args[0]}") from None


def read(path: Path) -> list[Mutant]:
    """All mutants of a file."""
    try:
        said = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as wrong:
        raise Wrong(f"{path}: {wrong}") from None
    same = {key: value for key, value in said.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in said.items() if isinstance(value, dict)}
    return [_read(path, name, same | table) for name, table in tables.items()]


def read_all(folder: Path) -> list[Mutant]:
    return [mutant for path in sorted(folder.glob("*.toml")) for mutant in read(path)]


def write(mutant: Mutant, folder: Path) -> None:
    """What has not changed stays, so that it is not compiled again."""
    path, text = folder / mutant.file, mutant.text()
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def apply(path: Path, folder: Path) -> list[str]:
    """What is wrong with the mutants that cannot be made; the others are."""
    wrongs = []
    for mutant in read(path):
        try:
            write(mutant, folder / mutant.name)
        except Wrong as wrong:
            wrongs.append(str(wrong))
    return wrongs


def listed(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        for mutant in read(path):
            yield f"{path}\t{mutant.name}\t{mutant.file}\t{mutant.path}"


def main(arguments: Sequence[str]) -> int:
    try:
        match arguments:
            case ["apply", path, folder]:
                wrongs = apply(Path(path), Path(folder))
            case ["list", *paths]:
                print("\n".join(listed([Path(path) for path in paths])))
                return 0
            case _:
                wrongs = ["expected: apply FILE.toml FOLDER, or list FILE.toml..."]
    except Wrong as wrong:
        wrongs = [str(wrong)]
    for line in wrongs:
        print(f"{Path(__file__).name}: {line}", file=sys.stderr)
    return 1 if wrongs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
