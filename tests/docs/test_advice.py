# SPDX-License-Identifier: MIT
"""No text recommends a lock that our measurements call slower than the lock in place."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import advice_tables
import evidence
import judged
from evidence import Called, Cell
from overlock_tools.apps import demo
from overlock_tools.cli.main import cli
from overlock_tools.core.model import advice
from overlock_tools.core.model.advice import KEEP, Situation
from overlock_tools.core.model.measures import Cell as ResultCell
from overlock_tools.core.model.results import Result
from overlock_tools.doctor.judging import Rule
from overlock_tools.doctor.rules import RULES
from overlock_tools.run import config, tuning
from tests.conftest import TOP
from tests.docs.recommending import MUTEX, Recommended, quoted, recommended

PAGES = sorted(
    path
    for glob in (
        "*.md",
        "docs/**/*.md",
        "lib/*.md",
        "check/*.md",
        "check/engine/*.md",
        "packaging/*.conf",
    )
    for path in TOP.glob(glob)
    if path.parent.name != "locks"
)
LOCK_PAGES = sorted(TOP.glob("docs/locks/*.md"))
OVERCOMMITTED = ("8", "16", "32")
NONE_FASTER = "no lock was measured to be faster"
NONE_MEASURED = "no lock was measured under"

SITUATIONS = [pytest.param(one, id=one.id) for one in advice.load().values()]


def wrong(text: str, usual: tuple[str, ...] = MUTEX) -> list[Recommended]:
    """What it recommends although the measurements call it worse."""
    return [
        one
        for one in recommended(text, usual)
        if any(evidence.is_worse(situation, one.lock) for situation in one.situations)
    ]


# What texts said before they were derived from the table. Each must be found.
MUTANTS = {
    "README, the use of it": (
        "**Use it** in a program that is already built:\n\n"
        "    overlock run --lock preemptable_ticket -- ./server --port 8080\n",
        {"preemptable_ticket"},
    ),
    "run.md, its first line": (
        "    overlock run --lock preemptable_ticket --tau-ns 800 -- ./server --port 8080",
        {"preemptable_ticket"},
    ),
    "doctor, on a crowded machine": (
        "a lock that bears it: overlock run --lock preemptable_ticket -- PROGRAM; under heavy",
        {"preemptable_ticket"},
    ),
    "doctor, without slices": ("take ticket or ttas, which they are then", {"ticket", "ttas"}),
    "help of run": (
        "  overlock run --lock pv_preemptable_ticket --tau-ns 2000 -- sysbench mutex run\n"
        "  overlock run --lock twa --counters -- ./server --port 8080\n"
        "  overlock run --site 'leveldb*Mutex=mcs' --site 'libjemalloc.so:*=glibc' -- ./server\n",
        {"pv_preemptable_ticket", "twa", "mcs"},
    ),
    "choosing.md, its table": (
        "| you want | take |\n|---|---|\n"
        "| another lock in a program | `overlock run`, by default [`tas_yield`](tas_yield.md) |\n"
        "| order, and no collapse | [`preemptable_ticket`](locks/preemptable_ticket.md) |\n"
        "| a lock of 4 bytes | [`ttas`](locks/ttas.md), or [`byte`](locks/byte.md) |\n"
        "| to see the collapse | [`ticket`](locks/ticket.md), [`mcs`](locks/mcs.md) |\n",
        {"preemptable_ticket", "ttas", "byte"},
    ),
    "a command over two lines": ("overlock run --counters \\\n    --lock=mcs -- ./server", {"mcs"}),
    "a container's environment": (
        "ENV LD_PRELOAD=x OVERLOCK_LOCK=ticket OVERLOCK_QUIET=1",
        {"ticket"},
    ),
    "a file of --config": ('```toml\nlock = "mcs"\n```', {"mcs"}),
    "a spinlock that is slower than glibc's": (
        "`overlock run --spinlock preemptable_ticket -- ./server`",
        {"preemptable_ticket"},
    ),
    "help of run, its option --site": ("or of that name ('&global_lock=ticket').", {"ticket"}),
    "words": ("Under load, `mcs` is recommended.", {"mcs"}),
    "words over two lines": ("For servers take\n[`mcs`](locks/mcs.md) or `twa`.", {"mcs", "twa"}),
}
FINE = (
    "    overlock run --lock tas_yield -- ./server --port 8080",
    "    overlock run --lock ticket -- ./server    # shows the collapse",
    "    overlock bench sections --locks ticket,mcs,twa",
    "    overlock guest boot --lock ticket",
    "    overlock run --spinlock tas_yield --site 'libjemalloc.so:*=glibc' -- ./server",
    "Do not use `ticket` where threads may outnumber the CPUs.",
    "A waiter may take a ticket, and use a byte.",
    "<!-- situation: fifo-threads -->\nTake `preemptable_ticket` in its place.",
)


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_a_wrong_recommendation_is_found(mutant: tuple[str, set[str]]) -> None:
    text, locks = mutant
    assert {one.lock for one in wrong(text)} == locks


@pytest.mark.parametrize("text", FINE)
def test_others_are_not(text: str) -> None:
    assert not wrong(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_no_page_recommends_what_is_slower(page: Path) -> None:
    assert not wrong(page.read_text()), "see docs/choosing.md, which is made of advice.toml"


@pytest.mark.parametrize("page", LOCK_PAGES, ids=lambda page: page.stem)
def test_no_lock_page_recommends_what_is_slower(page: Path) -> None:
    """A lock's page says which lock to take in its place: that one must not be slower."""
    text = page.read_text()
    assert not [
        one for one in recommended(text) if one.lock != page.stem and below(one.lock, page.stem)
    ]
    assert not [one for one in wrong(text) if "overlock run" in one.line]


