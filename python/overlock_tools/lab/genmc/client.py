# SPDX-License-Identifier: MIT
"""A lock as one file of plain C11, for an outside checker (GenMC) and any C compiler.

The lock's headers go in as they are, behind lab/genmc/port.h; lab/genmc/client.c.in follows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from overlock_tools.core.model import defs
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import MISSING, Fail

# The port says itself where a loop may be cut, and a loop inlined whole takes GenMC minutes.
OPTIONS = (
    "--check-liveness",
    "--disable-spin-assume",
    "--disable-function-inliner",
    "--disable-loop-jump-threading",
    "--disable-estimation",
)
INCLUDE = re.compile(r"#include <overlock/([\w/.]+)>")
# The platform layer picks a world by #if; the branch taken in plain C asks for the user port.
PLATFORM_LAYER = "port.h"
OURS = "port/user.h"
OTHER_WORLDS = ("port/linux.h", "port/sim.h")
CALL = re.compile(r"\b(ol_\w+?_)(acquire|release|acq_rel)(?=\()")
WEAKER = {
    ("acquire", "acquire"): "relaxed",
    ("release", "release"): "relaxed",
    ("acq_rel", "acquire"): "release",
    ("acq_rel", "release"): "acquire",
}


@dataclass(frozen=True, order=True)
class Site:
    """One order of one line of a header."""

    file: str
    line: int
    order: str  # "acquire" or "release"
    text: str = field(default="", compare=False)  # of the line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.order}"


def _weakened(line: str, order: str) -> str:
    return CALL.sub(lambda m: m[1] + WEAKER.get((m[2], order), m[2]), line)


def _marked(line: str) -> str:
    """The line with an assertion that fails when it is reached, before its ordered calls."""
    out, end = "", 0
    for call in CALL.finditer(line):
        close, depth = call.end(), 0
        while close == call.end() or depth:
            depth += {"(": 1, ")": -1}.get(line[close], 0)
            close += 1
        out += f'{line[end : call.start()]}(assert(!"reached"), {line[call.start() : close]})'
        end = close
    return out + line[end:]


class Flattener:
    """Includes by hand, each header once."""

    def __init__(self, folders: list[Path], weaken: Site | None, mark: Site | None) -> None:
        self.folders = folders
        self.weaken, self.mark = weaken, mark
        self.seen: set[str] = set()
        self.sites: list[Site] = []

    def header(self, name: str) -> Iterator[str]:
        """The lines of overlock/`name`."""
        if name == OURS:
            yield from (_port() / "port.h").read_text().splitlines()
        elif name not in OTHER_WORLDS and name not in self.seen:
            self.seen.add(name)
            path = next(folder / name for folder in self.folders if (folder / name).exists())
            yield from self.file(path)

    def file(self, path: Path) -> Iterator[str]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if path.name != PLATFORM_LAYER:
                self.sites += _sites(path.name, number, line)
            if included := INCLUDE.match(line):
                yield from self.header(included[1])
            elif self.weaken and (path.name, number) == (self.weaken.file, self.weaken.line):
                yield _weakened(line, self.weaken.order)
            elif self.mark and (path.name, number) == (self.mark.file, self.mark.line):
                yield _marked(line)
            else:
                yield line


def _sites(file: str, number: int, line: str) -> Iterator[Site]:
    """The orders of one line; comments name no calls with an argument in these headers."""
    if line.lstrip().startswith(("*", "/*", "#define")):
        return
    text = re.sub(r"\s*/\*.*", "", line.strip())
    for _, order in CALL.findall(line):
        for half in ("acquire", "release") if order == "acq_rel" else (order,):
            yield Site(file, number, half, text)


def _port() -> Path:
    """The folder of the port and the client."""
    if not (top := native.checkout()):
        raise Fail("--emit needs overlock's sources; run `overlock check` in a clone", MISSING)
    return top / "lab/genmc"


def _subject(lock: str) -> tuple[str, Path]:
    """The name and the header of a lock of the tree, or of `./mine.h`."""
    if lock.endswith(".h"):
        return Path(lock).stem, Path(lock)
    return defs.load().lock(lock).id, native.include() / "overlock/lock" / f"{lock}.h"


def emit(
    lock: str,
    *,
    weaken: Site | None = None,
    mark: Site | None = None,
    include: Path | None = None,
) -> str:
    """One file of plain C11: lock, port and client. `include`: headers that come before ours."""
    name, path = _subject(lock)
    folders = [native.include() / "overlock"]
    if include:
        folders.insert(0, include / "overlock")
        path = include / "overlock/lock" / path.name
    client = (_port() / "client.c.in").read_text()
    client = client.replace("@NAME@", name).replace("@UPPER@", name.upper())
    lines = [
        "/* SPDX-License-Identifier: MIT OR GPL-2.0-only */",
        f"/* {name}, from Overlock, as one file for a checker of C programs:",
        " *",
        f" *\tgenmc --rc11 {' '.join(OPTIONS)} \\",
        f" *\t\t-- -DOL_CONTEXTS=2 {name}.c",
        f" *\tcc -std=c11 -pthread {name}.c && ./a.out",
        " */",
        "#ifdef __clang__",
        '#pragma clang diagnostic ignored "-Wunused-function"',
        "#endif",
        "",
    ]
    for tunable in defs.load().tunables.values():
        macro = f"OL_TUNE_{tunable.name}"
        lines += [f"#ifndef {macro}", f"#define {macro} {tunable.default}", "#endif"]
    lines += ["", *Flattener(folders, weaken, mark).file(path), client]
    return "\n".join(lines)


def sites(lock: str) -> list[Site]:
    """Every order of the lock's headers, by file and line."""
    flat = Flattener([native.include() / "overlock"], None, None)
    for _ in flat.file(_subject(lock)[1]):
        pass
    return sorted(set(flat.sites))
