# SPDX-License-Identifier: MIT
"""No wait, release or fork's child allocates, uses stdio or the loader, or can be cancelled.

By the machine code of the built libraries; what that cannot show, rules.py lists.
"""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.lib.paths import rules
from tests.lib.paths.graph import Graph, output, read
from tests.run.conformance.test_mutants import Mutant, build

LIBRARIES = (
    *("liboverlock-run.so", "liboverlock-run-counted.so", "liboverlock-run-checked.so"),
    "liboverlock.so",
)
ALLOWED = {name for names in rules.ALLOWED.values() for name in names.split()}


def roots(graph: Graph, exports: Path) -> set[int]:
    """What programs call of that library, but for what they ask before anybody waits."""
    listed = output("nm", "-D", "--defined-only", exports).splitlines()
    exported = {line.split()[2].split("@")[0] for line in listed}
    names = [*(exported - rules.NO_WAIT), *rules.ALSO]
    return {at for name in names for at in graph.at(name)}


def targets(name: str) -> list[str] | None:
    found = [to for pattern, to in rules.POINTERS.items() if fnmatchcase(name, pattern)]
    return [one for to in found for one in to] if found else None


def wrong(library: Path, exports: Path) -> set[str]:
    """What is reached from there and not allowed, each with one way to it."""
    graph = read(library)
    left_out = {at for name in rules.LEFT_OUT for at in graph.at(name)}
    ways = {at: graph.names[at] for at in roots(graph, exports) - left_out}
    todo, found = [*ways], set()
    while todo:
        at = todo.pop()
        name = graph.names.get(at, hex(at))
        found |= {f"{ways[at]} > {one}" for one in graph.imports[at] - ALLOWED}
        listed = targets(name) if at in graph.pointers else []
        if listed is None:
            found.add(f"{ways[at]} > a pointer that tests/lib/paths/rules.py does not know")
        pointed = {to for one in listed or [] for to in graph.at(one)}
        for to in (graph.calls[at] | pointed) - ways.keys() - left_out:
            ways[to] = f"{ways[at]} > {graph.names.get(to, hex(to))}"
            todo.append(to)
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_nothing_is_called_in_a_wait_that_may_not_be(library: str) -> None:
    assert wrong(native.file(library), native.file(library)) == set()


# What is planted, in which function, and by which name it is found.
SLEEP = "w->slept = true;\n\tlie_down(w);"
PLANTED = {
    "stdio in a wait": (
        *("sleep.c", SLEEP),
        f'extern int dprintf(int, const char *, ...);\ndprintf(2, "x");\n{SLEEP}',
        "dprintf",
    ),
    "an unknown pointer": (
        *("clock.c", "uint32_t nobody = 0;"),
        "uint32_t nobody = 0;\n((void (*)(void))(uintptr_t)*step_ns)();",
        "a pointer that tests/lib/paths/rules.py does not know",
    ),
    "stdio in a fork's child": (
        *("start.c", "\tol_run_epoch++;"),
        '\tol_run_epoch++;\nputs("x");',
        "puts",
    ),
    "a cancellation point in a release": (
        *("gate.c", "if (!ops->is_locked(m->lock))\n\t\treturn 0;"),
        "extern int usleep(unsigned);\nusleep(1);\nif (!ops->is_locked(m->lock))\n\t\treturn 0;",
        "usleep",
    ),
    "an allocation by a finding": (
        *("misuse.c", "uint64_t ns = ol_ns_from_ticks(ol_now() - ol_load_relaxed(&t->since));"),
        "uint64_t ns = ol_ns_from_ticks(ol_now() - ol_load_relaxed(&t->since));\n"
        "ol_store_relaxed(&t->depth, (uint32_t)(uintptr_t)malloc(ns));",
        "malloc",
    ),
}


def test_what_is_planted_is_found(tmp_path: Path) -> None:
    """All in one library, to save the time of building more."""
    (file, right, changed, _), *others = PLANTED.values()
    mutant = Mutant(
        *("planted", file, right, changed, "ticket", ()), also=tuple(one[:3] for one in others)
    )
    ways = wrong(build(tmp_path, mutant, "checked"), native.file(LIBRARIES[2]))
    assert {way.rpartition(" > ")[2] for way in ways} == {name for *_, name in PLANTED.values()}
