# SPDX-License-Identifier: MIT
"""overlock bench: what it measures, what it writes, and what Ctrl-C leaves of it."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from overlock_tools.bench import peers
from overlock_tools.core.model import defs
from tests.command import COMMAND, SHORT, Overlock, schema
from tests.processes import HANG_S, read_until, until

SCHEMA = schema("result")
HEADER = """
#define OL_LOCK_LINE OL_LOCK(mine, waits, OL_FITS4, "me", "a lock from outside the tree")
#include <overlock/port.h>
typedef struct ol_mine {{ uint32_t word; }} ol_mine_t;
static inline bool ol_mine_trylock(ol_mine_t *l)
{{
	return {acquire};
}}
static inline void ol_mine_lock(ol_mine_t *l)
{{
	while (!ol_mine_trylock(l))
		ol_relax();
}}
static inline void ol_mine_unlock(ol_mine_t *l) {{ ol_store_release(&l->word, 0u); }}
static inline bool ol_mine_is_locked(const ol_mine_t *l)
{{
	return ol_load_relaxed(&l->word) != 0;
}}
static inline bool ol_mine_is_contended(const ol_mine_t *l) {{ (void)l; return false; }}
"""
SOUND = "!ol_xchg_acquire(&l->word, 1u)"
BROKEN = "ol_store_relaxed(&l->word, 1u), true"  # everybody may enter


def read(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(path.read_text())
    jsonschema.validate(body, SCHEMA)
    return body


def test_result_is_what_the_schema_says(result_file: Path) -> None:
    body = read(result_file)
    assert body["complete"]
    assert body["peers"] == ["pthread_mutex"]
    assert len(body["cells"]) == 5 * 3 * 3
    assert not any(cell["wrong"] for cell in body["cells"])
    for cell in body["cells"]:
        assert sum(cell["per_thread"]) == cell["work"]
        assert len(cell["per_thread"]) == cell["threads"]
    assert len(body["summary"]) == 5 * 3
    assert body["command"].startswith("overlock bench sections --locks ticket,")
    assert body["verdict"]


def test_contenders_are_interleaved_and_shuffled(result_file: Path) -> None:
    cells = read(result_file)["cells"]
    rounds = [[(c["variant"], c["threads"]) for c in cells if c["round"] == n] for n in (1, 2, 3)]
    assert [c["round"] for c in cells] == sorted(c["round"] for c in cells)
    assert sorted(rounds[0]) == sorted(rounds[1]) == sorted(rounds[2])
    assert len({tuple(r) for r in rounds}) > 1


def test_all_takes_every_lock_and_peer(overlock: Overlock, tmp_path: Path) -> None:
    done = overlock("bench", "sections", "--threads", "1", *SHORT, "--json", "r.json")
    assert done.returncode == 0, done.stderr
    variants = read(tmp_path / "r.json")["variants"]
    listed = [lock["id"] for lock in json.loads(overlock("locks", "--json").stdout)]
    assert variants[: len(listed)] == listed
    assert variants[len(listed) :] == here()
    assert done.stdout.splitlines()[-1] == "written: r.json"


def here() -> list[str]:
    absent = peers.absent()
    return [name for name in defs.load().peers if name not in absent]


def test_baseline_is_measured_even_if_not_named(overlock: Overlock, tmp_path: Path) -> None:
    args = ("--locks", "tas", "--baseline", "ttas", "--threads", "1", "--json", "r.json")
    assert overlock("bench", "sections", *args, *SHORT).returncode == 0
    assert read(tmp_path / "r.json")["variants"] == ["ttas", "tas"]


def test_counters_explain(overlock: Overlock, tmp_path: Path) -> None:
    locks = "preemptable_ticket@tau=0,tas_yield@spin=0,pthread_mutex"
    hungry = ("--threads", "6", "--cs-ns", "2000", "--ncs-ns", "0")  # somebody always waits
    args = ("--locks", locks, *hungry, "--counters", "--json", "r.json")
    done = overlock("bench", "sections", *args, "--rounds", "1", "--seconds", "0.1")
    assert done.returncode == 0, done.stderr
    cells = {cell["variant"]: cell for cell in read(tmp_path / "r.json")["cells"]}
    ticket, yielding = cells["preemptable_ticket@tau=0"], cells["tas_yield@spin=0"]
    assert ticket["events"]["ACQUIRE"] >= ticket["work"]
    assert ticket["events"]["TIMEOUT"] > 0
    assert yielding["events"]["YIELD"] > 0
    assert yielding["events"]["TIMEOUT"] == 0
    assert cells["pthread_mutex"]["events"]["ACQUIRE"] == 0
    assert "events per 1000 acquisitions" in done.stdout


def counted(overlock: Overlock, tmp_path: Path, **environment: str) -> dict[str, Any]:
    """Cells in which somebody always waits and sections take 5 us, by lock."""
    hungry = ("--threads", "4", "--cs-ns", "5000", "--ncs-ns", "0", "--rounds", "1")
    args = ("--locks", "tas_yield,pthread_mutex", *hungry, "--seconds", "0.1", "--counters")
    done = overlock("bench", "sections", *args, "--json", "r.json", **environment)
    assert done.returncode == 0, done.stderr
    return {cell["variant"]: cell for cell in read(tmp_path / "r.json")["cells"]}


def test_counters_keep_times_where_they_are_told_to(overlock: Overlock, tmp_path: Path) -> None:
    cells = counted(overlock, tmp_path, OVERLOCK_HISTOGRAMS="1")
    cell = cells["tas_yield"]
    assert cell["hold_ns"] > 2500 * cell["events"]["ACQUIRE"]
    assert cell["events"]["HANDOVER"] > 0
    assert 0 < cell["handover_ns"] < cell["wait_ns"]  # each is a part of somebody's wait
    # By one at a time, or none, while each of 4 threads waits or holds. The cell's seconds are no
    # bound: the warm-up is counted too, and lasts longer where the main thread gets no CPU.
    elapsed = (cell["wait_ns"] + cell["hold_ns"]) / 4
    assert cell["hold_ns"] + cell["handover_ns"] < 1.5 * elapsed
    mutex = cells["pthread_mutex"]  # which nobody counts
    assert (mutex["hold_ns"], mutex["handover_ns"]) == (0, 0)


@pytest.mark.parametrize("environment", [{}, {"OVERLOCK_HISTOGRAMS": "0"}])
def test_counters_alone_keep_no_times(
    overlock: Overlock, tmp_path: Path, environment: dict[str, str]
) -> None:
    cell = counted(overlock, tmp_path, **environment)["tas_yield"]
    assert cell["spin_ns"] <= cell["wait_ns"] > 0
    assert (cell["hold_ns"], cell["handover_ns"]) == (None, None)
    assert cell["events"]["HANDOVER"] == 0


def test_lock_from_outside_the_tree(overlock: Overlock, tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text(HEADER.format(acquire=SOUND))
    args = ("--lock", "./mine.h", "--locks", "tas", "--threads", "4", "--json", "r.json")
    done = overlock("bench", "sections", *args, *SHORT)
    assert done.returncode == 0, done.stderr
    body = read(tmp_path / "r.json")
    assert {"mine", "tas"} <= set(body["variants"])
    assert all(cell["work"] > 0 for cell in body["cells"] if cell["variant"] == "mine")


def test_says_what_it_measures_unasked(overlock: Overlock, tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text(HEADER.format(acquire=SOUND))
    args = ("--locks", "./mine.h,pthread_mutex", "--threads", "1")
    said = "ticket is measured too, as the baseline (--baseline)"
    for more in (), ("--baseline", "./mine.h"), ("--locks", "ticket"):
        done = overlock("bench", "sections", *args, *more, *SHORT)
        assert done.returncode == 0, done.stderr
        assert (said in done.stdout) == (not more)


def test_header_with_settings_and_as_the_baseline(overlock: Overlock, tmp_path: Path) -> None:
    """As the recorded command has it."""
    (tmp_path / "mine.h").write_text(HEADER.format(acquire=SOUND))
    locks = ("--locks", "./mine.h@tau=0,mine@tau=5,tas", "--baseline", "./mine.h")
    done = overlock("bench", "sections", *locks, "--threads", "1", *SHORT, "--json", "r.json")
    assert done.returncode == 0, done.stderr
    body = read(tmp_path / "r.json")
    assert body["variants"] == ["mine", "mine@tau=0", "mine@tau=5", "tas"]
    again = overlock(*shlex.split(body["command"])[1:], "--json", "again.json")
    assert again.returncode == 0, again.stderr
    assert read(tmp_path / "again.json")["variants"] == body["variants"]


def test_two_headers_of_one_name(overlock: Overlock, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for path in (tmp_path / "mine.h", tmp_path / "other/mine.h"):
        path.write_text(HEADER.format(acquire=SOUND))
    done = overlock("bench", "sections", "--locks", "./mine.h,other/mine.h")
    assert done.returncode == 2
    said = "--locks: mine.h and other/mine.h have the same name; rename one of them"
    assert done.stderr == f"overlock: {said}\n"


def test_waiting_is_shown(overlock: Overlock) -> None:
    done = overlock("bench", "sections", "--locks", "tas", "--threads", "2", *SHORT)
    assert "waiting to acquire, 2 threads on " in done.stdout


def test_broken_lock_is_caught(overlock: Overlock, tmp_path: Path) -> None:
    """The mutant without exclusion: a benchmark that would praise it is worth nothing."""
    (tmp_path / "mine.h").write_text(HEADER.format(acquire=BROKEN))
    args = ("--lock", "./mine.h", "--threads", "4", "--seconds", "0.2", "--json", "r.json")
    done = overlock("bench", "sections", *args, "--rounds", "2", "--cs-ns", "500")
    assert done.returncode == 1
    assert "WRONG: mine with 4 threads:" in done.stdout
    wrong = [cell["wrong"] for cell in read(tmp_path / "r.json")["cells"] if cell["wrong"]]
    assert wrong
    assert set(wrong) <= {
        "two contexts were in the critical section at once",
        "entries to the critical section were lost",
    }


def test_header_that_does_not_compile(overlock: Overlock, tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text("int x = ;\n")
    done = overlock("bench", "sections", "--lock", "./mine.h")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "mine.h does not compile: " in done.stderr


def start(tmp_path: Path, *args: str) -> subprocess.Popen[str]:
    command = [*COMMAND, "bench", "sections", "--locks", "tas,ttas", "--threads", "2", *args]
    return subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("to", ["the command", "its whole group, as a terminal does"])
def test_interrupt_keeps_what_is_complete(tmp_path: Path, to: str) -> None:
    child = start(tmp_path, "--rounds", "10000", "--seconds", "0.02", "--json", "r.json")
    read_until(child, "round 2 of")
    assert not (tmp_path / "r.json").exists()
    (os.kill if to == "the command" else os.killpg)(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=HANG_S)
    assert (child.returncode, err) == (130, "")
    assert "cells are complete and kept" in out
    body = read(tmp_path / "r.json")
    assert not body["complete"]
    assert len(body["cells"]) >= 6
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_interrupt_before_the_first_cell_writes_nothing(tmp_path: Path) -> None:
    child = start(tmp_path, "--rounds", "2", "--seconds", "30", "--json", "r.json")
    read_until(child, "cells of 30 s")
    time.sleep(1)  # into the first cell; earlier is as good
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=HANG_S)
    assert child.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_killed_outright_leaves_no_half_file_and_no_process(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("what was here before")
    child = start(tmp_path, "--rounds", "10000", "--seconds", "0.02", "--json", "r.json")
    read_until(child, "round 1 of")
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    assert children
    child.kill()
    child.communicate(timeout=HANG_S)
    assert (tmp_path / "r.json").read_text() == "what was here before"
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))
