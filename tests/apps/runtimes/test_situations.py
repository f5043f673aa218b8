# SPDX-License-Identifier: MIT
"""A probe is asked in the situation that it is said to be asked in, and leaves nothing behind."""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from overlock_tools.apps.runtimes import catalogue, situations
from overlock_tools.apps.runtimes.asked import Probe
from overlock_tools.apps.runtimes.situations import SITUATIONS, counts
from overlock_tools.bench.conditions import cgroup
from overlock_tools.core.system.errors import MISSING, Fail
from tests.processes import gone, until

CPUS = len(os.sched_getaffinity(0))
NOW = "len(os.sched_getaffinity(0))"
# Of the group, or the one above: the quota in percent of a CPU; and how deep the group is.
SETUP = """
from overlock_tools.bench.conditions import cgroup
def quota(up=0):
    tree = cgroup.ours()
    group = [tree.here, *tree.here.parents][up]
    return int((group / "cpu.cfs_quota_us").read_text()) // 1000
def depth():
    tree = cgroup.ours()
    return len(tree.here.relative_to(tree.root).parts)
"""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(situations, "SETTLE_S", 0.1)


def answers(name: str, setup: str, *calls: str, prefix: Sequence[str] = ()) -> list[int]:
    command = catalogue.python(sys.executable, setup, "", *calls)
    inside = SITUATIONS[name].inside()
    return counts(Probe("probe", [*inside, *prefix, *command], {}), SITUATIONS[name])


def limited(name: str, *calls: str) -> list[int]:
    """Skips where groups cannot be had."""
    try:
        if not isinstance(cgroup.ours(), cgroup.V1):
            pytest.skip("the probe of this test reads cgroup v1")
        if why := SITUATIONS[name].lacks():
            pytest.skip(why)
        return answers(name, SETUP, *calls)
    except Fail as error:
        if error.code != MISSING:
            raise
        pytest.skip(error.message)


def test_cpython_counts_the_mask_from_its_start_and_later() -> None:
    calls = ("os.cpu_count()", NOW)
    assert answers("free", "import os", *calls)[1] == CPUS
    assert answers("mask", "import os", *calls)[1] == 1
    assert answers("mask-later", "import os", *calls)[1] == 1
    once = f"import os; once = {NOW}"
    assert answers("mask-later", once, "once") == [CPUS]


def test_a_mask_later_is_for_all_threads_and_children() -> None:
    setup = """
import os, subprocess, threading
started, leave = threading.Event(), threading.Event()
def body():
    started.set(); leave.wait()
thread = threading.Thread(target=body, daemon=True); thread.start(); started.wait()
child = subprocess.Popen(["sleep", "60"])
"""
    calls = [f"len(os.sched_getaffinity({who}))" for who in ("thread.native_id", "child.pid")]
    assert answers("mask-later", setup, *calls) == [1, 1]
    assert answers("free", setup, *calls) == [CPUS, CPUS]


@pytest.mark.parametrize("cpus", situations.CPUS)
def test_a_quota_is_that_of_the_probe_s_group(cpus: float) -> None:
    assert limited(f"quota-{cpus:g}", "quota()") == [round(100 * cpus)]


def test_a_container_sees_its_group_as_the_root() -> None:
    assert limited("container-1.5", "quota()", "depth()") == [150, 0]
    assert limited("quota-1.5", "quota()", "depth()") != [150, 0]


def test_a_nested_group_has_no_quota_but_its_parent_s() -> None:
    assert limited("nested", "quota()", "quota(1)") == [-1, 100]


def test_a_quota_later_is_of_the_group_that_it_was_in_before() -> None:
    first = "first = [quota(), depth()]"
    assert limited("quota-later", "quota()", "depth()")[0] == 100
    calls = ("first[0]", "int(first[1] == depth())")
    assert answers("quota-later", f"{SETUP}\n{first}", *calls) == [-1, 1]


def test_nothing_is_left_behind() -> None:
    limited("nested", "quota()")
    tree = cgroup.ours()
    mine = f"{cgroup.PREFIX}-{os.getpid()}-*"
    assert not [group for parent in tree.parents() for group in parent.glob(mine)]


def test_a_prefix_is_run_before_the_probe() -> None:
    calls = ("int(os.environ.get('OL_ASKED', '0'))",)
    assert answers("free", "import os", *calls) == [0]
    assert answers("free", "import os", *calls, prefix=["env", "OL_ASKED=7"]) == [7]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("1/0", "probe ended: ZeroDivisionError: division by zero"),
        ("'many'", "probe answered 'many', not numbers"),
        ("sys.exit('no CPU')", "probe ended: no CPU"),
    ],
)
def test_a_probe_that_fails_says_why(call: str, said: str) -> None:
    with pytest.raises(Fail, match=said):
        answers("free", "import sys", call)


def test_a_program_that_is_missing_says_so() -> None:
    with pytest.raises(Fail, match=r"nothing ended: .*not found"):
        counts(Probe("nothing", ["/no/such/program"], {}), SITUATIONS["free"])


def test_a_probe_ends_by_itself_and_its_children_are_ended() -> None:
    setup = """
import atexit, os, subprocess, sys
child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
atexit.register(lambda: os.unlink(os.environ["OL_SHARED"]))
"""
    with tempfile.NamedTemporaryFile(delete=False) as shared:
        command = catalogue.python(sys.executable, setup, "", "child.pid")
        (child,) = counts(Probe("p", command, {"OL_SHARED": shared.name}), SITUATIONS["free"])
    assert not Path(shared.name).exists()
    until(lambda: gone(child))
