# SPDX-License-Identifier: MIT
"""Guests with a slice page: its file, its agent and what that says; none of them real."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import slices, vm
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Spec
from tests.command import Overlock
from tests.guest.command.conftest import Fake, alive

Agent = Callable[..., Path]
HERE = Placement("free", (tuple(sorted(os.sched_getaffinity(0))),))
SHARED = Path(slices.SHARED)

AGENT = """import json, os, signal, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open({log!r}, "a") as out:
    out.write(json.dumps({{"pid": os.getpid(), "words": words}}) + chr(10))
if {dead!r}:
    sys.exit("overlock-hostd: the scheduler cannot be watched")
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
told = {{"watching": 1, "publisher": "by a fake"}}
print(json.dumps(told), flush=True)
signal.sigwait([signal.SIGTERM])
error = {{"count": 9, "p50": 20000, "p99": 3000000}}
print(json.dumps({{"slices": 9, "error_ns": error, "publisher": "by a fake", "end_by": "guess"}}))
"""


@pytest.fixture
def agent(tmp_path: Path, hostd: Callable[[str], None]) -> Agent:
    """Installs an overlock-hostd that is none; gives what it writes down."""

    def install(dead: bool = False) -> Path:
        log = tmp_path / "agents"
        log.touch()
        hostd(AGENT.format(log=str(log), dead=dead))
        return log

    return install


def agents(log: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in log.read_text().splitlines()]


def running(log: Path) -> list[int]:
    return [one["pid"] for one in agents(log) if Path(f"/proc/{one['pid']}").exists()]


def pages() -> set[Path]:
    return set(SHARED.glob("overlock-slices-*"))


SPEC = Spec(Path("/k"), Path("/i"), 2, lock="i_spin", slice_page=True)


def test_each_guest_has_a_page_and_an_agent_as_long_as_it_lives(fake: Fake, agent: Agent) -> None:
    before = pages()
    fake("good")
    log = agent()
    with vm.booted([SPEC, SPEC], HERE) as up:
        assert len(pages() - before) == 2
        first, second = agents(log)
        assert first["words"]["--page"] != second["words"]["--page"]
        for one, guest in zip((first, second), up.guests, strict=True):
            assert isinstance(guest, vm.Guest)
            assert one["words"]["--threads"] == ",".join(map(str, guest.threads))
            assert Path(one["words"]["--page"]) in pages()
            assert one["words"]["--detail"] == "full"
            assert guest.facts["slices"] == slices.SOURCE
        assert len(running(log)) == 2
        assert up.guests[0].agent
        assert up.guests[0].agent.end()["slices"] == 9
    assert not running(log)
    assert pages() == before


def test_the_page_is_qemus_whole_device() -> None:
    words = slices.device(Path("/dev/shm/x"))  # noqa: S108 - nothing is written
    assert words[1].endswith("share=on,prealloc=on,mem-path=/dev/shm/x,size=4096")
    assert words[3] == "ivshmem-plain,memdev=slices"


def test_an_agent_that_cannot_watch_is_quoted(fake: Fake, agent: Agent) -> None:
    before, pids = pages(), fake("good")
    agent(dead=True)
    with pytest.raises(Fail, match="hostd failed: the scheduler cannot"), vm.booted([SPEC], HERE):
        pytest.fail("it ran")
    assert not alive(pids)
    assert pages() == before


RUN = ("guest", "run", "--smp", "2", "--rounds", "1", "--seconds", "0.1", "--accel", "tcg")


ENDS = (
    "i_spin: of 4 slices, 75% ended before the published end, by 0.3 ms (median), 2 ms (p99), "
    "25% ended after the published end, by 0.04 ms (median), 0.04 ms (p99)."
)


def test_a_run_notes_what_was_told_and_how_old_it_was(
    fake: Fake, agent: Agent, home: Path, overlock: Overlock, tmp_path: Path
) -> None:
    fake("good")
    agent()
    words = ("--dir", home, "--lock", "i_spin", "--slice-page", "--json", "r.json")
    done = overlock(*RUN, *words)
    assert done.returncode == 0, done.stderr
    assert (
        "Slices are published by a fake; errors of the published ends (guess): 0.02 ms (median)"
        in (done.stdout)
    )
    assert "Age of the slice page when read: 0.0009 ms (median), 0.0018 ms (p99)" in done.stdout
    assert ENDS in done.stdout
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["parameters"]["slice_page"] is True
    noted = result["native"]["slices"]["i_spin"]
    assert noted["begun"]["watching"] == 1
    assert noted["ended"]["error_ns"]["count"] == 9
    assert noted["looked"] == {
        "looks": 50,
        "unknown": 2,
        "age_ns": {"p50": 900, "p99": 1800, "count": 48},
        "early_ns": {"p50": 300000, "p99": 2000000, "count": 3},
        "late_ns": {"p50": 40000, "p99": 40000, "count": 1},
        "clock_moves_ns": 70,
    }


def test_a_kernel_that_counts_tells_of_its_hypervisors_ends(
    fake: Fake, home: Path, overlock: Overlock
) -> None:
    fake("told")
    done = overlock(*RUN, "--dir", home, "--lock", "i_spin")
    assert done.returncode == 0, done.stderr
    assert ENDS in done.stdout


def test_a_kernel_that_does_not_see_its_page_is_no_result(
    fake: Fake, agent: Agent, home: Path, overlock: Overlock
) -> None:
    fake("page-unseen")
    agent()
    done = overlock(*RUN, "--dir", home, "--lock", "i_spin", "--slice-page")
    assert done.returncode == 1
    assert "the guest ignores its slice page: none" in done.stdout + done.stderr


def test_without_the_agent_it_says_how_to_build_it(
    fake: Fake, agent: Agent, home: Path, overlock: Overlock, tmp_path: Path
) -> None:
    fake("good")
    agent()
    (tmp_path / "native/overlock-hostd").unlink()
    done = overlock(*RUN, "--dir", home, "--lock", "i_spin", "--slice-page")
    assert done.returncode == 3
    assert "overlock-hostd is not built; run `make build` in" in done.stderr
