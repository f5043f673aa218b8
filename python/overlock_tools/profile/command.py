# SPDX-License-Identifier: MIT
"""`overlock profile`, from what was asked to what is written."""

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from overlock_tools.core.system import cgroups, children, files, repeated
from overlock_tools.core.system.called import typed
from overlock_tools.core.system.errors import Fail, say
from overlock_tools.core.system.kernel_files import Tree, Unknown
from overlock_tools.profile import LOCKS, agent, diff, naming, report, show, timeline, verify
from overlock_tools.profile.family import Family, Member, name_of
from overlock_tools.profile.runtimes import unwatched
from overlock_tools.profile.seen import Seen
from overlock_tools.run import live

Report = dict[str, Any]
EACH_S = 1


def _root(thread: Path) -> tuple[int, ...]:
    """Of a thread that lives, and the namespace that keeps what is mounted there; else nothing."""
    opened: list[int] = []
    try:
        opened.append(os.open(thread / "root", os.O_PATH))
        opened.append(os.open(thread / "ns/mnt", os.O_RDONLY))
    except OSError:
        for number in opened:
            os.close(number)
        return ()
    return tuple(opened)


def _allowed(pid: int, *, able: bool) -> int:
    """CPUs that all its threads may use, together, or those `able` to run; 0: there are none."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError, ValueError):
                state = (thread / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                if state == "R" or not able:
                    found |= os.sched_getaffinity(int(thread.name))
    return len(found)


def _has_ended(pid: int) -> bool:
    """It may not have been waited for yet."""
    stat = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return stat[:1] in ([], ["Z"], ["X"])


@dataclass
class Context:
    """What is known of the program beside its waits; while it runs."""

    pid: int
    found: Report = field(default_factory=dict)
    opened: tuple[int, ...] = ()  # its root and what is mounted there, which outlive it so

    @property
    def root(self) -> Path | None:
        return Path(f"/proc/{os.getpid()}/fd/{self.opened[0]}") if self.opened else None

    def close(self) -> None:
        for number in self.opened:
            os.close(number)

    def look(self) -> None:
        tree = Tree()
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{self.pid}/task").iterdir():
                if opened := _root(thread):  # it may have moved: into a container, say
                    self.close()
                    self.opened = opened
                    break
        if "allowed_first" not in self.found and (first := _allowed(self.pid, able=False)):
            self.found["allowed_first"] = first
        if allowed := _allowed(self.pid, able=True):
            self.found["allowed"] = allowed
        with contextlib.suppress(Unknown, OSError):
            quota = cgroups.quota(tree, cgroups.of(tree, str(self.pid)))
            if not _has_ended(self.pid):  # else the kernel says that it is in the topmost group
                self.found["quota"] = quota.cpus if quota else None
        with contextlib.suppress(OSError):
            maps = Path(f"/proc/{self.pid}/maps").read_text(errors="replace")
            if maps:
                runtimes = ("libgomp", "libomp", "libiomp5")
                self.found["openmp"] = any(name in maps for name in runtimes)
                self.found["unwatched"] = unwatched(self.pid, maps)


def _sizes(options: dict[str, Any]) -> dict[str, int]:
    sizes = {"locks": options["locks"]}
    if options["timeline"]:
        sizes["changes"] = timeline.MOST
    if options["live"]:
        sizes["each"] = EACH_S
    return sizes


@dataclass(frozen=True)
class Answer:
    """What was seen of a process, and of those that it started."""

    seen: Seen
    context: Context
    others: list[Member[Context]]
    left: dict[int, float]  # CPU seconds of those that were not watched


def _answer(
    watching: agent.Watching, context: Context, name: str, options: dict[str, Any]
) -> Answer:
    """Meanwhile it is shown, if that is asked for; of one process alone."""
    if options["live"]:
        return Answer(_shown(watching, context, name, options), context, [], {})
    by = "looks" if isinstance(watching, agent.Sampling) else options["by"]
    family = Family(context.pid, _sizes(options), by, Context)

    def look() -> None:
        context.look()
        family.look()

    try:
        seen = watching.answer(look)
    finally:
        others = family.end()
    return Answer(seen, context, others, family.left)


def _shown(watching: agent.Watching, context: Context, name: str, options: dict[str, Any]) -> Seen:
    from overlock_tools.profile import top

    def looked() -> Iterator[Seen]:
        for seen in watching.answers():
            context.look()
            yield seen

    screen = Console(stderr=True)
    return top.watched(looked(), name, options["top"], screen, lambda: context.root)


def _made(answer: Answer, program: str) -> Report:
    """Of the process that was asked for, with what was seen of others."""
    names = naming.of(answer.seen, answer.context.root)
    found = report.make(answer.seen, names, program, answer.context.found)
    made = [
        report.make(one.seen, naming.of(one.seen, one.context.root), one.name, one.context.found)
        for one in answer.others
        if one.seen
    ]
    unseen = sum(one["children"] for one in (found, *made)) - len(made)
    return found | {
        "children": max(len(answer.left), unseen),
        "children_ns": round(1e9 * sum(answer.left.values())),
        "processes": made,
    }


def _write(answer: Answer, program: str, options: dict[str, Any]) -> Report:
    seen, found = answer.seen, _made(answer, program)
    if path := options["timeline"]:
        names = naming.of(seen, answer.context.root)
        files.write(path, timeline.text(seen, names, program))
        if lacks := timeline.lacks(seen):
            say(lacks)
    if path := options["json_path"]:
        files.write(path, json.dumps(found, indent=1) + "\n")
    if path := options["folded"]:
        files.write(path, show.folded(show.main_process(found)))
    if path := options["html"]:
        from overlock_tools.profile import page

        files.write(
            path, page.html(show.main_process(found), shlex.join(["overlock", *sys.argv[1:]]))
        )
    print(typed(show.whole(found, options["top"])), end="", file=sys.stderr, flush=True)
    return found


def _name(pid: int) -> str:
    try:
        return name_of(pid)
    except OSError as error:
        raise Fail(f"process {pid} does not exist; `ps` lists those that do") from error


def watched(pid: int, seconds: float) -> Report:
    """What is seen of a process that runs; of the main one, if it starts others."""
    name, context = _name(pid), Context(pid)
    options = {"locks": LOCKS, "timeline": None, "live": False, "by": "auto"}
    watching = agent.watch(pid, seconds, _sizes(options), "auto", is_quiet=True)
    context.look()
    return show.main_process(_made(_answer(watching, context, name, options), name))


def _watch_running(pid: int, options: dict[str, Any]) -> int:
    name, context = _name(pid), Context(pid)
    sizes = _sizes(options)
    watching = agent.watch(pid, options["seconds"], sizes, options["by"])
    context.look()
    with agent.stopped_by_signals(watching):
        if not options["seconds"]:
            say(f"watching {name}, process {pid}; Ctrl-C ends the observation, not the process")
        answer = _answer(watching, context, name, options)
    _write(answer, name, options)
    return 0


def _watch_program(args: tuple[str, ...], options: dict[str, Any]) -> int:
    sizes = _sizes(options)
    given = repeated.Input() if options["verify"] else None
    with (
        given.run() if given else contextlib.nullcontext(0) as read,
        agent.started(args, options["seconds"], sizes, options["by"], read) as (watching, child),
    ):
        answer = _answer(watching, Context(child.pid), Path(args[0]).name, options)
        found = _write(answer, Path(args[0]).name, options)
        code = child.wait()
    if given and code:
        say("not verified: the program failed")
    elif given:
        _verify(found, args, options["instead"], given)
    return live.end_as(code)


def _verify(
    found: Report, args: tuple[str, ...], instead: str | None, given: repeated.Input
) -> None:
    trial = verify.run(show.main_process(found), args, instead, given)
    if trial:
        print(trial.text(), file=sys.stderr)
    else:
        say("no advice is a command that can be run; give one by --instead")


def _compared(words: tuple[str, ...]) -> str | None:
    """Of `diff BEFORE AFTER`. A program of that name is run by its path."""
    if len(words) != 3 or words[0] != "diff":
        return None
    return diff.text(diff.read(Path(words[1])), diff.read(Path(words[2])))


def run(program: tuple[str, ...], options: dict[str, Any]) -> int:
    if compared := _compared(program):
        print(compared, end="")
        return 0
    if options["instead"] and not options["verify"]:
        raise Fail("--instead is for --verify; give both")
    if options["verify"] and not program:
        raise Fail("--verify runs the program again; give -- PROGRAM")
    if (options["pid"] is None) == (not program):
        raise Fail("expected either --pid PID or -- PROGRAM")
    for path in (options["json_path"], options["folded"], options["html"], options["timeline"]):
        if path:
            files.check_writable(path)
    if options["live"] and not sys.stderr.isatty():
        raise Fail("--live shows the locks on a terminal; leave it out where there is none")
    children.end_with_us()
    if program:
        return _watch_program(program, options)
    return _watch_running(options["pid"], options)
