# SPDX-License-Identifier: MIT
"""Only locks.def knows which locks there are: every other place that names one is listed here.

Adding a lock must touch its header, its line, its mutants, its page and its picture. Documentation
may speak of locks; so may a test that takes one as its example. What must not be is a list that a
new lock would have to join.
"""

import re
import subprocess
from functools import cache
from pathlib import Path

from overlock_tools.model import defs

TOP = Path(__file__).resolve().parents[2]

# A lock's own, its line, and prose.
OWN = re.compile(
    r"include/overlock/lock/|include/overlock/locks\.def$|docs/|tests/mutants/|.*\.md$|CHANGELOG"
)
# Shipped files that name locks, and why they may.
MAY = {
    "Makefile": "what the README's picture and the papers' figures compare",
    "bench/peers/ck.c": "Concurrency Kit's own names",
    "bench/request.c": "an example in an error",
    "bench/request.h": "an example in a comment",
    "engine/subject_unit.cpp": "an example in a comment",
    "examples/counter.c": "an example",
    "examples/queue.cpp": "an example",
    "include/overlock/overlock.h": "an example in a comment",
    "include/overlock/overlock.hpp": "an example in a comment",
    "include/overlock/tunables.def": "says which locks a tunable is for",
    "lib/lock_unit.c": "an example in a comment",
    "preload/defaults.h": "the default of `overlock run`, and the only lock with readers",
    "packaging/overlock.service.conf": "an example",
    "preload/preload.h": "what lies in an rwlock: qrw is the only lock with readers",
    "preload/rwlock.c": "qrw is the only lock with readers",
    "src/overlock_tools/model/advice.toml": "the recommendations",
    "src/overlock_tools/apps/campaign.py": "measured by default: some collapse, some do not",
    "src/overlock_tools/modelcheck/plan.py": "examples in help",
    "src/overlock_tools/preload/config.py": "the default of `overlock run`, an example in an error",
    "src/overlock_tools/cli/commands/apps.py": "the default where one is counted, examples in help",
    "src/overlock_tools/cli/commands/bench.py": "examples in help, and the usual baseline",
    "src/overlock_tools/cli/commands/check.py": "examples in help",
    "src/overlock_tools/cli/commands/compare.py": "an example in help",
    "src/overlock_tools/measure/demo.py": "its story: some collapse, some do not",
    "src/overlock_tools/cli/commands/guest.py": "examples in help",
    "src/overlock_tools/cli/commands/new.py": "the lock that it begins with",
    "src/overlock_tools/cli/commands/run.py": "examples in help",
    "src/overlock_tools/cli/commands/tunables.py": "an example in help",
    "src/overlock_tools/cli/commands/tune.py": "the default to count with: it survives",
    "src/overlock_tools/model/defs.py": "an example in an error",
    "src/overlock_tools/doctor/rules.py": "which locks ask for the slice",
    "src/overlock_tools/kernel/experiments/experiment.py": "what the papers compare",
    "src/overlock_tools/kernel/experiments/papers.py": "what the papers compare",
    "src/overlock_tools/analyze/best_peer.py": "an example in a comment",
    "src/overlock_tools/measure/subjects.py": "an example in a comment",
    "src/overlock_tools/analyze/paper_claims.py": "the lock of a paper's table",
    "src/overlock_tools/analyze/paper_claims.toml": "what the papers' claims are about",
    "tools/chart_picture.py": "the counterexample that is drawn",
    "tools/counterexamples.py": "the famous mistakes are those of certain locks",
    "tools/guest_measured.py": "the queue that collapses where the kernel's own has help",
    "tools/measured.py": "what every lock is shown beside",
}
A_LIST = 4  # so many different locks on one line of a test
# Lines of tests that list locks, by a part of them, and why they may.
LISTS = {
    'locks = ["tas", "ttas", "tas_yield", "byte"]': "a claim is of the locks that it was made of",
    '"lock", ["tas_yield", "ticket", "mcs", "twa", "pv_ticket"]': "one of each kind",
    '"lock", ["tas_yield", "ticket", "mcs", "partitioned_ticket"]': "one of each size and kind",
    '"tas_yield,ticket,preemptable_ticket,pv_preemptable_ticket,owner': "one of each kind",
    'KINDS = ("ticket", "tas_yield", "pv_ticket", "mcs",': "one of each way to wait and to lie",
    'KINDS = ["tas", "tas_yield", "ticket", "mcs", "clh",': "one of each way to wait",
    'lock: {4: 100.0} for lock in ("ticket",': "what a paper compares",
    '<= {lock["id"] for lock in listed}': "some of the list, to see that it is one",
}
# Words of English or of C: a lock only where they are quoted or part of a lock's name in C.
WORDS = {"byte", "ticket", "dec", "warned", "tx", "anderson"}


@cache
def pattern(lock: str) -> re.Pattern[str]:
    parts = (
        rf"\bol_{lock}_(?:t|init|lock|trylock|unlock)\b|\bOL_{lock.upper()}_INIT\b|lock/{lock}\.h"
    )
    alone = rf"[\"'`,]{lock}[\"'`@,]" if lock in WORDS else rf"(?<![\w.]){lock}(?!\w)"
    return re.compile(f"{parts}|{alone}")


def named(line: str) -> set[str]:
    small = line.lower()  # a glance that spares most searches
    return {lock for lock in defs.load().locks if lock in small and pattern(lock).search(line)}


@cache
def files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    texts = (name for name in listed if not name.endswith((".png", ".svg", ".ico", ".json")))
    return [name for name in texts if not OWN.match(name) and (TOP / name).is_file()]


def lines(name: str) -> list[str]:
    return (TOP / name).read_text(errors="replace").splitlines()


@cache
def naming() -> dict[str, set[str]]:
    """Shipped files, and the locks that each names."""
    shipped = [name for name in files() if not name.startswith("tests/")]
    found = {name: named("\n".join(lines(name))) for name in shipped}
    return {name: locks for name, locks in found.items() if locks}


def test_every_shipped_file_that_names_a_lock_may() -> None:
    assert naming().keys() - MAY.keys() == set(), "derive it from locks.def, or say why not"


def test_nothing_may_without_need() -> None:
    assert MAY.keys() - naming().keys() == set()


def lists_in(name: str) -> list[str]:
    return [line.strip() for line in lines(name) if len(named(line)) >= A_LIST]


def test_no_test_lists_locks() -> None:
    tests = [name for name in files() if name.startswith("tests/") and name != here()]
    found = [(name, line) for name in tests for line in lists_in(name)]
    assert not [(name, line) for name, line in found if not any(part in line for part in LISTS)]
    assert not [part for part in LISTS if not any(part in line for _, line in found)]


def here() -> str:
    return str(Path(__file__).relative_to(TOP))


def test_names_are_found_where_they_are_meant() -> None:
    assert named('if (!strcmp(id, "ticket"))') == {"ticket"}
    assert named("static ol_byte_t l; ol_mcs_lock(&m);") == {"byte", "mcs"}
    assert named("take a ticket, and a byte of it; ol_byte_store(p)") == set()
    assert named("--locks=byte,ticket,mcs,twa,pthread_mutex") >= {"ticket", "mcs", "twa"}
    assert named("preemptable_ticket is not ticket") == {"preemptable_ticket"}
