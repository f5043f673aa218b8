# SPDX-License-Identifier: MIT
"""Recorded machines: small texts that become folders with the files a kernel would show.

# what it is
based on NAME       the files of another recording first
expects RULES       that apply, the gravest first
inside PARTS        of what `overlock profile` reports of the process: name=value, in ns
pid N               the process that is looked at
without PATH        a file or folder that is missing here
thread TID STATE PLACE: COUNTS -> COUNTS
                    of the process: run and delay in ns, user and system ticks, voluntary and
                    involuntary switches, before and after the interval
== PATH             the file's text follows; `later/PATH`: after the interval
== PATH -> TARGET   a link
== probe            what overlock-probe said, one part a line
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools import doctor
from overlock_tools.core.system.kernel_files import Tree
from overlock_tools.doctor import probe
from overlock_tools.doctor.inside import Inside
from overlock_tools.doctor.watch import Clock

MACHINES = Path(__file__).parent / "machines"
NAMES = sorted(path.stem for path in MACHINES.glob("*.txt"))
SECONDS = 2.0
THREAD = re.compile(r"(\d+) (\w) (\S+): ([\d ]+) -> ([\d ]+)")


class SeenInside(Inside):
    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__(1, 0.0)
        self.report = report

    def join(self, timeout: float | None = None) -> None:
        """It was never started."""


def seen_inside(parts: dict[str, str]) -> Inside:
    names = ("running", "wanted", "lost", "spun", "burnt")
    running, wanted, lost, spun, burnt = (int(parts.get(name, 0)) for name in names)
    site = {"function": "meet", "file": None, "line": None, "inlined": False}
    lock = {
        "name": "",
        "locks": 1,
        "site": site,
        "address": 0,
        "kind": "spin barrier",
        "is_lock": not spun,
        "spins": bool(spun),
        "wait_ns": lost,
        "ran_ns": spun,
        "split": {"others_preempted": burnt, "others_running": spun - burnt},
    }
    times = {"running": running, "preempted": wanted - running}
    whole = {"times": times, "wanted_ns": wanted, "lost_ns": lost, "spun_ns": spun}
    trial = {"do": "let its waiters yield", "predicted": None}
    return SeenInside(
        whole
        | {"burnt_ns": burnt, "locks": [lock] if lost else [], "doubts": [], "advice": [trial]}
    )


@dataclass
class Machine:
    folder: Path
    expects: list[str] = field(default_factory=list)
    pid: int | None = None
    probe: str = ""
    inside: Inside | None = None

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def section(self, title: str, text: str) -> None:
        name, _, target = title.partition(" -> ")
        if name == "probe":
            self.probe += text
        elif target:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).unlink(missing_ok=True)
            (self.folder / name).symlink_to(target)
        else:
            self.write(name, text)

    def without(self, name: str) -> None:
        if name == "probe":
            self.probe = ""
        for path in (self.folder / name, self.folder / "later" / name):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def thread(self, text: str) -> None:
        found = THREAD.fullmatch(text)
        assert found, text
        tid, state, place = found.group(1, 2, 3)
        for prefix, counts in (("", found[4]), ("later/", found[5])):
            run, delay, user, system, voluntary, involuntary = counts.split()
            folder = f"{prefix}proc/{self.pid}/task/{tid}"
            self.write(f"{folder}/schedstat", f"{run} {delay} 1\n")
            self.write(f"{folder}/wchan", place)
            stat = f"{tid} (a (b) c) {state} " + "0 " * 10 + f"{user} {system} 0 0\n"
            self.write(f"{folder}/stat", stat)
            self.write(
                f"{folder}/status",
                f"Name:\tx\nvoluntary_ctxt_switches:\t{voluntary}\n"
                f"nonvoluntary_ctxt_switches:\t{involuntary}\n",
            )

    def directive(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "based":
            self.play(rest.removeprefix("on "))
        elif word == "expects":
            self.expects = re.findall(r"\w+", rest)
        elif word == "inside":
            self.inside = seen_inside(dict(re.findall(r"(\w+)=(\d+)", rest)))
        elif word == "pid":
            self.pid = int(rest)
        elif word == "without":
            self.without(rest)
        elif word == "thread":
            self.thread(rest)
        else:
            assert word == "#", line

    def play(self, name: str) -> None:
        head, *sections = re.split(r"^== ", (MACHINES / f"{name}.txt").read_text(), flags=re.M)
        for line in filter(None, head.splitlines()):
            self.directive(line)
        for section in sections:
            title, _, text = section.partition("\n")
            self.section(title, text.replace("\\0", "\0"))

    def report(
        self, seconds: float = SECONDS, meanwhile: Callable[[], None] = lambda: None
    ) -> doctor.Report:
        """After the first pause the later files are there, and time has passed."""
        tree, now = Tree(self.folder), [0.0]

        def pause(length: float) -> None:
            now[0] += length
            tree.roots = (self.folder / "later", self.folder)
            meanwhile()

        said = probe.parse(self.probe, "overlock-probe was killed by SIGSYS")
        return doctor.examine(
            tree,
            said,
            self.pid,
            doctor.Looking(seconds, Clock(lambda: now[0], pause), self.inside),
        )


def machine(name: str, folder: Path) -> Machine:
    made = Machine(folder / name)
    made.play(name)
    return made