def below(lock: str, other: str) -> bool:
    evidence_of = advice.Evidence("sections", (other,), OVERCOMMITTED)
    those = [cell for cell in evidence.cells_of(evidence_of) if cell.lock == lock]
    return evidence.judged(those) in (Called.WORSE, Called.MIXED)


def test_a_lock_page_that_recommends_what_is_slower_is_found() -> None:
    assert below("ticket", "tas_yield")
    assert below("preemptable_ticket", "ttas")
    assert not below("tas_yield", "preemptable_ticket")
    assert not below("pv_preemptable_ticket", "preemptable_ticket")


# Help texts


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    with click.Context(command) as context:
        texts = [command.help, command.epilog]
        texts += [getattr(param, "help", None) for param in command.get_params(context)]
        yield name, "\n\n".join(filter(None, texts))
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                found = command.get_command(context, inner)
                assert found
                yield from helps(found, f"{name} {inner}")


HELPS = dict(helps(cli, "overlock"))


@pytest.mark.parametrize("name", HELPS)
def test_no_help_recommends_what_is_slower(name: str) -> None:
    assert not wrong(HELPS[name])


def test_the_default_of_run_is_not_slower() -> None:
    assert not any(evidence.is_worse(situation, config.PRESET) for situation in (*MUTEX, "fits"))


# What commands say


