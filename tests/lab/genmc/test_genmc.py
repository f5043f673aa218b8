# SPDX-License-Identifier: MIT
"""What is emitted for an outside checker is one file of plain C11 that any compiler takes and that
runs; a mutant of it loses counts. The checker itself need not be there: a stand-in answers as
it does."""

import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools.core.model import defs
from overlock_tools.lab.genmc import client
from tests.conftest import TOP
from tests.mutant import apply, changed
from tests.processes import HANG_S

LOCKS = list(defs.load().locks)
# First come, first served on a busy machine takes a time slice for each turn: few turns.
SIZE = ("-DOL_CONTEXTS=4", "-DOL_ACQUISITIONS=100", "-DOL_TRIES=20")


def compiled(text: str, tmp_path: Path, *flags: str, cc: str = "cc") -> Path:
    source, program = tmp_path / "lock.c", tmp_path / "lock"
    source.write_text(text)
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread", *flags]
    command = [cc, *options, "-o", str(program), str(source)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return program


def contended(text: str) -> str:
    """Holders give up their CPU: everybody waits, and every path of waiting is taken."""
    return changed(text, ("counter++;", "counter++; sched_yield();"))


MEETING = """
static unsigned met(unsigned seen)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
	static unsigned here, meetings;

	pthread_mutex_lock(&mutex);
	unsigned meeting = meetings;
	if (++here % OL_CONTEXTS == 0 && ++meetings)
		pthread_cond_broadcast(&all);
	while (meeting == meetings)
		pthread_cond_wait(&all, &mutex);
	pthread_mutex_unlock(&mutex);
	return seen;
}

"""


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("lock", LOCKS)
def test_an_emitted_lock_is_plain_c_and_excludes(lock: str, cc: str, tmp_path: Path) -> None:
    text = contended(client.emit(lock))
    assert "#include <overlock/" not in text
    subprocess.run([compiled(text, tmp_path, *SIZE, cc=cc)], check=True, timeout=HANG_S)


@pytest.mark.parametrize("lock", LOCKS)
def test_an_emitted_lock_is_the_lock(lock: str) -> None:
    header = (TOP / f"include/overlock/lock/{lock}.h").read_text()
    body = re.sub(r"#include <.*>\n", "", header)
    emitted = client.emit(lock)
    for piece in body.split("\n\n"):
        assert piece.strip() in emitted


def test_a_mutant_loses_counts(tmp_path: Path) -> None:
    """Whatever the schedule: all read the counter before one writes it."""
    mutant = changed(
        client.emit("ticket"),
        ("ol_ticket_lock(&the_lock);", "(void)ol_ticket_is_locked(&the_lock);"),
        ("static void *context", MEETING + "static void *context"),
        ("counter++;", "counter = 1 + met(counter);"),
    )
    program = compiled(mutant, tmp_path, *SIZE[:2])
    ran = subprocess.run([program], check=False, capture_output=True, text=True, timeout=HANG_S)
    assert ran.returncode != 0
    assert "counter == sum" in ran.stderr


def test_the_port_has_all_of_the_seam() -> None:
    sim = (TOP / "include/overlock/port/sim.h").read_text()
    seam = set(re.findall(r"^(?:#define |OL_INLINE \w+ )(ol_\w+)\(", sim, re.MULTILINE))
    assert len(seam) > 70
    own = (TOP / "lab/genmc/port.h").read_text()
    have = set(re.findall(r"^(?:#define |OL_INLINE .*?\*?)(ol_\w+)\(", own, re.MULTILINE))
    assert seam - have == set()


def test_every_order_can_be_dropped(tmp_path: Path) -> None:
    """One call of one line changes, to an order the port has."""
    for lock in LOCKS:
        whole = client.emit(lock).splitlines()
        sites = client.sites(lock)
        assert len(sites) >= 2
        for site in sites:
            text = client.emit(lock, weaken=site)
            changed = [
                (old, new) for old, new in zip(whole, text.splitlines(), strict=True) if old != new
            ]
            assert len(changed) == 1, site
            assert f"_{site.order}(" in changed[0][0] or "_acq_rel(" in changed[0][0]
            source = tmp_path / "weak.c"
            source.write_text(text)
            subprocess.run(["cc", "-std=c11", "-fsyntax-only", source], check=True)


def test_a_site_is_marked_where_it_is_reached(tmp_path: Path) -> None:
    """The release of `tas` is always reached: the marked program stops there."""
    site = next(site for site in client.sites("tas") if site.order == "release")
    program = compiled(client.emit("tas", mark=site), tmp_path)
    ran = subprocess.run([program], check=False, capture_output=True, text=True)
    assert "reached" in ran.stderr


def test_a_lock_from_outside(tmp_path: Path) -> None:
    mine = tmp_path / "mine.h"
    tas = (TOP / "include/overlock/lock/tas.h").read_text()
    mine.write_text(tas.replace("ol_tas", "ol_mine").replace("OL_TAS", "OL_MINE"))
    subprocess.run([compiled(client.emit(str(mine)), tmp_path)], check=True)


STAND_IN = """#!{python}
import sys
text = open(sys.argv[-1]).read()
if "-DOL_CONTEXTS=3" in sys.argv and "{slow}":
    import time; time.sleep(60)
if "ol_store_relaxed(&l->word, 0u)" in text:
    print("Error: Non-atomic race!\\nNumber of complete executions explored: 1")
    sys.exit(42)
print("No errors were detected.\\nNumber of complete executions explored: 7")
print("Number of blocked executions seen: 2")
"""


def stand_in(tmp_path: Path, *, slow: str = "") -> Path:
    program = tmp_path / "genmc"
    program.write_text(STAND_IN.format(python=sys.executable, slow=slow))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "overlock_tools.lab.genmc.run", *map(str, args)],
        check=False,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )


