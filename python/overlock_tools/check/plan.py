# SPDX-License-Identifier: MIT
"""From what was asked to jobs: locks times scenarios times models times sizes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from overlock_tools.bench import header_locks
from overlock_tools.check import capabilities, foreign, thorough, unseen
from overlock_tools.check.job import ANY, LOCKS, SC, WALK, Job, Search, Size, Subject
from overlock_tools.core.model import defs
from overlock_tools.core.system.errors import Fail

ALL = "all"
LISTED = "`overlock check --list` lists them"
MOST_BUDGET = 1000
SECONDS = 60.0  # of each check


@dataclass(frozen=True)
class Asked:
    """The command line, word for word."""

    locks: tuple[str, ...]
    scenarios: tuple[str, ...]  # none: those of the lock's use
    models: tuple[str, ...]
    sizes: tuple[Size, ...]
    budgets: tuple[tuple[str, int], ...]
    search: Search
    weaken_line: str = ""
    clock: int | None = None
    roles: str = ""
    source: Path | None = None
    flags: str = ""
    within: float | None = None  # seconds of all checks together
    thorough: bool = False  # nothing was chosen: thorough.py chooses
    type_name: str = ""
    fifo: bool = False

    @property
    def every_scenario(self) -> bool:
        """Then those that make no sense for a lock are passed over."""
        return ALL in self.scenarios


def budget(text: str) -> tuple[str, int]:
    kind, equals, n = text.partition("=")
    defs.known(capabilities.load().budgets, kind, "budget", LISTED)
    if not (equals and n.isascii() and n.isdigit() and int(n) <= MOST_BUDGET):
        raise Fail(f"--budget {text}: expected KIND=N, N from 0 to {MOST_BUDGET}, as in stop=1")
    return kind, int(n)


def asked(options: Mapping[str, Any]) -> Asked:
    """Of the command line's options."""
    weakening = options["weaken"]
    everything = thorough.is_asked_for(options)
    within, seconds = _limits(options, everything)
    sizes = [Size.parse(word) for text in options["sizes"] for word in text.split(",")]
    if options["contexts"] is not None or options["acquisitions"] is not None or not sizes:
        given = Size(*(2 if options[k] is None else options[k] for k in Size._fields))
        sizes.insert(0, given.checked())
    return Asked(
        locks=options["locks"],
        scenarios=options["scenarios"] or _usual_scenarios(options),
        models=options["models"] or (("c11",) if weakening else (SC,)),
        sizes=tuple(dict.fromkeys(sizes)),
        budgets=tuple(map(budget, options["budgets"])),
        search=Search(options["search"], options["seed"], seconds or None, options["executions"]),
        weaken_line=options["weaken_line"],
        clock=options["clock"],
        roles=options["roles"],
        source=options["source"],
        flags=options["cflags"],
        within=within or None,
        thorough=everything,
        type_name=options["type_name"],
        fifo=options["fifo"],
    )


def _usual_scenarios(options: Mapping[str, Any]) -> tuple[str, ...]:
    if options["weaken"]:
        return (ALL,)
    if options["search"] == WALK:
        return (ANY,)
    return (LOCKS,) if options["replay"] else ()


def _limits(options: Mapping[str, Any], everything: bool) -> tuple[float, float]:
    """Seconds of all checks together, and of each; 0: no limit."""
    within, seconds = options["within"], options["seconds"]
    if within is None:
        within = thorough.SECONDS if everything and seconds is None else 0.0
    if seconds is None:
        seconds = 0.0 if within or everything else SECONDS
    return within, seconds


def names(given: Sequence[str], table: Mapping[str, object], kind: str) -> list[str]:
    """Without repetitions, `all` for every one; each known to exist."""
    found: dict[str, None] = {}
    for word in (word for text in given for word in text.split(",") if word):
        if word != ALL:
            defs.known(table, word, kind, LISTED)
        found.update(dict.fromkeys(table if word == ALL else [word]))
    return list(found)


def subject(text: str, loaded: Path | None = None) -> Subject:
    """`ticket`, `preemptable_ticket@tau=0`, `./mine.h`."""
    name, at, settings = text.partition("@")
    if foreign.is_foreign(name):
        return Subject(foreign.lock_id(Path(name)), (), Path(name), loaded)
    if not header_locks.is_header(name):
        listed = capabilities.load()
        name, *tune = defs.checked_variant(text, listed.locks | listed.waits, LISTED).split("@")
        return Subject(name, tuple(tune))
    known = header_locks.lock_id(Path(name))
    _, *tune = defs.checked_variant(known + at + settings, {known: ""}, LISTED).split("@")
    return Subject(known, tuple(tune), Path(name), loaded)


