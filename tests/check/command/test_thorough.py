# SPDX-License-Identifier: MIT
"""What `overlock check LOCK` explores by default, and how checks share their time."""

import json
import signal
import subprocess
from typing import IO

import pytest

from overlock_tools.check.campaign import NOT_EXHAUSTED
from tests.check.command.conftest import COMMAND, ONE, Command, Fake
from tests.check.command.story import failure
from tests.processes import HANG_S

ENDLESS = {"progress": 100_000, "pause": 0.1}
TABLE = """\
#include <overlock/checked.h>
static void act(void *o)
{
	__atomic_store_n((unsigned *)o, 1, __ATOMIC_RELEASE);
}
const struct ol_checked_lock overlock_checked = { .name = "made", .size = 4, MEMBERS };
"""


def cells(fake: Fake) -> list[str]:
    """SCENARIO MODEL SIZE of each call."""
    found = []
    for call in fake.calls():
        said = dict(word[2:].split("=", 1) for word in call.split())
        size = f"{said['contexts']}x{said['acquisitions']}"
        found.append(f"{said['scenario']} {said['model']} {size}")
    return found


def test_everything_that_applies(fake: Fake) -> None:
    done = fake("ticket", "--jobs", "1")
    assert done.returncode == 0
    models = ("sc", "tso", "c11")
    assert cells(fake) == [
        *(f"lock {model} {size}" for size in ("2x2", "3x1") for model in models),
        *(f"{scenario} {model} 2x1" for scenario in ("try", "free") for model in models),
    ]
    sizes = "sizes larger than 2x2 and 3x1 (lock), larger than 2x1 (other scenarios)"
    assert f"\nnot explored: {sizes}\n" in done.stdout
    assert "not run" not in done.stdout


def test_models_that_agree_share_a_row(fake: Fake) -> None:
    fake.says({"if": ["--model=tso"], "result": {"exhausted": False, "ended": "time"}})
    rows = [line.split() for line in fake("ticket").stdout.splitlines() if line[:6] == "ticket"]
    assert [" ".join(row[1:5]) for row in rows[:2]] == ["lock sc, c11 2x2", "lock tso 2x2 1,234"]
    assert rows[0][5] == "2,468"


def test_no_other_scenarios_than_those_of_the_lock(fake: Fake) -> None:
    fake("preemptable_ticket")
    assert {cell.split()[0] for cell in cells(fake)} == {"lock", "try", "timed", "free"}


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (("ticket", "--model", "tso"), ["lock tso 2x2"]),
        (("ticket", "--size", "3x1"), ["lock sc 3x1"]),
        (("ticket", "--scenario", "try"), ["try sc 2x2"]),
        (("ticket", "--acquisitions", "1"), ["lock sc 2x1"]),
        (("ticket", "--search", "pct", "--executions", "9"), ["lock sc 2x2"]),
        (("all",), ["lock sc 2x2"] * 4),
    ],
)
def test_who_chooses_one_chooses_all(fake: Fake, args: tuple[str, ...], found: list[str]) -> None:
    fake(*args)
    assert cells(fake) == found


def test_limits_of_each_check(fake: Fake) -> None:
    for args, limit in (
        (("ticket",), ""),
        (("ticket", "--seconds", "7"), "--seconds=7"),
        (("mcs", *ONE), "--seconds=60"),
        (("mcs", *ONE, "--seconds", "0", "--no-cache"), ""),
        (("mcs", *ONE, "--within", "9", "--no-cache"), ""),
        (("mcs", *ONE, "--within", "9", "--seconds", "7", "--no-cache"), "--seconds=7"),
    ):
        fake(*args, "--no-cache")
        said = {word for call in fake.calls() for word in call.split() if "seconds" in word}
        assert said == ({limit} if limit else set()), args


def test_searches_take_turns(fake: Fake) -> None:
    """Each ends only if all twelve have begun, one at a time."""
    fake.says({"meets": 12})
    done = fake("ticket", "--jobs", "1", "--within", "100000")
    assert done.returncode == 0
    assert len(fake.calls()) == 12


