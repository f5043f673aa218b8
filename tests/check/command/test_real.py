# SPDX-License-Identifier: MIT
"""overlock check from end to end, with the checker that was built."""

import json
import re
import shlex
import signal
import subprocess
import sys

from jsonschema import Draft202012Validator

from overlock_tools.check.campaign import WITH_GAPS
from tests.check.command.conftest import COMMAND, HERE, ONE, Command
from tests.command import schema
from tests.conftest import TOP
from tests.mutant import changed
from tests.processes import HANG_S, children, read, until

SCHEMA = schema("check")
EVENTS = json.loads((HERE / "trace_events.json").read_text())
MUTANT = TOP / "tests/check/mutants/mcs_by_self.h"


def test_ticket_holds_and_is_known_then(real: Command) -> None:
    done = real("ticket", "--size", "2x2", "--model", "sc")
    assert (done.returncode, done.stderr) == (WITH_GAPS, "")
    assert re.search(r"^ticket +lock +sc +2x2 .* exhausted: holds$", done.stdout, re.M)
    again = real("ticket", "--size", "2x2", "--model", "sc")
    assert again.returncode == WITH_GAPS
    assert "exhausted: holds  (cached)" in again.stdout


def test_the_length_of_a_slice_is_told_to_the_checker(real: Command) -> None:
    for clock, said in (([], 2), (["--clock", "3"], 3), (["--clock", "0"], None)):
        done = real("i_spin", "--size", "2x1", *clock, "--json", "out.json")
        assert done.returncode == WITH_GAPS
        document = json.loads((real.folder / "out.json").read_text())
        Draft202012Validator(SCHEMA).validate(document)
        assert document["results"][0]["clock"] == said


