# SPDX-License-Identifier: MIT
"""Two looks at what the kernel counts, and samples between them."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from overlock_tools.core.system import cgroups
from overlock_tools.core.system.kernel_files import Tree, Unknown, fields

# Between two samples; and one sample of many threads takes at most this share of the time.
SAMPLE_S = 0.05
SAMPLING_SHARE = 0.1


@dataclass(frozen=True)
class Clock:
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Thread:
    """Counted since the thread began."""

    run_ns: int
    delay_ns: int  # runnable, without a CPU
    user_ticks: int
    system_ticks: int
    voluntary: int
    involuntary: int

    def since(self, then: "Thread") -> "Thread":
        pairs = zip(vars(self).values(), vars(then).values(), strict=True)
        return Thread(*(max(0, now - before) for now, before in pairs))


NOTHING = Thread(0, 0, 0, 0, 0, 0)


def thread(tree: Tree, folder: str) -> Thread:
    run, delay, *_ = tree.read(f"{folder}/schedstat").split()
    # The name stands in parentheses, and may contain them.
    stat = tree.read(f"{folder}/stat").rpartition(")")[2].split()
    status = fields(tree.read(f"{folder}/status"))
    return Thread(
        int(run),
        int(delay),
        int(stat[11]),
        int(stat[12]),
        int(status["voluntary_ctxt_switches"]),
        int(status["nonvoluntary_ctxt_switches"]),
    )


@dataclass
class Watch:
    """What was seen of the machine and, if asked, of a process during an interval."""

    seconds: float = 0.0
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    runnable: list[int] = field(default_factory=list)  # on the machine, without us
    threads: dict[int, Thread] = field(default_factory=dict)  # during the interval
    why_no_threads: str = "no process was asked for"
    running: list[int] = field(default_factory=list)  # of its threads, at each sample
    asleep_in: Counter[str] = field(default_factory=Counter)
    runnable_in: Counter[int] = field(default_factory=Counter)  # samples, by thread

    def look_at_threads(self, tree: Tree, pid: int | None) -> dict[int, Thread]:
        try:
            return _threads(tree, pid) if pid else {}
        except Unknown as error:
            self.why_no_threads = str(error)
            return {}

    def with_open_delay(self, tid: int, counts: Thread) -> Thread:
        """A delay is counted when it ends; this thread was runnable all along and never ran."""
        never_ran = not counts.run_ns and not counts.delay_ns
        if never_ran and self.running and self.runnable_in[tid] == len(self.running):
            return replace(counts, delay_ns=int(self.seconds * 1e9))
        return counts

    def pair(self, name: str) -> tuple[str, str]:
        if name not in self.before or name not in self.after:
            raise Unknown(f"{name}: not there, or not to be read")
        return self.before[name], self.after[name]


def _files(tree: Tree, who: str) -> list[str]:
    try:
        groups = cgroups.of(tree, who).folders
    except Unknown:
        groups = []
    own = [f"{folder}/{name}" for folder in groups for name in ("cpu.stat", "cpu.pressure")]
    return ["/proc/stat", "/proc/schedstat", "/proc/pressure/cpu", *own]


def _read(tree: Tree, names: list[str]) -> dict[str, str]:
    return {name: text for name in names if (text := tree.read_or(name))}


def _threads(tree: Tree, pid: int) -> dict[int, Thread]:
    """Those that can be read; Unknown if none can."""
    found, why = {}, Unknown("it has ended")
    for tid in tree.names(f"/proc/{pid}/task"):
        try:
            found[int(tid)] = thread(tree, f"/proc/{pid}/task/{tid}")
        except Unknown as error:
            why = error
        except (KeyError, ValueError, IndexError):
            why = Unknown(f"/proc/{pid}/task/{tid} is not as Linux writes it")
    if not found:
        raise why
    return found


class Sampler:
    """Looks now and then, while the interval lasts, at what has no counter."""

    def __init__(self, tree: Tree, pid: int | None, watch: Watch) -> None:
        self.tree, self.pid, self.watch = tree, pid, watch

    def machine(self) -> None:
        try:
            runnable = int(self.tree.read("/proc/loadavg").split()[3].partition("/")[0])
        except (Unknown, IndexError, ValueError):
            return
        self.watch.runnable.append(max(0, runnable - 1))  # we run while we look

    def process(self) -> None:
        running = 0
        for tid in self.tree.names(f"/proc/{self.pid}/task"):
            folder = f"/proc/{self.pid}/task/{tid}"
            state = self.tree.read_or(f"{folder}/stat").rpartition(")")[2].split()[:1]
            self.watch.runnable_in[int(tid)] += state == ["R"]
            running += state == ["R"]
            if state == ["S"]:
                self.watch.asleep_in[self.tree.read_or(f"{folder}/wchan", "?")] += 1
        self.watch.running.append(running)

    def sample(self) -> None:
        self.machine()
        if self.pid is not None:
            try:
                self.process()
            except Unknown:  # it has just ended; the second look will say so
                return


def observe(tree: Tree, pid: int | None, seconds: float, clock: Clock) -> Watch:
    watch = Watch()
    sampler = Sampler(tree, pid, watch)
    names = _files(tree, str(pid or "self"))
    threads: dict[int, Thread] = {}
    began = clock.now()
    watch.before = _read(tree, names)
    threads = watch.look_at_threads(tree, pid)
    while clock.now() < began + seconds:
        sampled = clock.now()
        sampler.sample()
        rest = max(SAMPLE_S, (clock.now() - sampled) / SAMPLING_SHARE)
        clock.pause(min(rest, max(0.0, began + seconds - clock.now())))
    last = watch.look_at_threads(tree, pid) if threads else {}
    watch.after = _read(tree, names)
    watch.seconds = clock.now() - began
    # A thread that is new has counted all it counts in the interval.
    since = {tid: now.since(threads.get(tid, NOTHING)) for tid, now in last.items()}
    watch.threads = {tid: watch.with_open_delay(tid, counts) for tid, counts in since.items()}
    return watch