def subjects(given: Sequence[str]) -> list[Subject]:
    found: dict[Subject, None] = {}
    for word in (word for text in given for word in text.split(",") if word):
        listed = list(capabilities.load().locks) if word == ALL else [word]
        found.update(dict.fromkeys(map(subject, listed)))
    if not found:
        raise Fail("no lock to check; give a lock, a header such as ./mine.h, or all")
    return list(found)


def with_source(given: Sequence[Subject], asked: Asked) -> list[Subject]:
    """Those of C, C++ and Rust files know what was said of them."""
    said = {
        "--source": asked.source,
        "--cflags": asked.flags,
        "--type": asked.type_name,
        "--fifo": asked.fifo,
    }
    if any(said.values()) and not any(map(_is_foreign, given)):
        option = next(name for name, value in said.items() if value)
        raise Fail(f"{option} is for locks of C, C++ and Rust files; give one, such as ./lock.c")
    return [
        replace(
            one,
            source=asked.source,
            flags=asked.flags,
            type_name=asked.type_name,
            fifo=asked.fifo,
        )
        if _is_foreign(one)
        else one
        for one in given
    ]


def _is_foreign(one: Subject) -> bool:
    return one.header is not None and foreign.is_foreign(str(one.header))


@contextmanager
def compiled(given: Sequence[Subject]) -> Iterator[list[Subject]]:
    """Locks from outside the tree are compiled for as long as the context lasts."""
    with TemporaryDirectory(prefix="overlock-") as folder:
        done: dict[Path, foreign.Made] = {}
        for number, one in enumerate(given):
            if one.header and one.header not in done:
                place = Path(folder) / str(number)  # two headers may have one name
                place.mkdir()
                done[one.header] = (
                    foreign.make(one.header, place, one.source, one.flags, one.type_name)
                    if _is_foreign(one)
                    else foreign.Made(header_locks.compile_subject(one.header, place), None)
                )
        yield [_loaded(one, done[one.header]) if one.header else one for one in given]


def _loaded(one: Subject, made: foreign.Made) -> Subject:
    called = unseen.calls(made.object) if _is_foreign(one) else ()
    return replace(one, loaded=made.object, taken=made.lock, unseen=(*called, *made.hidden))


def jobs(asked: Asked, of: Sequence[Subject]) -> list[Job]:
    if asked.thorough:
        return _thorough(asked, of)
    known = capabilities.load()
    of_waits = {name: what for one in known.waits.values() for name, what in one.items()}
    scenarios = names(asked.scenarios, of_waits | known.scenarios, "scenario")
    models = names(asked.models, known.models, "model")
    return [
        Job(
            one,
            scenario,
            model,
            size,
            asked.budgets,
            asked.search,
            weaken=asked.weaken_line,
            clock=asked.clock,
            roles=roles,
        )
        for one in of
        for scenario in scenarios or thorough.main(one, asked.roles) or [LOCKS]
        if not asked.every_scenario or scenario in capabilities.supported(one).scenarios
        for model in models
        for size in asked.sizes
        for roles in thorough.roles(one, scenario, size, asked.roles)
    ]


def _thorough(asked: Asked, of: Sequence[Subject]) -> list[Job]:
    """Of several locks the same check of each, one after the other."""
    rows = [
        [
            Job(
                one,
                cell.scenario,
                cell.model,
                cell.size,
                asked.budgets,
                asked.search,
                clock=asked.clock,
                roles=cell.roles,
            )
            for cell in thorough.cells(one, asked.roles)
        ]
        for one in of
    ]
    return [job for some in zip_longest(*rows) for job in some if job]


def to_replay(text: str, asked: Asked) -> Job:
    """`LOCK@SCHEDULE`: what follows the last @ is the schedule."""
    lock, at, schedule = text.rpartition("@")
    if not at or not lock or not schedule or "=" in schedule:
        raise Fail(f"--replay {text}: expected LOCK@SCHEDULE, as printed with a counterexample")
    if asked.locks:
        raise Fail("--replay already names a lock; give no other")
    whole: list[Any] = jobs(asked, with_source([subject(lock)], asked))
    if len(whole) != 1:
        raise Fail("--replay needs exactly one scenario, one model and one size")
    job: Job = whole[0]
    return job.replayed(schedule)
