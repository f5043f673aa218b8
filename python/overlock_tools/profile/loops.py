# SPDX-License-Identifier: MIT
"""Loops that wait, as overlock-loops finds them in machine code (lib/loops)."""

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from overlock_tools.core.system import native
from overlock_tools.core.system.text import printable
from overlock_tools.profile.seen import Code, Sample

FINDER = "overlock-loops"
UPDATES = "wait with updates"
# Of lib/loops/kinds.def, those in which no time is spent but on waiting. Others call functions, or
# work meanwhile.
KINDS = {
    "wait",
    "counted wait",
    "timed wait",
    UPDATES,
    "wait around a loop",
    "delay",
}
WORKS = "wait with work"  # and if it relaxes, the work is that of waiting
RED_ZONE, STACK = 128, 1 << 20  # bytes below a stack's end, and above it, that are the thread's own


@dataclass(frozen=True)
class Word:
    """Where a loop reads: [base + index * scale + offset], or a place in the object."""

    base: str
    index: str
    scale: int
    offset: int
    after: int  # the instruction's end, if it is relative to that

    def address(self, sample: Sample, code: Code) -> int:
        """Of who was seen at that instruction."""
        values = sample.by_name
        if self.base == "rip":
            return (code.ip - code.frame[1] + self.after + self.offset) % 2**64
        index = values.get(self.index, 0) * self.scale
        return (values.get(self.base, 0) + index + self.offset) % 2**64


@dataclass(frozen=True)
class Loop:
    object: str
    begin: int
    end: int  # behind its last instruction
    kind: str
    is_patched: bool  # by `overlock run --spins`, without being named
    is_fixed: bool  # it cannot be patched
    word: Word | None
    other: Word | None = None  # that it is compared with
    value: str = ""  # the register whose value is waited for; empty: none, or not known
    has_ticket: bool = False  # that value is an update's, made before
    takes: bool = False  # it, or a loop around it, updates the word
    is_after_update: bool = False  # whoever comes to it has made one

    @property
    def name(self) -> str:
        """As `overlock run --spins=auto,NAME` takes it."""
        return f"{self.object}+{self.begin:#x}"

    def address(self, sample: Sample, code: Code) -> int:
        """Of the word; 0: not known. Of two, one in the thread's own stack is not waited for."""
        found = [word.address(sample, code) for word in (self.word, self.other) if word]
        stack = sample.by_name["rsp"] - RED_ZONE
        shared = [address for address in found if not stack <= address < stack + STACK]
        return next(iter(shared or found), 0)

    def to_json(self) -> dict[str, Any]:
        names = ("name", "kind", "is_patched", "is_fixed")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Instruction:
    """What is known of it."""

    is_read: bool  # else nothing is: its function cannot be told, or not be decoded
    loop: Loop | None = None
    relaxes: bool = False  # its function does, in no loop: who called it spins
    is_call: bool = False
    other: str = ""  # the kind of the loop that it is in, if that may work


def _word(found: dict[str, Any] | None) -> Word | None:
    if not found or not found["stays"] or "?" in (found["base"], found["index"]):
        return None
    return Word(*(found[name] for name in ("base", "index", "scale", "offset", "after")))


def _waits(loop: dict[str, Any]) -> bool:
    return loop["kind"] in KINDS or (loop["kind"] == WORKS and loop["relaxes"])


def _instruction(answer: dict[str, Any], near: int) -> Instruction:
    if near in answer.get("unread", (near,)):
        return Instruction(False)
    around = [loop for loop in answer["loops"] if near in loop["at"]]
    around.sort(key=lambda loop: loop["end"] - loop["begin"])
    waits = [loop for loop in around if _waits(loop)]
    found = _loop(answer["object"], waits, around) if waits else None
    other = around[0]["kind"] if around and not waits else ""
    return Instruction(True, found, near in answer["relaxing"], near in answer["calls"], other)


def _loop(name: str, waits: list[dict[str, Any]], around: list[dict[str, Any]]) -> Loop:
    """The first."""
    first = waits[0]
    looks = next((loop for loop in waits if loop["word"]), first)  # a delay is a part of a wait
    value = looks["value"] if looks["until_equal"] and looks["value"] != "?" else ""
    where = (
        printable(name),
        first["begin"],
        first["end"],
        first["kind"],
        first["patched"],
        bool(first["refused"]),
    )
    takes = any(loop["kind"] == UPDATES for loop in around)
    words = (_word(looks["word"]), _word(looks["other"]))
    has_ticket = bool(value) and looks["value_is_updates"]
    return Loop(*where, *words, value, has_ticket, takes, first["after_update"])


def _ask(path: str, near: list[int]) -> dict[int, Instruction]:
    places = (word for at in near for word in ("--at", str(at)))
    done = subprocess.run(
        [native.loops(), *places, path], capture_output=True, text=True, check=False
    )
    answer = json.loads(done.stdout) if done.stdout else {"error": done.stderr}
    if "error" in answer:
        return dict.fromkeys(near, Instruction(False))
    return {at: _instruction(answer, at) for at in near}


_known: dict[str, dict[int, Instruction]] = {}


def instructions(path: str, near: Iterable[int]) -> dict[int, Instruction]:
    """Of a file, by address. What was asked of it before is not asked again."""
    known = _known.setdefault(path, {})
    if new := sorted({*near} - known.keys()):
        known.update(_ask(path, new))
    return known
