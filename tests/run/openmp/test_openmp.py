# SPDX-License-Identifier: MIT
"""OpenMP's locks and critical sections under `overlock run`, of LLVM's runtime and of GNU's."""

import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.system import native
from tests.run.conformance import generate
from tests.run.conformance.asking import differences, wanted
from tests.run.conformance.generate import Case
from tests.run.conftest import LOCKS, collapses, environment, output, overlock, run
from tests.run.openmp.conftest import HERE, RUNTIMES, Make

COUNTED = "liboverlock-run-counted.so"
# One that spins, one that yields, one that parks, one that queues, one that lies outside the mutex.
SOME = ("byte", "tas_yield", "pv_ticket", "mcs", "partitioned_ticket")
GNUS_KINDS = {"c", "fortran", "c_nested", "critical"}  # it has no hints


def table(runtime: str) -> list[Case]:
    every = generate.load(HERE / "table.toml")
    return [case for case in every if runtime == "llvm" or case.kind in GNUS_KINDS]


def openmp(lock: str | None, which: str = "all", **more: str) -> dict[str, str]:
    """Threads that outnumber the CPUs sleep between parallel regions, so that runs are short."""
    return environment(lock, None, OVERLOCK_OPENMP=which, OMP_WAIT_POLICY="passive", **more)


def report_of(command: list[str | Path], folder: Path, **more: str) -> dict[str, Any]:
    """What the counted library says of a run that succeeds."""
    out = folder / "report.json"
    variables = openmp("tas_yield", OVERLOCK_OUTPUT=str(out)) | more
    done = run(command, variables | {"LD_PRELOAD": str(native.file(COUNTED))})
    assert done.returncode == 0, done
    report: dict[str, Any] = json.loads(out.read_text())
    return report


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_table_has_the_programs_words(lock_cases: dict[str, Path], runtime: str) -> None:
    said = output([lock_cases[runtime], "--list"], environment(None)).splitlines()
    have = {tuple(line.split()) for line in said}
    axes = {"kinds": "kind", "states": "state", "calls": "call"}
    assert have == {
        (case.family, axis, getattr(case, name))
        for case in table(runtime)
        for axis, name in axes.items()
    }


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_runtime_answers_as_the_table_says(lock_cases: dict[str, Path], runtime: str) -> None:
    assert not differences(lock_cases[runtime], wanted(table(runtime), set()), environment(None))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_answers_as_the_table_says(lock_cases: dict[str, Path], lock: str) -> None:
    for runtime in RUNTIMES:
        expected = wanted(table(runtime), {"openmp"})
        assert not differences(lock_cases[runtime], expected, openmp(lock))


def test_counted_and_checked_answer_the_same(lock_cases: dict[str, Path], tmp_path: Path) -> None:
    for flavour in ("counted", "checked"):
        library = native.file(f"liboverlock-run-{flavour}.so")
        env = openmp("twa", OVERLOCK_OUTPUT=str(tmp_path / "report"))
        env |= {"LD_PRELOAD": str(library), "OVERLOCK_CHECK": "1"}
        assert not differences(lock_cases["llvm"], wanted(table("llvm"), {"openmp"}), env)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("lock", SOME)
def test_constructs(make: Make, lock: str, runtime: str) -> None:
    times = "300" if collapses(lock) else "5000"
    command: list[str | Path] = [make("constructs.c", runtime), "8", times]
    more = {"OMP_CANCELLATION": "true"}
    right = output(command, openmp(None, **more))
    assert {line.split(":")[1].replace(" 0", "") for line in right.splitlines()} == {""}
    assert output(command, openmp(lock, **more)) == right


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("lock", SOME)
def test_a_forks_child_goes_on(make: Make, lock: str, runtime: str) -> None:
    assert output([make("forked.c", runtime)], openmp(lock)) == "0\n"


def test_a_reduction_by_the_runtimes_own_lock(make: Make) -> None:
    """Which stays the runtime's, beside critical sections that are ours."""
    command: list[str | Path] = [make("constructs.c", "llvm"), "8", "1000"]
    more = {"KMP_FORCE_REDUCTION": "critical", "OMP_CANCELLATION": "true"}
    assert output(command, openmp("tas_yield", **more)) == output(command, openmp(None, **more))


@dataclass(frozen=True)
class Asked:
    runtime: str
    which: str
    is_served: bool
    more: dict[str, str] = field(default_factory=dict)


DECISIONS = [
    Asked("llvm", "llvm", True),
    Asked("llvm", "all", True),
    Asked("llvm", "none", False),
    Asked("gnu", "llvm", False),
    Asked("gnu", "all", True),
    Asked("gnu", "none", False),
    Asked("llvm", "llvm", False, {"KMP_CONSISTENCY_CHECK": "all"}),
    Asked("llvm", "llvm", True, {"KMP_CONSISTENCY_CHECK": "none"}),
    Asked("llvm", "llvm", False, {"OMP_TOOL_LIBRARIES": "/nowhere.so"}),
    Asked("llvm", "llvm", True, {"OMP_TOOL_LIBRARIES": "/nowhere.so", "OMP_TOOL": "disabled"}),
]


@pytest.mark.parametrize("asked", DECISIONS, ids=str)
def test_whose_locks_are_served(make: Make, tmp_path: Path, asked: Asked) -> None:
    command: list[str | Path] = [make("constructs.c", asked.runtime), "4", "200", "simple"]
    report = report_of(command, tmp_path, OVERLOCK_OPENMP=asked.which, **asked.more)
    assert (report["left"]["openmp"] == 0) == asked.is_served


def test_nested_locks_of_gnus_runtime_are_its_own(make: Make, tmp_path: Path) -> None:
    report = report_of([make("constructs.c", "gnu"), "4", "200"], tmp_path)
    assert report["left"]["openmp"] > 0


