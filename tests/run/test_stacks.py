# SPDX-License-Identifier: MIT
"""overlock run --stacks and --folded: who waits behind wrappers, and that nothing is lost."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from overlock_tools.core.system import native, symbols
from overlock_tools.run import profiling, stacks
from tests.command import schema
from tests.run.conformance.test_mutants import Mutant, build
from tests.run.conftest import Compile, environment, overlock, run

SCHEMA = schema("run")
# One that spins, one that yields, one that parks, one that queues, one that lies outside the mutex.
KINDS = ("ticket", "tas_yield", "pv_ticket", "mcs", "partitioned_ticket")
Report = dict[str, Any]

pytestmark = pytest.mark.skipif(not symbols.tool(), reason=f"there is no {symbols.TOOL}")


def read_folded(text: str) -> Iterator[tuple[list[str], int]]:
    """As speedscope and flamegraph.pl read it: what follows the last space is the weight."""
    for line in text.splitlines():
        found = re.fullmatch(r"(.+) (\d+)", line)
        assert found, line
        names = found[1].split(";")
        assert all(names), line
        yield names, int(found[2])


def plain(name: str) -> str:
    return name.removesuffix("_[i]").partition("(")[0]


def library(program: Compile, name: str) -> Path:
    options = ("-shared", "-fPIC", f"-DNAME={name}")
    return program("stacks_library.cpp", *options, name=f"{name}.so")


@pytest.fixture
def command(program: Compile) -> list[str | Path]:
    libraries = [library(program, name) for name in ("in_the_first", "in_other_one")]
    return [program("stacks.cpp"), "one", "two", *libraries, "recursive", "fork", "loud"]


def reported(tmp_path: Path, *asked: str | Path) -> tuple[Report, str]:
    out, folded = tmp_path / "report", tmp_path / "folded"
    done = overlock("--output", out, "--folded", folded, *asked)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
    assert sorted(tmp_path.iterdir()) == sorted([out, folded])
    report: Report = json.loads(out.read_text())
    jsonschema.validate(report, SCHEMA)
    return report, folded.read_text()


def total(report: Report, name: str) -> int:
    return sum(int(site[name]) for site in report["sites"]["sites"])


@pytest.mark.parametrize("lock", KINDS)
def test_who_waits_behind_wrappers(command: list[str | Path], tmp_path: Path, lock: str) -> None:
    report, folded = reported(tmp_path, "--lock", lock, *command)
    ways = [(["main", *map(plain, names)], ns) for names, ns in read_folded(folded)]
    assert sum(ns for _, ns in ways) == total(report, "wait_ns") > 0
    by: Counter[str] = Counter()
    for names, ns in ways:
        for name in set(names):
            by[name] += ns
    for who in ("one", "two", "loud", "in_the_first", "in_other_one", "wait_in_library", "deeper"):
        assert by[who] > 0, who
    assert by["in_child"] == 0  # it is another process
    assert by["loud"] > by["one"]
    through = [names for names, _ in ways if "loud" in names]
    assert [names[-3:] for names in through] == [["loud", "Guard::Guard", "Port::lock"]]
    assert "Port::lock()_[i]" in folded


def test_deep_stacks_are_cut_and_say_so(command: list[str | Path], tmp_path: Path) -> None:
    report, folded = reported(tmp_path, *command)
    (deep,) = [names for names, _ in read_folded(folded) if "deeper(int)" in names]
    assert deep[0] == stacks.CUT
    assert set(deep[1:-3]) == {"deeper(int)"}
    assert [stack["cut"] for stack in report["stacks"]["stacks"]].count(True) == 1


def test_files_and_lines(program: Compile, tmp_path: Path) -> None:
    source = (Path(__file__).parent / "programs/stacks.cpp").read_text().splitlines()
    for option in ((), ("-no-pie",)):
        command = program("stacks.cpp", *option, name=f"stacks{''.join(option)}")
        report, _ = reported(tmp_path, command, "loud")
        waited = max(report["sites"]["sites"], key=lambda site: site["wait_ns"])
        assert [call["function"] for call in waited["calls"]] == ["Port::lock()", "Guard::Guard()"]
        assert source[waited["calls"][0]["line"] - 1].strip() == "pthread_mutex_lock(&mutex);"
        assert [call["inlined"] for call in waited["calls"]] == [True, False]
        top = report["stacks"]["frames"][report["stacks"]["stacks"][0]["frames"][0]]
        assert top["calls"] == waited["calls"]
        text = stacks.table(report, "stacks", 3)
        assert "Port::lock (stacks.cpp:" in text
        assert "< Guard::Guard (stacks.cpp:" in text
        assert "< loud (stacks.cpp:" in text


def test_by_how_long_it_was_held(program: Compile, tmp_path: Path) -> None:
    """The one that is called 500 times as often holds it for less: counting would mislead."""
    report, folded = reported(tmp_path, "--weight", "hold", program("stacks.cpp"), "busy")
    held: Counter[str] = Counter()
    for names, ns in read_folded(folded):
        held[next(n for n in ("often", "at_length") if n in map(plain, names))] += ns
    assert held.total() == total(report, "hold_ns")
    assert held["at_length"] > held["often"] > 0
    seen = {stack["holds"] for stack in report["stacks"]["stacks"]}
    assert 0 < sum(seen) < 10_020  # bounded: not each of them was looked at


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain_c", "plain_c"),
        ("Queue::push(int) const", "Queue::push"),
        ("(anonymous namespace)::work(void (*)(int))", "(anonymous namespace)::work"),
        ("(anonymous namespace)::work", "(anonymous namespace)::work"),
        ("Call::operator()(int) const [clone .cold]", "Call::operator()"),
        ("operator()", "operator()"),
        ("Iterator::Next() (.part.0)", "Iterator::Next"),
        ("f(A)::{lambda(int)#1}::operator()(int) const", "f(A)::{lambda(int)#1}::operator()"),
    ],
)
def test_tables_leave_parameters_out(name: str, shown: str) -> None:
    assert stacks.without_parameters(name) == shown


def test_every_nanosecond_is_somebodys() -> None:
    for parts in ([1, 1, 1], [5], [10**15, 1, 7], [0, 3]):
        for whole in (0, 1, 2, 100, 10**18 + 1):
            shares = stacks.shared_out(whole, parts)
            assert sum(shares) == whole
            assert all(
                abs(share * sum(parts) - whole * part) < sum(parts)
                for share, part in zip(shares, parts, strict=True)
            )


def test_calls_without_a_stack_are_there(program: Compile, tmp_path: Path) -> None:
    """As if the library had never had the time to take one."""
    report, folded = reported(tmp_path, program("stacks.cpp"), "one")
    report["stacks"]["stacks"] = []
    without = list(read_folded(stacks.folded(report)))
    assert sum(ns for _, ns in without) == total(report, "wait_ns")
    assert {names[0] for names, _ in without} == {stacks.NO_STACK}
    assert {names[-1] for names, ns in without if ns} <= {
        names[-1] for names, _ in read_folded(folded)
    }


def test_without_a_symbolizer(program: Compile, tmp_path: Path) -> None:
    """Neither LLVM's nor ours."""
    parts = tmp_path / "native"
    parts.mkdir()
    for part in native.folder().iterdir():
        if part.name != symbols.OURS:
            (parts / part.name).symlink_to(part)
    out = tmp_path / "folded"
    nowhere = {"PATH": str(tmp_path), "OVERLOCK_NATIVE": str(parts)}
    done = overlock("--folded", out, program("stacks.cpp"), "one", **nowhere)
    assert (done.returncode, done.stdout) == (0, "ended\n")
    assert done.stderr.count("\n") == 1
    assert "install" in done.stderr
    assert any("stacks+0x" in names[-1] for names, _ in read_folded(out.read_text()))