def test_the_runner_reads_verdicts(tmp_path: Path) -> None:
    out = tmp_path / "orders.json"
    ran = run("orders", "tas", "--genmc", stand_in(tmp_path), "--json", out)
    assert ran.returncode == 0, ran.stderr
    rows = {row["site"].split(":")[2]: row for row in json.loads(out.read_text())}
    assert rows["release"]["rc11"]["how"] == "non-atomic race"
    assert rows["acquire"]["imm"]["verdict"] == "holds"
    assert not rows["acquire"]["reached"]  # the stand-in fails no assertion


def test_a_run_that_takes_too_long_is_open(tmp_path: Path) -> None:
    genmc_path = stand_in(tmp_path, slow="yes")
    ran = run("orders", "tas", "--genmc", genmc_path, "--seconds", "1", "--jobs", "2")
    assert ran.stdout.count("open: time") == 2  # the acquire, under both models


def test_a_mutant_that_is_not_caught_fails_the_run(tmp_path: Path) -> None:
    assert not apply(TOP / "tests/check/mutants/tas.toml", tmp_path)
    caught, missed = f"tas={tmp_path}/tas_unlock_relaxed", f"tas={tmp_path}/tas_no_exclusion"
    ran = run("mutants", caught, "--genmc", stand_in(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    ran = run("mutants", missed, "--genmc", stand_in(tmp_path))
    assert ran.returncode == 1
    assert "tas_no_exclusion: not caught by rc11" in ran.stderr


def test_no_checker_is_one_line() -> None:
    ran = run("locks", "--genmc", "/nowhere/genmc")
    assert ran.returncode == 3
    assert ran.stderr == "overlock: there is no program /nowhere/genmc; GENMC=PATH\n"


def test_what_genmc_does_not_answer_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "genmc"
    broken.write_text("#!/bin/sh\necho no such option; exit 17\n")
    broken.chmod(0o755)
    ran = run("locks", "tas", "--genmc", broken)
    assert ran.returncode == 1
    assert "genmc did not answer: no such option" in ran.stderr
