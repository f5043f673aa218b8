# SPDX-License-Identifier: MIT
"""The command itself, here: on this machine, in a container, under a quota, on programs."""

import ctypes
import io
import json
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from overlock_tools import doctor
from overlock_tools.core.system import cgroups, native
from overlock_tools.core.system.kernel_files import Tree, Unknown
from overlock_tools.doctor import Report, probe
from overlock_tools.doctor.show import show
from tests.command import Done, Overlock, schema
from tests.conftest import TOP
from tests.doctor.conftest import running
from tests.doctor.recorded import NAMES, Machine
from tests.processes import until

Machines = dict[str, tuple[Machine, Report]]
SCHEMA = schema("doctor")
SHORT = ("doctor", "--json", "--seconds", "0.5")


def parsed(done: Done) -> dict[str, Any]:
    assert (done.returncode, done.stderr) == (0, "")
    report: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    return report


def rules(report: dict[str, Any]) -> list[str]:
    return [finding["rule"] for finding in report["findings"]]


def facts(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {fact["id"]: fact for fact in report["facts"]}


@pytest.mark.parametrize("name", NAMES)
def test_json_is_as_published(name: str, machines: Machines) -> None:
    made = json.loads(json.dumps(doctor.as_json(machines[name][1]), allow_nan=False))
    jsonschema.validate(made, SCHEMA)


def test_a_wrong_report_is_not_as_published(machines: Machines) -> None:
    made = doctor.as_json(machines["bare"][1])
    made["facts"][0]["group"] = "elsewhere"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made, SCHEMA)


SET_ATTRIBUTES = {"x86_64": 314, "aarch64": 274}  # sched_setattr(2)


def ask_for_slices(ns: int) -> None:
    """Of the caller, and all that it starts."""
    attributes = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, 0, 0, ns, 0, 0)
    number = SET_ATTRIBUTES[os.uname().machine]
    if ctypes.CDLL(None, use_errno=True).syscall(number, 0, attributes, 0):
        raise OSError(ctypes.get_errno(), "sched_setattr")


def test_an_inherited_slice_is_not_the_machines(tmp_path: Path) -> None:
    command = [native.file("overlock-probe")]
    plain = subprocess.run(command, capture_output=True, text=True, check=True)
    asked = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: ask_for_slices(20_000_000),
    )
    usual, own = (probe.parse(done.stdout, "").part("slice") for done in (plain, asked))
    assert own["kernel_ns"] == usual["kernel_ns"]
    if own["now_ns"] == usual["now_ns"]:
        pytest.skip("this kernel ignores slices that a thread asks for")
    machine = Machine(tmp_path)
    machine.probe = asked.stdout
    told = next(one for one in machine.report().known if one.fact.id == "slice")
    assert told.value == usual["kernel_ns"]
    assert told.text.endswith("; whoever started this asked for 20 ms")


def test_this_machine(overlock: Overlock) -> None:
    report = parsed(overlock(*SHORT))
    found = facts(report)
    assert found["cpus_usable"]["value"] == len(os.sched_getaffinity(0))
    assert found["kernel"]["value"]["release"] == os.uname().release
    assert found["pause"]["value"] > 0
    assert found["clock"]["value"] > 0
    if found["tsc_sync"]["value"] and os.uname().machine == "x86_64":
        assert found["tsc_sync"]["text"].endswith(f" of {len(os.sched_getaffinity(0))} CPUs")
    assert found["switch"]["value"]["median"] > 0
    said = {"name", "knows", "cannot", "cost", "usual", "available", "ns"}
    assert all(said == set(source) for source in found["knowledge"]["value"])
    assert "quota_unseen" not in rules(report)
    assert report["verdict"]


def test_it_writes_nothing(overlock: Overlock, tmp_path: Path) -> None:
    """Under a file size limit of 0 a write to any file kills the probe or fails the command."""
    for within, code in ((("doctor", "--seconds", "0.1"), 0), (("--version",), 0)):
        done = overlock(*within, within=("prlimit", "--fsize=0"), HOME=str(tmp_path))
        assert (done.returncode, done.stderr) == (code, "")
    assert list(tmp_path.iterdir()) == []