def test_the_program_is_itself(program: Compile, tmp_path: Path) -> None:
    out = tmp_path / "folded"
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(5)"
    done = overlock("--folded", out, sys.executable, "-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (5, "out\n", "err\n")
    done = overlock("--folded", out, "sh", "-c", "kill -9 $$")
    assert done.returncode == -9
    assert "ended by signal 9 and wrote no final report" in done.stderr


def test_a_program_of_this_folder(
    program: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program("stacks.cpp").parent)
    reported(tmp_path, "./stacks", "one")


def test_what_it_refuses(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    for args, word in (
        (("--stacks", "--output", f"{out}%p"), "%p"),
        (("--folded", str(tmp_path / "no/out")), "does not exist"),
        (("--folded", out, "--counters=1s", "--output", out), "--counters=1s"),
        (("--weight", "none", "--folded", out), "wait"),
        (("--top", "0", "--output", out), "--top"),
        (("--counters-signal", "KILL", "--output", out), "cannot be caught"),
        (("--counters-signal", "9", "--output", out), "cannot be caught"),
        (("--counters-signal", "SEGV", "--output", out), "fault"),
        (("--counters-signal", "nix", "--output", out), "USR2"),
        (
            ("--counters-signal", "USR2", "--check", "--output", out),
            "--counters-signal cannot be combined",
        ),
    ):
        done = overlock(*args, "true")
        assert (done.returncode, done.stderr.count("\n")) == (125, 1), done
        assert word in done.stderr
    assert not list(tmp_path.iterdir())


def test_beside_what_is_checked(program: Compile, tmp_path: Path) -> None:
    report, _ = reported(tmp_path, "--check", program("misuse.c"), "free_unlock")
    assert [finding["what"] for finding in report["findings"]] == ["free_unlock"]
    report["sites"] = None  # as it is written when something is found, and then the program dies
    to = profiling.To("misuse", tmp_path / "report", tmp_path / "no", 1)
    to.write(report)
    assert json.loads((tmp_path / "report").read_text()) == report
    assert not (tmp_path / "no").exists()


# Reports on demand.

HOW = {"plainly": "reported", "blocked": "reported", "forked": "child: 7\nreported"}


def on_demand(library: Path, program: Path, how: str, folder: Path, ms: int) -> tuple[str, Path]:
    """What it printed, and the first report, if there was one."""
    out, first = folder / f"{how}.report", folder / f"{how}.first"
    more = {"OVERLOCK_OUTPUT": str(out), "OVERLOCK_SIGNAL": "12"}
    done = run([program, how, out, str(ms), first], environment("tas_yield", library, **more))
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.strip(), first


COUNTED = "liboverlock-run-counted.so"


def acquired(report: Path) -> tuple[bool, int]:
    found = json.loads(report.read_text())
    jsonschema.validate(found, SCHEMA)
    return found["ended"], sum(s["events"].get("ACQUIRE", 0) for s in found["sites"]["sites"])


@pytest.mark.parametrize("how", HOW)
def test_a_report_on_demand(program: Compile, tmp_path: Path, how: str) -> None:
    said, first = on_demand(native.file(COUNTED), program("demand.c"), how, tmp_path, 60_000)
    assert said == HOW[how]
    assert acquired(first) == (False, 100)
    assert acquired(tmp_path / f"{how}.report") == (True, 111)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_programs_own_handler_is_its_own(program: Compile, tmp_path: Path) -> None:
    said, first = on_demand(native.file(COUNTED), program("demand.c"), "handled", tmp_path, 300)
    assert said == "handled, none"
    assert not first.exists()
    last = json.loads((tmp_path / "handled.report").read_text())
    assert last["signal"] == {"number": 12, "taken": True}


def test_on_demand_by_the_command(program: Compile, tmp_path: Path) -> None:
    """With stacks, overlock is beside the program and names them each time."""
    out, first = tmp_path / "report", tmp_path / "first"
    asked = ("--counters-signal", "usr2", "--stacks", "--output", out)
    done = overlock(*asked, program("demand.c"), "plainly", out, "60000", first)
    assert (done.returncode, done.stdout, done.stderr) == (0, "reported\n", "")
    assert acquired(first) == (False, 100)
    assert acquired(out) == (True, 111)
    assert json.loads(first.read_text())["stacks"]["of"] == "wait"


def test_a_report_without_room_leaves_the_one_before(program: Compile, tmp_path: Path) -> None:
    assert without_room(native.file(COUNTED), program("stacks.cpp"), tmp_path) == "the one before"


def without_room(library: Path, program: Path, folder: Path) -> str:
    """Files may not grow beyond 300 bytes. The program ends as it would."""
    out = folder / "report"
    out.write_text("the one before")
    env = environment("tas_yield", library, OVERLOCK_OUTPUT=str(out))
    done = run([program, "one", "full"], env)
    assert (done.returncode, done.stdout) == (0, "ended\n")
    return out.read_text() if out.exists() else ""


# Mutants.

LIBRARIES = ("in_the_first", "in_other_one")
MUTANTS: dict[str, tuple[Any, ...]] = {
    # the file, what is right and what is wrong there; and more of that
    "an object is known by where it lies": (
        "stacks.c",
        "m->object.dynamic == o->dynamic && !strcmp(m->name, o->path);",
        "m->object.dynamic == o->dynamic;",
    ),
    "the innermost frame tells stacks apart": (
        "stacks.c",
        "i < a->depth; i++)",
        "i < 1; i++)",
        ("stacks.c", "i < s->depth; i++) hash", "i < 1; i++) hash"),
        ("stacks.c", " || a->depth != b->depth)", ")"),
    ),
    "the innermost frames are enough": ("stacks.c", "enum { DEEP = 128 };", "enum { DEEP = 4 };"),
    "a frame is where it returns to": (
        "stacks.c",
        "uintptr_t at = (uintptr_t)returns_to - 1;",
        "uintptr_t at = (uintptr_t)returns_to + 64;",
    ),
}


def ways(library: Path, program: list[str | Path], folder: Path) -> set[tuple[str, ...]]:
    """All stacks, by function."""
    out = folder / "report"
    env = environment("tas_yield", library, OVERLOCK_OUTPUT=str(out), OVERLOCK_STACKS="wait")
    done = run(program, env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
    folded = stacks.folded(stacks.named(json.loads(out.read_text())))
    return {tuple(map(plain, names)) for names, _ in read_folded(folded)}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(command: list[str | Path], tmp_path: Path, name: str) -> None:
    command.remove("recursive")
    (tmp_path / "mutant").mkdir()
    file, right, wrong, *also = MUTANTS[name]
    mutant = Mutant(name, file, right, wrong, "tas_yield", (), tuple(also))
    library = build(tmp_path / "mutant", mutant, "counted")
    assert ways(library, command, tmp_path) != ways(native.file(COUNTED), command, tmp_path)


def test_mutant_that_writes_in_place_is_caught(program: Compile, tmp_path: Path) -> None:
    mutant = Mutant(
        "no file beside it",
        "diag/report.c",
        "int fd = open_temporary();",
        "int fd = (strcpy(temporary, output), open(output, O_WRONLY | O_TRUNC | O_CLOEXEC));",
        "tas_yield",
        (),
    )
    (tmp_path / "mutant").mkdir()
    library = build(tmp_path / "mutant", mutant, "counted")
    assert without_room(library, program("stacks.cpp"), tmp_path) != "the one before"


DEMAND_MUTANTS = {
    # what the program is told to do, what is right and what is wrong in demand.c
    "nobody gets a signal that is blocked": (
        "blocked",
        "pthread_sigmask(SIG_UNBLOCK, &ours, 0);",
        "(void)ours;",
    ),
    "once is enough": ("plainly", "ol_run_report_on_demand();", "(void)0;"),
}


@pytest.mark.parametrize("name", DEMAND_MUTANTS)
def test_mutant_that_does_not_report_is_caught(program: Compile, tmp_path: Path, name: str) -> None:
    how, right, wrong = DEMAND_MUTANTS[name]
    (tmp_path / "mutant").mkdir()
    mutant = Mutant(name, "demand.c", right, wrong, "tas_yield", ())
    library = build(tmp_path / "mutant", mutant, "counted")
    assert on_demand(library, program("demand.c"), how, tmp_path, 500)[0] == "none"
