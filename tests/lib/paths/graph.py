# SPDX-License-Identifier: MIT
"""Who calls whom in a shared library, by its machine code: the linked one, as it is shipped.

Whatever compiler made it, and with all that was inlined, cut up or taken from another library.
Calls through pointers are not seen; where there are any is.
"""

import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
# x86-64 and AArch64: calls and jumps to an address; those of no address go through a pointer.
DIRECT = re.compile(
    r"\t(?:call|j[a-z]+|bl?|b\.[a-z]+|cbn?z|tbn?z)\s+(?:[^*<]*, )?([0-9a-f]+) <([^>]+)>$"
)
SLOT = re.compile(r"\t(?:call|jmp)\s+\*0x[0-9a-f]+\(%rip\)\s+# [0-9a-f]+ <([^@>]+)@")
# x86-64 only: who takes a function's address hands it to somebody who calls it.
ADDRESS = re.compile(r"\tlea\s.*\(%rip\).*# ([0-9a-f]+) <[^>+]+>$")
POINTER = re.compile(r"\t(?:(?:notrack )?(?:call|jmp)\s+\*|blr\b|br\b)")


def output(*command: str | Path) -> str:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout


@dataclass
class Graph:
    names: dict[int, str] = field(
        default_factory=dict
    )  # FILE:FUNCTION; FUNCTION if it is no file's own
    calls: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    imports: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    pointers: set[int] = field(default_factory=set)  # functions that call through one

    def at(self, name: str) -> list[int]:
        """A trailing `*` is any end; parts that a compiler has cut off belong to the whole."""
        pattern = re.escape(name).replace(r"\*", ".*")
        is_it = re.compile(rf"{pattern}(\.(cold|part|isra|constprop)(\.\d+)*)*").fullmatch
        return [at for at, known in self.names.items() if is_it(known)]


def symbols(library: Path) -> dict[int, str]:
    """Of several names for one address the shortest."""
    names: dict[int, str] = {}
    file = ""
    for line in output("readelf", "-Ws", library).splitlines():
        parts = line.split()
        if len(parts) >= 7 and parts[3] == "FILE":
            file = parts[7] if len(parts) == 8 else ""  # of what was hidden, none
        elif len(parts) == 8 and parts[3] in {"FUNC", "IFUNC"} and parts[6] != "UND":
            name = parts[7].split("@")[0]
            name = f"{file}:{name}" if parts[4] == "LOCAL" and file else name
            at = int(parts[1], 16)
            names[at] = min(names.get(at, name), name, key=lambda one: (len(one), one))
    return names


@cache
def read(library: Path) -> Graph:
    graph = Graph(symbols(library))
    own = {name: at for at, name in graph.names.items() if ":" not in name}
    here = 0

    def reach(name: str) -> None:
        if name in own:  # an exported function, of which a program might have another
            graph.calls[here].add(own[name])
        else:
            graph.imports[here].add(name)

    for line in output("objdump", "-d", "--no-show-raw-insn", library).splitlines():
        if begins := FUNCTION.match(line):
            here = int(begins[1], 16)
            if not begins[2].endswith("@plt"):
                graph.names.setdefault(here, begins[2])
        elif slot := SLOT.search(line):
            reach(slot[1])
        elif direct := DIRECT.search(line):
            target, _, offset = direct[2].partition("+0x")
            if target.partition("@")[2].startswith("plt"):
                reach(target.partition("@")[0])
            elif (at := int(direct[1], 16) - int(offset or "0", 16)) != here:
                graph.calls[here].add(at)
        elif (address := ADDRESS.search(line)) and int(address[1], 16) in graph.names:
            graph.calls[here].add(int(address[1], 16))
        elif POINTER.search(line):
            graph.pointers.add(here)
    return graph