def test_openmp_is_shown_only_where_it_is(machines: Machines) -> None:
    for name, there in (("process_starved", False), ("process_openmp_fifo", True)):
        text = io.StringIO()
        show(Console(file=text, width=100), machines[name][1], verbose=True)
        assert ("threads of a team" in text.getvalue()) == there
        assert ("free: OMP_NUM_THREADS=2, as" in text.getvalue()) == there


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_it_fits_the_terminal(columns: int, overlock: Overlock) -> None:
    done = overlock(
        "doctor", "--seconds", "0.1", COLUMNS=str(columns), FORCE_COLOR="1", TERM="xterm"
    )
    assert done.returncode == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert max(map(len, plain.splitlines())) <= min(columns, 100)


def test_piped_it_is_plain(overlock: Overlock) -> None:
    done = overlock("doctor", "--seconds", "0.1", "--verbose")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "/proc/loadavg" in done.stdout
    assert all(line == line.rstrip() for line in done.stdout.splitlines())


def test_verbose_says_what_each_source_of_knowledge_can(machines: Machines) -> None:
    text = io.StringIO()
    show(Console(file=text, width=200), machines["bare"][1], verbose=True)
    said = " ".join(text.getvalue().split())
    assert "rseq (used): slice_id. It cannot know other threads. Cost: a load; 1.3 ns here." in said
    assert "extension (missing): defer." in said
    assert "quota (if named): quota_end." in said


def test_knowledge_is_what_the_environment_chooses(overlock: Overlock) -> None:
    report = parsed(overlock(*SHORT, OVERLOCK_KNOWLEDGE="none"))
    assert facts(report)["knowledge"]["text"] == "none"


def test_each_source_that_works_here_is_timed(overlock: Overlock) -> None:
    found = facts(parsed(overlock(*SHORT)))["knowledge"]["value"]
    timed = {source["name"] for source in found if source["ns"] is not None}
    assert "rusage" in timed
    assert {source["name"] for source in found if source["available"]} - {"sched"} <= timed


# Without its native part.


def native_with(folder: Path, script: str | None) -> str:
    native = Path(os.environ["OVERLOCK_NATIVE"])
    folder.mkdir()
    shutil.copy(native / "defs.json", folder)
    if script is not None:
        (folder / "overlock-probe").write_text(script)
        (folder / "overlock-probe").chmod(0o755)
    return str(folder)


def test_without_the_probe_it_reports_the_rest(overlock: Overlock, tmp_path: Path) -> None:
    native = native_with(tmp_path / "native", None)
    done = overlock(*SHORT, OVERLOCK_NATIVE=native)
    assert done.returncode == 3
    assert "overlock-probe is not in" in done.stderr
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    assert "overlock-probe is not in" in report["probe"]
    assert "overlock-probe is not in" in facts(report)["pause"]["unknown"]
    assert facts(report)["cpus_usable"]["unknown"] is None


PROBES = [
    ('echo \'{"part":"bpf","tracing_error":1}\'; kill -SYS $$', "was killed by SIGSYS"),
    ("exit 7", "ended with status 7"),
    ("printf '\\377{'", "could not test it"),
    ("echo '[]'; echo 1; echo '{}'", "could not test it"),
]


