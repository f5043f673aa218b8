# SPDX-License-Identifier: MIT
"""A TOML file's values and where they are: tomllib reads them, tree-sitter knows the lines."""

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail

if TYPE_CHECKING:
    from tree_sitter import Node

Path_ = tuple[str | int, ...]  # of a value: ("guest", 0, "contexts")
Lines = dict[Path_, int]


def read(path: Path) -> tuple[dict[str, Any], Lines]:
    text = files.read_text(path)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Fail(_complaint(path, text, str(error))) from None
    except RecursionError:
        raise Fail(f"{path}: it is nested too deeply") from None
    return values, lines(text)


def _complaint(path: Path, text: str, said: str) -> str:
    """With the line where an editor looks for it."""
    found = re.fullmatch(r"(.+) \(at (?:line (\d+), column \d+|end of document)\)", said)
    why, line = (found[1], found[2]) if found else (said, None)
    return f"{path}:{line or text.count(chr(10))}: {why[:1].lower()}{why[1:]}"


def lines(text: str) -> Lines:
    """Of valid TOML."""
    import tree_sitter_toml
    from tree_sitter import Language, Parser

    parser = Parser(Language(tree_sitter_toml.language()))
    found: Lines = {}
    elements: dict[Path_, int] = {}  # how many of [[guest]] there were
    for node in parser.parse(text.encode()).root_node.named_children:
        if node.type == "pair":
            _pair(node, (), found)
        elif node.type in ("table", "table_array_element"):
            _table(node, elements, found)
    return found


def _table(node: "Node", elements: dict[Path_, int], found: Lines) -> None:
    head, *pairs = (child for child in node.named_children if child.type != "comment")
    at: Path_ = ()
    *above, last = _words(head)
    for word in above:
        at = _newest((*at, word), elements)
    at = (*at, last)
    found.setdefault(at, _line(node))
    if node.type == "table_array_element":
        elements[at] = elements.get(at, 0) + 1
    at = _newest(at, elements)
    found.setdefault(at, _line(node))
    for pair in pairs:
        _pair(pair, at, found)


def _newest(at: Path_, elements: dict[Path_, int]) -> Path_:
    """Of an array of tables, its last."""
    return (*at, elements[at] - 1) if at in elements else at


def _pair(node: "Node", at: Path_, found: Lines) -> None:
    key, value = (child for child in node.named_children if child.type != "comment")
    for word in _words(key):
        at = (*at, word)
        found.setdefault(at, _line(node))
    _value(value, at, found)


def _value(node: "Node", at: Path_, found: Lines) -> None:
    inner = [child for child in node.named_children if child.type != "comment"]
    if node.type == "inline_table":
        for pair in inner:
            _pair(pair, at, found)
    elif node.type == "array":
        for number, element in enumerate(inner):
            found[*at, number] = _line(element)
            _value(element, (*at, number), found)


def _words(key: "Node") -> list[str]:
    if key.type == "dotted_key":
        return [word for child in key.named_children for word in _words(child)]
    text = (key.text or b"").decode()
    return [next(iter(tomllib.loads(f"{text} = 0")))]


def _line(node: "Node") -> int:
    return int(node.start_point.row) + 1