def test_a_broken_lock_is_told_replayed_and_drawn(real: Command) -> None:
    """Its unlock asks who calls: with two locks held hand over hand it leaves the wrong one."""
    done = real(MUTANT, "--scenario", "chain", "--json", "out.json", "--trace", "trace.json")
    assert done.returncode == 1
    assert "mcs_by_self, scenario chain, sc, 2x2: FAILS: deadlock" in done.stdout
    source = MUTANT.read_text().splitlines()
    rows = re.findall(r"^[✗ ] +\d+ .*?  (\d+)  (.+)$", done.stdout, re.M)
    assert len(rows) > 10
    for line, text in rows:  # what is said to be the line's text is
        assert " ".join(source[int(line) - 1].split()).startswith(text.rstrip("…"))
    assert len(done.stdout.splitlines()) < 60  # a page
    command = re.search(r"^  overlock check (.*)$", done.stdout, re.M)
    assert command
    again = subprocess.run(
        ["bash", "-c", f'"$@" {command[1]}', "-", *COMMAND],
        cwd=real.folder,
        env=real.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1
    told = done.stdout.index("\nstep "), done.stdout.index("To replay it:")
    assert done.stdout[slice(*told)] in again.stdout
    document = json.loads((real.folder / "out.json").read_text())
    Draft202012Validator(SCHEMA).validate(document)
    assert document["results"][0]["failure"]["property"] == "deadlock"
    Draft202012Validator(EVENTS).validate(json.loads((real.folder / "trace.json").read_text()))


def test_a_changed_copy_is_not_the_lock_of_that_name(real: Command) -> None:
    """The program has a ticket lock of its own, which must not be checked in place of the copy."""
    text = (TOP / "include/overlock/lock/ticket.h").read_text()
    broken = changed(text, ("while (ol_load_lo_acquire(", "if (ol_load_lo_acquire("))
    (real.folder / "ticket.h").write_text(broken)
    done = real("./ticket.h", "--size", "2x1")
    assert done.returncode == 1
    assert "FAILS: exclusion" in done.stdout


def test_a_lock_of_ones_own(real: Command) -> None:
    new = [sys.executable, "-m", "overlock_tools", "new", "mine"]
    subprocess.run(new, cwd=real.folder, check=True, capture_output=True)
    header = real.folder / "mine.h"
    done = real("./mine.h", "--model", "all", "--scenario", "lock,frees")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n6 of 6 checks exhausted: hold\n" in done.stdout
    assert "(cached)" in real("./mine.h", *ONE).stdout
    broken = changed(header.read_text(), ("ol_xchg_acquire", "ol_xchg_relaxed"))
    header.write_text(broken)
    done = real("./mine.h", "--model", "c11")
    assert done.returncode == 1
    assert "FAILS: not ordered by happens-before" in done.stdout
    header.write_text(broken + "int f(void) { return no_such; }\n")
    done = real("./mine.h", *ONE)
    assert done.returncode == 2
    assert re.match(
        r"overlock: mine.h does not compile: mine.h:\d+:\d+: error: .*\n\Z", done.stderr
    )


def explores(pid: int, option: str) -> bool:
    """Whether a child with this option has had a second of CPU time: thousands of executions."""
    for child in children(pid):
        words = read(f"/proc/{child}/cmdline").split("\0")
        on_cpu_ns = int((read(f"/proc/{child}/schedstat") or "0").split()[0])
        if option in words and on_cpu_ns > 10**9:
            return True
    return False


def test_ctrl_c_keeps_what_is_done(real: Command) -> None:
    """Six contexts of three acquisitions are far out of reach."""
    args = ["ticket", "--size", "1x1", "--size", "6x3", "--seconds", "0", "--jobs", "1"]
    child = subprocess.Popen(
        [*COMMAND, *args, "--json", "out.json"],
        cwd=real.folder,
        env=real.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    until(lambda: explores(child.pid, "--contexts=6"))
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=HANG_S)
    assert child.returncode == 130
    assert "not exhausted (interrupted): no failure found so far" in out
    assert "interrupted: 1 of 2 checks are done" in out
    first, second = json.loads((real.folder / "out.json").read_text())["results"]
    assert (first["verdict"], second["verdict"]) == ("holds", "open")
    assert second["executions"] > 0


def test_every_scenario_and_model_that_is_listed_runs(real: Command) -> None:
    """Whatever it finds: that is for tests of the checker."""
    args = ["tas", "--size", "2x1", "--scenario", "all", "--model", "all", "--json", "out.json"]
    done = real(*args)
    assert done.stderr == ""
    assert "does not apply" not in done.stdout
    assert "no answer" not in done.stdout
    results = json.loads((real.folder / "out.json").read_text())["results"]
    listed = real("--list").stdout
    for kind in ("scenario", "model"):
        part = listed[listed.index(f"{kind}s\n") :].split("\n", 1)[1]
        names = re.match(r"(?:  .*\n)+", part)
        assert names
        others = {"any", "wait", "count"}  # for random searches; not of locks
        assert {r[kind] for r in results} == set(re.findall(r"^  (\w+)", names[0], re.M)) - others


def test_every_order_of_ticket_is_missed(real: Command) -> None:
    done = real("--weaken", "ticket", "--scenario", "lock,try", "--json", "out.json")
    assert done.returncode == 0, done.stdout + done.stderr
    orders = json.loads((real.folder / "out.json").read_text())["weakened"]
    assert len(orders) >= 4
    assert {order["class"] for order in orders} == {"caught"}


def test_a_random_search_is_no_proof(real: Command) -> None:
    done = real("ticket", "--size", "6x4", "--search", "pct", "--executions", "200", "--seed", "1")
    assert done.returncode == 3
    assert "not exhausted (execution limit reached): no failure found so far" in done.stdout
    done = real("ticket", "--search", "pct", "--seconds", "0")
    assert done.returncode == 2
    assert done.stderr.startswith("overlock: a random search ends only at a limit")


def test_seeded_walks_pass_a_sound_lock_and_fail_a_broken_one(real: Command) -> None:
    walk = ("--size", "5x3", "--search", "walk", "--executions", "2000", "--seed", "1")
    done = real("ticket", *walk)
    assert done.returncode == 3
    assert re.search("^ticket +any +sc +5x3 .*no failure found so far", done.stdout, re.M)
    done = real(str(MUTANT), *walk)
    assert done.returncode == 1
    found = re.search("^ *(overlock check --replay .* --scenario any.*)$", done.stdout, re.M)
    assert found, done.stdout
    again = real(*shlex.split(found[1])[2:])
    assert again.returncode == 1
    assert "mcs_by_self.h:" in again.stdout
    done = real("ticket", "--scenario", "any")
    assert done.returncode == 2
    assert done.stderr.startswith("overlock: scenario any is for random searches")


def test_a_waiter_is_gone_before_a_store_too(real: Command) -> None:
    """Between MCS's exchange and its link; under TSO a store is no step of its context's."""
    for model in ("sc", "tso"):
        done = real("mcs", "--scenario", "waiter", "--size", "2x1", "--model", model)
        assert "exhausted: holds; the other contexts may spin for ever" in done.stdout
