# SPDX-License-Identifier: MIT
"""The steps of a hand-over, in few letters."""

import re
from dataclasses import dataclass
from pathlib import Path

from handover_story import Event
from overlock_tools.check.job import Subject
from overlock_tools.check.source import Lines
from overlock_tools.core.model import defs

INCLUDE = Path(__file__).resolve().parent.parent / "include/overlock"
MOST_CODE = 60  # letters
COMMENT = re.compile(r"/\*.*?\*/|/\*.*$|^\*.*$")
STRUCT = r"\bstruct (?:OL_CAPABILITY )?{} \{{(.*?)\n\}}"
FIELD = re.compile(r"^\s*([\w ]+?)\s*(\**)([\w.\[\]]+);", re.MULTILINE)
ELEMENTS = re.compile(r"struct \w+ \{\s*(OL_OWN_LINE \w+ \w+;)\s*\} (\w+)\[(\w+)\];")
OWN_LINE, LINE, MOST_ELEMENTS = "OL_OWN_LINE ", 128, 4  # bytes; more than three contexts use
SIZES = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8, "ol_ticks_t": 8}
POINTER = 8
SHORT = {"finds its deadline passed": "deadline passed", "relaxes": "spins"}


def fields(path: Path, struct: str) -> dict[int, str]:
    """Field names by offset, up to the first field of unknown size."""
    code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    found = re.search(STRUCT.format(struct), code, re.DOTALL)
    body = ELEMENTS.sub(_elements, found[1]) if found else ""
    at, names = 0, {}
    for kind, star, name in FIELD.findall(body):
        if kind.startswith(OWN_LINE):
            at = (at + LINE - 1) // LINE * LINE
        lock = defs.load().locks.get(kind.removeprefix("ol_").removesuffix("_t"))
        size = POINTER if star else SIZES.get(kind.split()[-1], lock.size if lock else 0)
        if not size:
            break
        align = min(size, POINTER)
        at = (at + align - 1) // align * align
        names[at] = name
        at += size
    return names


def _elements(array: re.Match[str]) -> str:
    """An array as one field per element, each on its own cache line."""
    field, name = array[1], array[2]
    return "\n".join(re.sub(r"(\w+);", rf"{name}[{n}].\1;", field) for n in range(MOST_ELEMENTS))


@dataclass
class Words:
    lock: str
    events: list[Event]

    def __post_init__(self) -> None:
        self.lines = Lines(Subject(self.lock))
        self.node_fields = fields(INCLUDE / "port/user.h", "ol_node")
        own = fields(INCLUDE / f"lock/{self.lock}.h", f"ol_{self.lock}")
        self.lock_fields = own if len(own) > 1 else {}
        self.nodes: dict[str, str] = {}
        for event in self.events:
            if (name := event.get("object", "").partition("+")[0]).startswith("node"):
                self.nodes.setdefault(name, f"T{event['context']}'s node")
        numbers = (e[side] for e in self.events if e.get("width") == 4 for side in ("old", "new"))
        self.halves = any(n.startswith("0x") and int(n, 16) >> 16 for n in numbers)

    def op(self, event: Event) -> str:
        if event.get("op"):
            return str(event["op"])
        what = str(event["what"])
        return SHORT.get(what, what.partition(" node")[0].partition(",")[0])

    def value(self, event: Event) -> str:
        if not event.get("op"):
            return ""
        name, old, new = self._object(event), *(self._number(event, s) for s in ("old", "new"))
        if event["op"] == "load":
            return f"{name}: {new}"
        if event["op"] == "store":
            return f"{name} = {new}"
        return f"{name} stays {old}" if old == new else f"{name}: {old} → {new}"

    def code(self, event: Event) -> str:
        said = COMMENT.sub("", self.lines.text(event["file"], event["line"])).strip()
        return said if len(said) <= MOST_CODE else said[: MOST_CODE - 1] + "…"

    def _object(self, event: Event) -> str:
        start, _, offset = str(event["object"]).partition("+")
        names = self.lock_fields if start == "lock" else {}
        names = self.node_fields if start in self.nodes else names
        name, at = self.nodes.get(start, start), int(offset or 0)
        if at in names:
            return f"{name}.{names[at]}"
        if event["width"] == 2 and start == "lock" and at in (0, 2):
            return name + (" low" if at == 0 else " high")
        return f"{name}+{offset}" if offset else name

    def _number(self, event: Event, side: str) -> str:
        value = str(event[side])
        if value.startswith("&"):
            start = value[1:].partition("+")[0]
            return self.nodes.get(start, f"the {start}")
        number = int(value, 16)
        if event["width"] == 4 and self.halves and event["object"].startswith("lock"):
            return f"{number >> 16:x}|{number & 0xFFFF:x}"
        return f"{number:x}"