def test_a_search_that_does_not_end_takes_no_time_from_the_others(fake: Fake) -> None:
    fake.says({"if": ["--model=c11"], **ENDLESS})
    done = fake("ticket", "--jobs", "1", "--within", "15")
    assert done.returncode == NOT_EXHAUSTED
    assert "8 of 12 checks exhausted: hold; 4 not exhausted\n" in done.stdout
    assert "not exhausted (time limit reached): no failure found so far" in done.stdout
    open_ends = "lock 2x2 c11, lock 3x1 c11, try 2x1 c11, free 2x1 c11"
    assert f"\nnot exhausted within 15 s: ticket: {open_ends}\n" in done.stdout
    command = "overlock check ticket --seconds 600 --size 2x2 --model c11 --scenario lock"
    assert f"\n  to go on: {command}\n" in done.stdout
    left = subprocess.run(["pgrep", "-f", str(fake.program)], capture_output=True, check=False)
    assert left.stdout == b""
    fake.calls()
    fake.says()
    assert fake("ticket").returncode == 0
    assert len(cells(fake)) == 4  # the others were cached


def test_what_never_began_is_not_exhausted(fake: Fake) -> None:
    fake.says(ENDLESS)
    done = fake("ticket", "--jobs", "1", "--within", "0.01")
    assert done.returncode == NOT_EXHAUSTED
    assert "\n12 not exhausted\n" in done.stdout


def test_what_does_not_answer_is_not_exhausted(fake: Fake) -> None:
    fake.says({"if": ["--model=c11"], **ENDLESS, "deaf": True})
    done = fake("ticket", *ONE, "--model", "sc,c11", "--within", "2")
    assert done.returncode == NOT_EXHAUSTED
    assert "\n1 of 2 checks exhausted: hold; 1 not exhausted\n" in done.stdout
    assert "\nnot exhausted within 2 s: ticket: lock 2x2 c11\n" in done.stdout
    assert "source lines" not in done.stdout


def read_until(out: IO[str], words: str) -> str:
    said = ""
    while words not in said:
        line = out.readline()
        assert line, said
        said += line
    return said


def test_a_failure_is_shown_while_others_run(fake: Fake) -> None:
    fake.says({"if": ["--model=tso", "--scenario=try"], "failure": failure()}, ENDLESS)
    child = subprocess.Popen(
        [*COMMAND, "pv_ticket", "--within", "100000", "--jobs", "1"],
        cwd=fake.folder,
        env=fake.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout
    said = read_until(child.stdout, "To replay it:")
    assert "FAILS: use after release" in said
    assert "verdict" not in said
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=HANG_S)
    assert "verdict" in rest
    assert "To replay it:" not in rest  # it is told once


def scenarios_of(real: Command, members: str, *args: str) -> set[str]:
    (real.folder / "made.c").write_text(TABLE.replace("MEMBERS", members))
    done = real("./made.c", *args, "--json", "out.json")
    assert done.stderr == ""
    results = json.loads((real.folder / "out.json").read_text())["results"]
    return {f"{result['scenario']} {result['roles']}".strip() for result in results}


def test_what_a_table_supports(real: Command) -> None:
    found = scenarios_of(real, ".down = act, .up = act")
    assert {"count", "lock"} <= found
    assert not {"try", "wait"} & found
    members = ".lock = act, .unlock = act, .read_lock = act, .read_unlock = act"
    found = scenarios_of(real, members)
    assert {"lock", "lock wr", "lock wwr", "lock wrr", "frees"} <= found
    assert "count" not in found
    found = scenarios_of(real, members, "--roles", "rw")
    assert {"lock rw", "frees rw"} <= found
    assert "lock wr" not in found
    members = ".lock = act, .unlock = act, .wait = act, .signal = act, .broadcast = act"
    assert {"wait", "wait wwb"} <= scenarios_of(real, members)
    assert scenarios_of(real, members, "--roles", "ws") == {"wait ws"}


def test_use_of_a_table_is_explored_where_only_a_size_is_chosen(real: Command) -> None:
    assert scenarios_of(real, ".down = act, .up = act", *ONE) == {"lock", "count"}
    members = ".lock = act, .unlock = act, .read_lock = act, .read_unlock = act"
    assert scenarios_of(real, members, "--size", "3x1") == {"lock", "lock wwr", "lock wrr"}
    members = ".lock = act, .unlock = act, .wait = act, .signal = act, .broadcast = act"
    assert scenarios_of(real, members, "--roles", "ws", "--model", "sc") == {"wait ws"}
    assert scenarios_of(real, members, "--size", "3x1") == {"lock", "wait", "wait wwb"}