def strictly_wrong(text: str) -> list[str]:
    """Any lock that a line of advice names is recommended by it."""
    for one in advice.load().values():
        text = text.replace(one.say, "")
    return [lock for lock in quoted(text) if any(evidence.is_worse(one, lock) for one in MUTEX)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_doctor_recommends_nothing_slower(rule: Rule) -> None:
    for line in rule.advice:
        assert not wrong(line)
        assert not strictly_wrong(line)


def test_strictly_is_strict() -> None:
    said = "a lock that bears it; under heavy overcommit tas_yield or pv_preemptable_ticket"
    assert strictly_wrong(said) == ["pv_preemptable_ticket"]
    assert not strictly_wrong(advice.situation("fifo-neighbours").say)


def test_doctor_takes_its_locks_from_the_table() -> None:
    said = {line for rule in RULES for line in rule.advice}
    for id_ in ("mutex-threads", "mutex-neighbours", "spin-threads", "fifo-threads", "quota"):
        assert advice.situation(id_).say in said, id_
    for id_ in ("kernel-queue", "kernel-tas", "openmp-threads", "openmp-barriers"):
        assert advice.situation(id_).say in said, id_
    rest = [line for line in said if line not in {one.say for one in advice.load().values()}]
    assert not [line for line in rest if quoted(line)], "only the table names locks to take"


def measured_by_the_demo(fast: str) -> Result:
    """In which one lock is ten times as fast as the others."""
    variants = [*demo.COLLAPSE, *demo.CURE, *demo.PEERS]
    cells = [
        ResultCell(n, variant, 8, (10 if variant == fast else 1) * (1000 + n), 1, 1)
        for n in range(1, 10)
        for variant in variants
    ]
    return Result(
        kind="sections",
        title="",
        unit="acquisitions",
        baseline="ticket",
        command="",
        settings={"cpus": 2, "rounds": 9, "seconds": 1.0},
        machine={"cpu": "a CPU", "kernel": "6.1-x"},
        native={},
        variants=variants,
        threads=[8],
        parameters={},
        warnings=[],
        cells=cells,
    )


@pytest.mark.parametrize("fast", ["pthread_mutex", "tas_yield"])
def test_demo_recommends_what_the_table_does(fast: str) -> None:
    said = demo.conclusions([measured_by_the_demo(fast)])
    for id_ in demo.CLOSING:
        assert advice.situation(id_).say in " ".join(said)
    text = "\n\n".join((*said, demo.NEXT))
    for one in advice.load().values():
        text = text.replace(one.say, "")
    assert not wrong(text)
    assert not strictly_wrong(demo.NEXT)


SITES = [
    tuning.Site("work", 1000, waited, preempted, {held: 1000}, None)
    for waited in (5, 500)
    for preempted in (None, 0, 1, 400)
    for held in (64, 49152)
]


@pytest.mark.parametrize("site", SITES, ids=lambda s: f"{s.waited}, {s.preempted}, {[*s.hold]}")
def test_tune_proposes_what_the_table_does(site: tuning.Site) -> None:
    proposal = tuning.lock_for(site)
    take = advice.situation("mutex-threads").take
    assert proposal.value in {config.GLIBC, take} - {KEEP}
    assert not [lock for lock in quoted(proposal.why) if evidence.is_worse("mutex-threads", lock)]


# The table itself


SAID = ("docs/index.md", "docs/choosing.md", "python/overlock_tools/core/model/advice.toml")


@pytest.mark.parametrize("name", SAID)
def test_what_was_measured_is_not_called_unmeasured(name: str) -> None:
    """Under a quota, among others: docs/results/judged.md."""
    commands = [load["command"] for load in json.loads(judged.FILE.read_text())["quota"].values()]
    assert all(" --quota " in command for command in commands)
    assert f"{NONE_MEASURED} a quota" not in (TOP / name).read_text().lower()


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_is_recommended_is_faster(situation: Situation) -> None:
    if not situation.keeps:
        assert evidence.called(situation.id, situation.take) is Called.BETTER
    for lock in situation.alternatives:
        called = evidence.called(situation.id, lock)
        assert called in ({Called.ALIKE} if situation.keeps else {Called.BETTER}), lock
    for lock in quoted(f"{situation.words} {situation.say}"):
        assert lock in situation.locks


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_lock_is_kept_where_none_is_faster(situation: Situation) -> None:
    faster = [lock for lock in evidence.locks(situation.id) if is_faster(situation, lock)]
    assert bool(faster) != situation.keeps
    if NONE_FASTER in situation.say:
        assert situation.keeps
        assert situation.evidence


def is_faster(situation: Situation, lock: str) -> bool:
    return evidence.called(situation.id, lock) is Called.BETTER


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_recommendation_has_its_evidence(situation: Situation) -> None:
    nothing = not situation.evidence and not situation.pages
    for text in (situation.words, situation.say):
        assert (NONE_MEASURED in text.lower()) == nothing
    for where in situation.pages.values():
        assert (TOP / "docs" / where.partition("#")[0]).exists()
    for one in situation.evidence:
        assert evidence.cells_of(one)
    commands = evidence.commands(situation)
    assert all(re.match(r"(?:overlock|make) \w+", command) for command in commands)
    assert bool(commands) == bool(situation.evidence)


def wrong_rows(text: str) -> list[str]:
    """Situations of a table that recommends what the measurements call worse."""
    return [
        one.id
        for one in advice.parse(text).values()
        if any(evidence.is_worse(one.id, lock) for lock in one.locks)
    ]


def test_a_wrong_table_is_found() -> None:
    text = (TOP / "python/overlock_tools/core/model/advice.toml").read_text()
    assert not wrong_rows(text)
    for id_, worse in (("mutex-threads", "preemptable_ticket"), ("spin-threads", "mcs")):
        head, tail = text.split(f'id = "{id_}"')
        mutant = f'{head}id = "{id_}"' + re.sub(r'take = "\w+"', f'take = "{worse}"', tail, count=1)
        assert wrong_rows(mutant) == [id_]


def test_few_cells_are_so_by_chance() -> None:
    intervals = [evidence.BY_CHANCE] * 24
    likely = [evidence.likely_by_chance(hits, intervals) for hits in range(5)]
    assert likely[0] == 1
    assert likely[1] == pytest.approx(1 - 0.975**24)
    assert likely[2] > evidence.SLOWER_BY_CHANCE > likely[3] > evidence.FASTER_BY_CHANCE > likely[4]


def cell(ratio: float, low: float, high: float, rounds: int = 0) -> Cell:
    return Cell("tas", "ticket", "sections", "8", ratio, low, high, rounds)


def test_cells_are_judged_together() -> None:
    worse, better, alike = cell(0.5, 0.4, 0.9), cell(2, 1.1, 3), cell(0.9, 0.5, 1.5)
    assert evidence.judged([]) is Called.UNKNOWN
    assert evidence.judged([worse]) is Called.WORSE
    assert evidence.judged([better]) is Called.ALIKE
    assert evidence.judged([better, better]) is Called.BETTER
    assert evidence.judged([alike]) is Called.ALIKE
    assert evidence.judged([worse, worse, better, better]) is Called.MIXED
    assert evidence.judged([worse, *[alike] * 20]) is Called.ALIKE
    assert evidence.judged([cell(0.5, 0.4, 0.9, rounds=3)]) is Called.ALIKE
    assert evidence.judged([cell(0.5, 0.4, 0.9, rounds=5)]) is Called.WORSE
    assert evidence.judged([cell(0.01, 0.005, 0.02, rounds=3)]) is Called.WORSE


def test_given_up_is_slower() -> None:
    those = evidence.of_lock("mutex-threads", "ticket")
    given_up = [cell for cell in those if cell.ratio is None]
    assert given_up
    assert all(cell.worse for cell in given_up)


# Examples, README and docs/choosing.md


EXAMPLES = (
    "README.md",
    "docs/using.md",
    "examples/counter.c",
    "examples/queue.cpp",
    "include/overlock/overlock.h",
    "include/overlock/overlock.hpp",
)
DECLARED = re.compile(r"\bol_(\w+)_t lock = |\boverlock::(\w+) lock;")


def slower_declared(text: str) -> list[str]:
    """Locks of an example, which a reader copies, that are slower than a test-and-set lock."""
    locks = [c or cpp for c, cpp in DECLARED.findall(text)]
    assert locks
    return [lock for lock in locks if evidence.is_worse("library", lock)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_have_no_slow_lock(name: str) -> None:
    assert not slower_declared((TOP / name).read_text())


def test_examples_that_have_are_found() -> None:
    before = "static ol_preemptable_ticket_t lock = OL_PREEMPTABLE_TICKET_INIT;"
    assert slower_declared(before) == ["preemptable_ticket"]
    assert slower_declared("overlock::mcs lock;") == ["mcs"]


README = (TOP / "README.md").read_text()


def test_readme_begins_with_the_most_to_gain_and_ends_with_none() -> None:
    before, _, _ = README.partition("<!-- generated: advice-gains -->")
    running = [part for part in re.split(r"\n(?=- )|\n\n", before) if "overlock run" in part]
    assert running
    assert not [part for part in running if not re.search("--fit|--spins|OpenMP", part)]
    assert "nothing to gain" in before
    shown = [(one, one.gain) for one in advice.load().values() if one.gain]
    cells = [advice_tables.gain_cell(*one) for one in shown]
    assert [c.low for c in cells] == sorted((c.low for c in cells), reverse=True)
    *gain, (last, _) = shown
    assert last.keeps
    assert not any(one.keeps for one, _ in gain)


def test_choosing_has_every_situation() -> None:
    text = (TOP / "docs/choosing.md").read_text()
    assert "<!-- generated: advice -->" in text
    assert "<!-- generated: advice-measured -->" in (TOP / "docs/results/choosing.md").read_text()
    for one in advice.load().values():
        assert one.when in text
        assert one.words in text