def test_disabled_all_is_the_runtimes(lock_cases: dict[str, Path]) -> None:
    env = openmp("tas_yield", OVERLOCK_DISABLE="1")
    assert not differences(lock_cases["llvm"], wanted(table("llvm"), set()), env)


def test_a_tool_sees_every_lock(make: Make) -> None:
    """One thread alone: a count that is always the same."""
    tool = make("tool.c", "llvm", "-shared", "-fPIC")
    command: list[str | Path] = [make("constructs.c", "llvm"), "1", "100"]
    more = {"OMP_TOOL_LIBRARIES": str(tool), "OMP_CANCELLATION": "true"}
    said = output(command, openmp(None, **more))
    assert int(said.split("tool: ")[1]) > 1000
    assert output(command, openmp("tas_yield", **more)) == said


def test_a_preloaded_tool_does_too(make: Make) -> None:
    tool = make("tool.c", "llvm", "-shared", "-fPIC")
    command: list[str | Path] = [make("constructs.c", "llvm"), "1", "100"]
    env = openmp(None, OMP_CANCELLATION="true")
    said = output(command, env | {"LD_PRELOAD": str(tool)})
    env = openmp("tas_yield", OMP_CANCELLATION="true")
    assert output(command, env | {"LD_PRELOAD": f"{env['LD_PRELOAD']}:{tool}"}) == said


@pytest.mark.parametrize("which", ["llvm", "all", "none"])
@pytest.mark.parametrize("program", RUNTIMES)
def test_two_runtimes_in_one_process(make: Make, program: str, which: str) -> None:
    (other,) = set(RUNTIMES) - {program}
    library = make("many_runtimes.c", other, "-DLIBRARY", "-shared", "-fPIC")
    command: list[str | Path] = [make("many_runtimes.c", program), library, "2000"]
    for lock in (None, "tas_yield", "mcs"):
        assert output(command, openmp(lock, which)) == "program: 0\nlibrary: 0\nprogram: 0\n"


@pytest.mark.parametrize("args", [(), ("never",)])
def test_a_lock_that_is_none_is_reported(make: Make, args: tuple[str, ...]) -> None:
    done = run([make("no_lock.c", "llvm"), *args], openmp("tas_yield"))
    assert (done.returncode, done.stdout) == (-6, "")
    assert done.stderr == (
        "overlock: OpenMP lock: is used before omp_init_lock(), or after omp_destroy_lock()\n"
    )


def test_a_lock_that_is_destroyed_while_held_is_misuse(make: Make, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    assert overlock("--check", "--output", out, make("destroy_held.c", "llvm")).returncode == 0
    findings = json.loads(out.read_text())["findings"]
    assert [found["what"] for found in findings] == ["destroy_held"]


def test_many_find_a_new_section_at_once(make: Make) -> None:
    assert output([make("first_use.c", "llvm"), "8", "3000"], openmp("tas_yield")) == "0\n"


def test_a_section_is_counted_where_it_is(make: Make, tmp_path: Path) -> None:
    report = report_of([make("constructs.c", "llvm"), "4", "2000"], tmp_path)
    acquired: Counter[str] = Counter()
    for site in report["sites"]["sites"]:
        acquired[Path(site["module"]).name] += site["events"].get("ACQUIRE", 0)
    assert acquired["constructs-llvm"] > 20000


@pytest.mark.parametrize(
    ("options", "locks"),
    [
        ((), {"paced"}),
        (("--lock", "mcs"), {"mcs"}),
        (("--site", "constructs*:*=ticket"), {"ticket"}),
        (("--site", "nothing*=ticket"), {"paced"}),
        (("--site", "nothing*=ticket", "--lock", "mcs"), {"mcs"}),
    ],
)
def test_the_lock_of_its_sections(
    make: Make, tmp_path: Path, options: tuple[str, ...], locks: set[str]
) -> None:
    """OpenMP's locks have a default of their own, and what the user names goes before it."""
    program, out = make("constructs.c", "llvm"), tmp_path / "report.json"
    assert overlock(*options, "--output", out, program, "4", "2000").returncode == 0
    report = json.loads(out.read_text())
    sites = [site for site in report["sites"]["sites"] if "constructs" in site["module"]]
    assert {site["lock"] for site in sites} == locks
    assert report["openmp_lock"] == ("mcs" if "mcs" in options else "paced")


@pytest.mark.parametrize(("lock", "threads"), [(None, "1"), ("paced", "2")])
def test_the_example_of_the_page(make: Make, lock: str | None, threads: str) -> None:
    """As it is, with one thread: two collapse for minutes on a busy machine, as the page says."""
    program = make(str(HERE.parents[2] / "examples/openmp.c"), "llvm")
    said = output([program], openmp(lock, OMP_NUM_THREADS=threads))
    assert said.startswith(f"2000000 numbers with {threads} threads: ")


def test_more_locks_than_one_segment_do_not_move(make: Make) -> None:
    """The program of `constructs` has 5,000 at once; the first segment has room for 1,024."""
    said = output([make("constructs.c", "llvm"), "8", "20000"], openmp("tas_yield"))
    assert "many locks: 0\n" in said


def test_a_program_without_openmp_does_not_load_it(tmp_path: Path) -> None:
    """What we export does not make a program look as if it had a runtime."""
    code = "import ctypes; print(hasattr(ctypes.CDLL(None), 'omp_get_num_threads'))"
    assert output(["python3", "-c", code], openmp("tas_yield")) == "False\n"
    maps = subprocess.run(
        ["cat", "/proc/self/maps"], env=openmp("tas_yield"), capture_output=True, check=True
    ).stdout
    assert b"omp.so" not in maps