@pytest.mark.parametrize(("script", "why"), PROBES)
def test_a_probe_that_fails(script: str, why: str, overlock: Overlock, tmp_path: Path) -> None:
    native = native_with(tmp_path / "native", f"#!/bin/sh\n{script}\n")
    report = parsed(overlock(*SHORT, OVERLOCK_NATIVE=native))
    assert why in facts(report)["pause"]["unknown"]
    if "bpf" in script:
        assert facts(report)["bpf"]["text"].startswith("no (EPERM")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--pid", "4194304999"), "process 4194304999 does not exist"),
        (("--pid", "0"), "--pid"),
        (("--pid", "me"), "--pid"),
        (("--seconds", "0"), "--seconds"),
        (("--seconds", "nan"), "--seconds"),
    ],
)
def test_bad_usage(args: tuple[str, ...], says: str, overlock: Overlock) -> None:
    done = overlock("doctor", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere all CPUs have one counter")
def test_cpus_that_there_was_no_time_for_are_not_counted(tmp_path: Path) -> None:
    cpus = len(os.sched_getaffinity(0))
    if cpus == 1:
        pytest.skip("one CPU has nothing to be compared with")
    build = Path(os.environ["OVERLOCK_NATIVE"]).parent
    program = tmp_path / "probe-without-time"
    sources = (TOP / "bench/probe.c", build / "lib/liboverlock.a")
    folders = (f"-I{TOP / 'include'}", f"-I{build / 'include'}")
    options = ("-std=gnu11", "-O1", "-pthread", "-DMOST_NS=0u")
    subprocess.run(["cc", *options, *folders, "-o", program, *sources], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    counters = probe.parse(done.stdout, "").part("tsc")
    assert (counters["compared"], counters["cpus"], counters["exchanges"]) == (1, cpus, 0)


# In a container without privilege.

UNSHARE = ("unshare", "--user", "--map-root-user", "--pid", "--mount", "--cgroup", "--fork")
# No /sys, a /proc of its own, and no privilege left at all.
INSIDE = (
    "mount -t tmpfs none /sys && mount -t proc proc /proc && "
    'exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"'
)


def container() -> tuple[str, ...]:
    enter = (*UNSHARE, "--kill-child", "--", "sh", "-c", INSIDE, "sh")
    done = subprocess.run([*enter, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no container can be made here: {done.stderr.strip()}")
    return enter


def test_in_a_container(overlock: Overlock) -> None:
    report = parsed(overlock(*SHORT, within=container()))
    found = facts(report)
    assert found["container"]["value"]["inside"]
    assert set(found["container"]["value"]["namespaces"]) == {"user", "pid", "cgroup"}
    assert "quota_unseen" in rules(report)
    assert "hidden_limits" in rules(report)
    assert "No such file" in found["quota"]["unknown"]
    assert "No such file" in found["thp"]["unknown"]
    assert found["bpf"]["value"] is False
    assert found["realtime"]["value"] is False
    assert found["custom_slice"]["unknown"] is None


# Under a quota.


@contextmanager
def group_with_quota(cpus: float) -> Iterator[Path]:
    """A group of our own that may use that many CPUs; its members are ours to end."""
    try:
        parent = cgroups.of(Tree(), "self")
    except Unknown as why:
        pytest.skip(f"cannot create a cgroup here: {why}")
    group = Path(parent.folders[0]) / f"overlock-doctor-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"cannot create a cgroup here: {error}")
    try:
        if parent.version == 1:
            (group / "cpu.cfs_quota_us").write_text(str(int(cpus * 100_000)))
        else:
            (group / "cpu.max").write_text(f"{int(cpus * 100_000)} 100000")
        yield group
    except OSError as error:
        pytest.skip(f"no quota can be set here: {error}")
    finally:
        group.rmdir()


def inside(group: Path) -> tuple[str, ...]:
    return ("sh", "-c", f'echo $$ >"{group}/cgroup.procs" && exec "$@"', "sh")


def throttled(overlock: Overlock, *args: str, within: tuple[str, ...] = ()) -> dict[str, Any]:
    """Of the first interval in which a busy machine let the group use up its quota."""

    def report() -> dict[str, Any] | None:
        found = parsed(overlock(*SHORT, *args, within=within))
        return found if facts(found)["throttled"]["value"] else None

    found = until(report)
    assert found
    return found


def test_under_a_quota(overlock: Overlock, spin: Path) -> None:
    with group_with_quota(0.2) as group, running(*inside(group), "nice", "-n", "19", spin, "1"):
        report = throttled(overlock, within=inside(group))
    assert rules(report)[0] == "throttled"
    assert report["answer"] == "yes"
    assert facts(report)["quota"]["value"] == 0.2
    assert str(group) in facts(report)["quota"]["text"]


# A program, from outside.


def test_a_program_with_too_many_threads(overlock: Overlock, spin: Path) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    pinned = ("taskset", "-c", ",".join(map(str, cpus)))
    with running(*pinned, spin, "8") as pid:
        report = parsed(overlock(*SHORT, "--pid", str(pid)))
    found = facts(report)
    if found["spinning"]["value"]:  # a look was allowed: a loop without end waits for nobody
        assert "efficient" in rules(report)
    else:
        assert "starved" in rules(report)
        assert "likely if it uses spinlocks" in report["verdict"]
    assert found["threads"]["value"] == 9
    assert found["cpus_usable"]["value"] == len(cpus)
    assert found["libraries"]["value"] == ["glibc's mutexes"]


def test_an_idle_program(overlock: Overlock, spin: Path) -> None:
    with running(spin, "0") as pid:
        report = parsed(overlock(*SHORT, "--pid", str(pid)))
    assert rules(report)[0] == "was_idle"
    assert report["answer"] == "blind"


WITH_PROGRAM = '"$PROGRAM" barrier 1000 >/dev/null & pid=$!; sleep 1; "$@" --pid $pid; kill $pid'


def test_in_a_container_with_half_a_cpu(
    overlock: Overlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any privilege: that the program spins, where, and what helps."""
    source = Path(__file__).parent.parent / "profile/planted/spinning.c"
    program = tmp_path / "spinning"
    subprocess.run(["cc", "-O2", "-g", "-pthread", source, "-o", program], check=True)
    monkeypatch.setenv("PROGRAM", str(program))
    with group_with_quota(0.5) as group:
        within = (*inside(group), *container(), "sh", "-c", WITH_PROGRAM, "sh")
        report = parsed(overlock("doctor", "--seconds", "3", "--json", within=within))
    assert rules(report)[0] == "spins"
    found = facts(report)
    assert found["bpf"]["value"] is False
    assert found["spinning"]["value"]["burnt"] > 0.5
    assert "spin barrier at crowded" in found["spinning"]["text"]
    assert "overlock run --spins" in report["findings"][0]["advice"][0]


def test_a_throttled_program_seen_from_outside_its_group(overlock: Overlock, spin: Path) -> None:
    with group_with_quota(0.2) as group, running(*inside(group), spin, "2") as pid:
        report = throttled(overlock, "--pid", str(pid))
        ours = parsed(overlock(*SHORT))
    assert rules(report)[0] == "efficient"  # its threads compute
    assert facts(report)["throttled"]["value"] > 0
    assert facts(report)["quota"]["value"] == 0.2
    assert facts(ours)["quota"]["value"] != 0.2


def test_a_program_under_another_lock(overlock: Overlock, spin: Path) -> None:
    under = ("overlock", "run", "--lock", "ticket", "--")
    with ExitStack() as stack:
        try:
            pid = stack.enter_context(running(*under, spin, "0"))
        except AssertionError:
            pytest.fail("overlock run did not start the program: is build/native complete?")
        report = parsed(overlock(*SHORT, "--pid", str(pid)))
    assert facts(report)["libraries"]["text"].startswith("overlock run with ticket")


# With OpenMP.

Programs = dict[str, Path]
ON_TWO = ("taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:2])))


def looked_at(overlock: Overlock, program: Path, *variables: str) -> dict[str, Any]:
    team = ("env", "OMP_NUM_THREADS=8", *variables, str(program), "critical", "1000")
    with running(*ON_TWO, *team) as pid:
        return parsed(overlock(*SHORT, "--pid", str(pid)))


def test_an_openmp_program_with_too_many_threads(
    overlock: Overlock, waiting_team: Programs
) -> None:
    report = looked_at(overlock, waiting_team["llvm"])
    cpus = min(2, len(os.sched_getaffinity(0)))
    assert rules(report)[:2] == ["spins", "openmp_fifo"]
    assert report["findings"][1]["advice"][0].startswith(f"free: OMP_NUM_THREADS={cpus},")
    found = facts(report)
    assert found["openmp"]["value"] == ["LLVM's OpenMP"]
    assert found["threads"]["value"] == found["openmp_threads"]["value"] == 8


def test_an_openmp_program_whose_lock_bears_it(overlock: Overlock, waiting_team: Programs) -> None:
    report = looked_at(overlock, waiting_team["llvm"], "KMP_LOCK_KIND=tas", "KMP_BLOCKTIME=0")
    assert "openmp_crowded" in rules(report)  # how much it spins and waits depends on who has CPUs
    assert not {"openmp_fifo", "openmp_spins"} & {*rules(report)}


def test_an_openmp_program_with_gnus_runtime(overlock: Overlock, waiting_team: Programs) -> None:
    """Its waiters sleep, so few of its threads may want a CPU at a time."""
    report = looked_at(overlock, waiting_team["gnu"])
    assert {"openmp_crowded", "openmp_may_crowd"} & set(rules(report))
    found = facts(report)
    assert found["openmp"]["value"] == ["GNU's OpenMP"]
    assert found["openmp_lock"]["value"] == {"fifo": False}


NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")


def test_somebody_elses_program(overlock: Overlock, spin: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can play two users")
    with running(spin, "2") as pid:
        report = parsed(overlock(*SHORT, "--pid", str(pid), within=NOBODY))
    found = facts(report)
    assert "Permission denied" in found["libraries"]["unknown"]
    assert found["waiting"]["unknown"] is None
