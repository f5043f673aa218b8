# SPDX-License-Identifier: MIT
"""The papers' programs that contend in the kernel, if at all: no mutex is theirs to be replaced.

Under any lock they are as fast as natively; what they show beyond that is what interposing costs.
"""

import re
import time
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.trial import Broken, Trial
from overlock_tools.bench import kernbench
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import MISSING, Fail

EBIZZY = "guest/loads/programs/ebizzy.c"
LOOK_SECONDS = 0.5  # ebizzy's own
MAKEFILE = """\
units := $(wildcard *.c)
program: $(units:.c=.o)
	gcc -nostdlib -static -no-pie -o $@ $^
%.o: %.c kernbench.h
	gcc -O0 -w -ffreestanding -fno-pie -fno-stack-protector -c -o $@ $<
"""


class Ebizzy(app.App):
    name = "ebizzy"
    what = "ebizzy's mix (map 256 KiB, copy, search, unmap) with N threads"
    unit = "records"
    papers = "ouyang2013, teabe2017"
    packages = ("gcc",)
    programs = ("gcc",)
    reach = "none: it contends for the kernel's mmap lock"
    control = True

    def sources(self) -> list[Path]:
        top = native.checkout()
        if not top:
            raise Fail("only a checkout has ebizzy's source; run it there", MISSING)
        return [top / EBIZZY]

    def set_up(self) -> None:
        self.program = str(app.compiled(self.sources()[0]))

    def cell(self, trial: Trial) -> Answer:
        trial.begin()
        seconds = max(trial.seconds, LOOK_SECONDS)  # it tells of nothing shorter
        process = trial.start([self.program, f"{seconds:g}", str(trial.threads)])
        limit = time.monotonic() + trial.seconds + trial.patience
        began, before = _total(process.line(limit))
        trial.mark()
        ended, after = began, before
        while ended - began < trial.seconds - LOOK_SECONDS / 2:
            ended, after = _total(process.line(limit))
        answer = trial.end(Answer(after - before, ended - began))
        if not process.ended(trial.patience) or process.code:
            raise Broken(trial.failure(process))
        answer.wrong = process.rest().partition("wrong: ")[2].strip()
        return answer


def _total(line: str) -> tuple[float, int]:
    _, when, records = line.split()
    return float(when), int(records)


class Hackbench(app.App):
    name = "hackbench"
    what = "hackbench on sockets with N processes, half senders, half receivers"
    unit = "messages"
    papers = "ouyang2013"
    packages = ("rt-tests",)
    programs = ("hackbench",)
    reach = "none: its processes communicate through the kernel"
    control = True
    presets: ClassVar[dict[str, str]] = {"loops": "2000"}

    def set_up(self) -> None:
        app.natively(self._command(2), self.workspace)

    def _command(self, threads: int) -> list[str]:
        fds, loops = max(1, threads // 2), self.number("loops")
        return [app.program("hackbench"), "-g1", f"-f{fds}", f"-l{loops}", "-s100"]

    def cell(self, trial: Trial) -> Answer:
        fds = max(1, trial.threads // 2)
        messages = fds * fds * self.number("loops")
        return trial.pieces(self._command(trial.threads), messages, _silent, _hackbench_took)


def _hackbench_took(out: Path) -> float | None:
    found = re.search(r"^Time: ([\d.]+)", out.read_text(errors="replace"), re.MULTILINE)
    return float(found[1]) if found else None


def _silent(outs: list[Path]) -> str:
    """Its receivers count every byte, and it prints a time only when all have all."""
    return "" if all(map(_hackbench_took, outs)) else "hackbench ended without a time"


class Kernbench(app.App):
    name = "kernbench"
    what = "make compiles the same C files with gcc and N jobs, then runs the program"
    unit = "builds"
    papers = "ouyang2013, rao2012, teabe2017"
    packages = ("gcc", "make")
    programs = ("gcc", "make")
    reach = "none that matters: compilers are single-threaded"
    control = True

    def set_up(self) -> None:
        self.right = kernbench.expected()
        self.files = self.workspace.folder / "files"
        self.files.mkdir()
        for name, text in kernbench.sources().items():
            (self.files / name).write_text(text)
        (self.files / "Makefile").write_text(MAKEFILE)

    def cell(self, trial: Trial) -> Answer:
        for file in self.files.iterdir():
            (trial.folder / file.name).write_bytes(file.read_bytes())
        make = [app.program("make"), "-B", "-s", f"-j{trial.threads}", "program"]
        return trial.pieces(make, 1, self._wrong)

    def _wrong(self, outs: list[Path]) -> str:
        """Of the last build: each makes all files again."""
        made = outs[-1].with_name("program")
        try:
            printed = app.natively([str(made)], self.workspace).decode().strip()
        except Fail as error:
            return error.message
        return (
            "" if printed == self.right else f"the built program prints {printed}, not {self.right}"
        )
