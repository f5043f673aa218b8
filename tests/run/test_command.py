# SPDX-License-Identifier: MIT
"""overlock run: what it refuses, what it reports, and that the program stays itself."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from overlock_tools.core.system import native
from tests.command import schema
from tests.conftest import TOP
from tests.processes import HANG_S
from tests.run.conftest import (
    REFUSED,
    SPINLOCKS,
    Compile,
    environment,
    installed,
    on_terminal,
    overlock,
    run,
)

SCHEMA = schema("run")
SHOW = "import os, signal, sys; print(os.environ.get({!r}, 'unset'))"


def refused(code: int, *words: str, args: tuple[str | Path, ...]) -> None:
    """One line that has these words, nothing on standard output, and that exit code."""
    done = overlock(*args)
    assert done.returncode == code, done
    assert done.stdout == ""
    assert done.stderr.startswith("overlock: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_refuses_what_it_cannot_start(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "out"
    refused(125, "tickt", "did you mean ticket", args=("--lock", "tickt", "true"))
    refused(125, "tau", "from 0 to 1000000000", args=("--tau-ns", "-1", "true"))
    refused(125, "tau", "or inf", args=("--tau-ns", "soon", "true"))
    refused(125, "pace=inf", "from 0 to 1000000000", args=("--pace-ns", "inf", "true"))
    refused(125, "backoff=inf", "from 0 to 1000000000", args=("--backoff-ns", "inf", "true"))
    refused(125, "long_term", "from 1", args=("--long-term", "0", "true"))
    refused(125, "PROGRAM", "--help", args=())
    refused(125, "--no-such", "--help", args=("--no-such", "true"))
    refused(125, str(nowhere.parent), args=("--output", nowhere, "true"))
    refused(125, str(tmp_path), "folder", args=("--output", tmp_path, "true"))
    refused(125, "rwlock", "glibc", "qrw", args=("--rwlock", "mcs", "true"))
    refused(125, "barrier", "glibc", "barrier", args=("--barrier", "mcs", "true"))
    refused(125, "ticket", "a queue", "tas_yield", args=("--spinlock", "ticket", "true"))
    refused(125, "anderson", "4 bytes", args=("--spinlock", "anderson", "true"))
    refused(125, "pv_byte", "sleeps", args=("--spinlock", "pv_byte", "true"))
    refused(125, "tickt", "did you mean ticket", args=("--spinlock", "tickt", "true"))
    refused(125, "gcc", "llvm", args=("--openmp", "gcc", "true"))
    refused(125, "horoscope", "rseq", "usual", args=("--knowledge", "rseq,horoscope", "true"))
    refused(125, "mine.h", args=("--lock", tmp_path / "mine.h", "true"))
    assert not list(tmp_path.iterdir())


def test_what_is_served_on_demand_is_not_left_to_glibc(program: Compile, tmp_path: Path) -> None:
    out = tmp_path / "report"
    asked = ("--rwlock", "qrw", "--spinlock", "byte", "--output", out)
    done = overlock(*asked, program("conformance.c"))
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(out.read_text())
    names = ("rwlock", "shared_rwlock", "spinlock", "shared_spinlock")
    assert [report["left"][name] for name in names] == [0, 1, 0, 1]
    assert {"qrw", "byte"} <= {site["lock"] for site in report["sites"]["sites"]}


def test_a_report_to_a_pipe_does_not_replace_it(program: Compile, tmp_path: Path) -> None:
    """As /dev/null: a rename would put a file in its place."""
    out = tmp_path / "fifo"
    os.mkfifo(out)
    reader = os.open(out, os.O_RDWR | os.O_NONBLOCK)
    try:
        done = overlock("--output", out, program("conformance.c"))
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(os.read(reader, 1 << 16))["ended"] is True
    finally:
        os.close(reader)
    assert out.is_fifo()


def test_the_page_names_the_spinlocks() -> None:
    page = " ".join((TOP / "docs/run.md").read_text().split())
    assert f": {', '.join(f'`{lock}`' for lock in SPINLOCKS)}. Others are refused" in page


def test_the_library_refuses_what_the_command_does(program: Compile) -> None:
    """As the preloaded library is told by hand."""
    for variable, lock in (
        *(("SPINLOCK", "mcs"), ("SPINLOCK", "none")),
        *(("RWLOCK", "ticket"), ("BARRIER", "ticket")),
    ):
        env = environment("tas", None, **{f"OVERLOCK_{variable}": lock})
        done = run([program("leave.c")], env)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (125, "", 1), done
        assert lock in done.stderr


def test_tells_the_library_what_serves_rwlocks_and_spinlocks() -> None:
    both = ("--rwlock", "qrw", "--spinlock", "byte", "--openmp", "all")
    for name, asked, wanted in (
        ("OVERLOCK_RWLOCK", both, "qrw"),
        ("OVERLOCK_SPINLOCK", both, "byte"),
        ("OVERLOCK_RWLOCK", (), "unset"),
        ("OVERLOCK_BARRIER", ("--barrier", "barrier"), "barrier"),
        ("OVERLOCK_BARRIER", ("--barrier", "glibc"), "unset"),
        ("OVERLOCK_DEFER", ("--defer",), "1"),
        ("OVERLOCK_OPENMP", both, "all"),
        ("OVERLOCK_SPINLOCK", ("--spinlock", "glibc"), "glibc"),
        ("OVERLOCK_SPINLOCK", ("--spinlock", "spin_yield"), "unset"),
        ("OVERLOCK_OPENMP", ("--openmp", "llvm"), "unset"),
    ):
        done = overlock(*asked, sys.executable, "-c", SHOW.format(name), OVERLOCK_RWLOCK="x")
        assert done.stdout == f"{wanted}\n"


@pytest.mark.parametrize("lock", REFUSED)
def test_refuses_locks_that_know_their_holder(lock: str) -> None:
    refused(125, lock, "choose another lock", args=("--lock", lock, "true"))


def test_refuses_what_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program\n")
    (tmp_path / "nonsense").write_bytes(b"\x01\x02\x03")
    (tmp_path / "nonsense").chmod(0o755)
    refused(127, "no-such-program", args=("no-such-program",))
    refused(127, "nowhere", args=(tmp_path / "nowhere",))
    refused(126, "not executable", args=(tmp_path / "text",))
    refused(126, "folder", args=(tmp_path,))
    refused(126, "cannot be executed", args=(tmp_path / "nonsense",))


def test_refuses_where_preloading_cannot_work(program: Compile, tmp_path: Path) -> None:
    static = program("leave.c", "-static", name="leave_static")
    refused(125, "statically linked", args=(static,))
    script = tmp_path / "script"
    script.write_text(f"#!{static}\n")
    script.chmod(0o755)
    refused(125, "statically linked", args=(script,))
    foreign = tmp_path / "foreign"
    head = bytearray(program("leave.c").read_bytes())
    head[18] = 0xF3  # RISC-V
    foreign.write_bytes(head)
    foreign.chmod(0o755)
    refused(125, "different processors", args=(foreign,))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a file another user's")
def test_refuses_setuid_programs(program: Compile, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copy(program("leave.c"), other)
    os.chown(other, 65534, 65534)
    other.chmod(stat.S_ISUID | 0o755)
    refused(125, "setuid", args=(other,))


def test_help_has_examples_and_every_tunable() -> None:
    done = overlock("--help")
    assert done.returncode == 0
    for word in ("Examples:", "--tau-ns", "--spin-ns", "--long-term", "125", "126", "127"):
        assert word in done.stdout


WAYS: dict[str, list[str | Path]] = {
    "launcher": [installed()],
    "python": [sys.executable, "-m", "overlock_tools"],
}


@pytest.mark.parametrize("way", WAYS)
def test_exit_code_and_streams_are_the_programs(way: str) -> None:
    code = "import sys; print(sys.stdin.read()); print('e', file=sys.stderr); sys.exit(42)"
    done = subprocess.run(
        [*WAYS[way], "run", "--", sys.executable, "-c", code],
        input="in",
        capture_output=True,
        text=True,
        check=False,
        env=environment(None, OVERLOCK_NATIVE=str(native.folder())),
    )
    assert (done.returncode, done.stdout, done.stderr) == (42, "in\n", "e\n")


def test_options_after_the_program_are_its_own() -> None:
    assert overlock("echo", "--lock", "x", "--help").stdout == "--lock x --help\n"
    assert overlock("--lock", "mcs", "--", "echo", "--", "-n").stdout == "-- -n\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGKILL])
def test_signals_are_the_programs(number: signal.Signals) -> None:
    kill = f"kill -{number.value} $$"
    assert overlock("--", "sh", "-c", kill).returncode == -number


@pytest.mark.parametrize("way", WAYS)
def test_interrupt_reaches_the_handler_of_the_program(way: str) -> None:
    """No process of ours stays: the one we started is the program."""
    code = """
import os, signal, sys, threading
stop = threading.Event()
def handler(number, frame):
    print("interrupted", flush=True)
    sys.exit(5)
signal.signal(signal.SIGINT, handler)
print(os.getpid(), os.getppid(), flush=True)
while True:
    stop.wait(1)
"""
    child = subprocess.Popen(
        [*WAYS[way], "run", "--", sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(None, OVERLOCK_NATIVE=str(native.folder())),
    )
    assert child.stdout is not None
    assert child.stdout.readline() == f"{child.pid} {os.getpid()}\n"
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=HANG_S)[0] == "interrupted\n"
    assert child.returncode == 5


def shown(variable: str, *args: str | Path, **more: str) -> str:
    done = overlock(*args, "--", sys.executable, "-c", SHOW.format(variable), **more)
    assert done.returncode == 0, done
    return done.stdout.strip()


def test_environment_of_the_program() -> None:
    ours = str(native.file("liboverlock-run.so"))
    assert shown("OVERLOCK_LOCK") == "tas_yield"
    assert shown("OVERLOCK_LOCK", "--lock", "twa", OVERLOCK_LOCK="mcs") == "twa"
    assert shown("OVERLOCK_KNOWLEDGE", "--knowledge", "none") == "none"
    assert shown("OVERLOCK_OPENMP_LOCK") == "paced"
    assert shown("OVERLOCK_OPENMP_LOCK", "--lock", "twa", OVERLOCK_OPENMP_LOCK="mcs") == "unset"
    assert shown("OVERLOCK_TAU_NS", "--tau-ns", "inf") == "inf"
    assert shown("OVERLOCK_TAU_NS") == "unset"
    assert shown("OVERLOCK_LONG_TERM", "--long-term", "3") == "3"
    assert shown("LD_PRELOAD") == ours
    libm = "libm.so.6"
    assert shown("LD_PRELOAD", LD_PRELOAD=libm) == f"{ours}:{libm}"
    assert shown("LD_PRELOAD", LD_PRELOAD=f"{ours} {libm}") == f"{ours}:{libm}"


def test_set_by_hand_and_wrong() -> None:
    done = run(["true"], environment("nonsense"))
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith("overlock: nonsense: unknown lock")
    assert done.stderr.count("\n") == 1
    done = run(["true"], environment("mine", OVERLOCK_LOCK_SO="/nowhere/mine.so"))
    assert done.returncode == 125
    assert done.stderr.count("\n") == 1


def test_report_as_json(program: Compile, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    done = overlock("--lock", "ticket", "--output", out, program("conformance.c"))
    assert done.returncode == 0
    assert done.stderr == ""
    report = json.loads(out.read_text())
    assert report["lock"] == "ticket"
    none = ("openmp", "mutex_by_rule", "barrier", "shared_barrier")
    for name in ("spinlock", "shared_spinlock", *none):  # served, or not used
        assert not report["left"].pop(name)
    assert all(report["left"].values()), report["left"]
    sites = report["sites"]["sites"]
    assert sum(site["events"].get("ACQUIRE", 0) for site in sites) > 300
    assert {site["lock"] for site in sites} == {"ticket", "spin_yield"}
    assert list(tmp_path.iterdir()) == [out]


def test_calls_are_counted_for_the_caller(program: Compile, tmp_path: Path) -> None:
    """Not for the interposer, whatever the lock and the way it was acquired."""
    out = tmp_path / "report.json"
    for lock in ("ticket", "tas_yield"):
        overlock("--lock", lock, "--output", out, program("deadline.c"), "1", "2", "60")
        sites = json.loads(out.read_text())["sites"]["sites"]
        busy = [site for site in sites if site["events"].get("ACQUIRE")]
        assert {Path(site["module"]).name for site in busy} == {"deadline"}
        assert sum(site["events"]["ACQUIRE"] for site in busy) >= 4


def test_report_survives_fork_and_exec(tmp_path: Path) -> None:
    """Children under the same library neither overwrite the report nor add to it."""
    out = tmp_path / "report.json"
    code = "import os, subprocess; subprocess.run(['true']); os.fork() or exit(0); os.wait()"
    assert overlock("--output", out, sys.executable, "-c", code).returncode == 0
    assert json.loads(out.read_text())["sites"]["sites"]
    each = tmp_path / "each"
    each.mkdir()
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', '0'])"
    assert overlock("--output", each / "%p.json", sys.executable, "-c", code).returncode == 0
    reports = list(each.iterdir())
    assert len(reports) == 2
    for report in reports:
        assert str(json.loads(report.read_text())["pid"]) == report.stem


def test_report_on_the_terminal(program: Compile, tmp_path: Path) -> None:
    """To the terminal, although both streams go elsewhere."""
    streams = tmp_path / "streams"
    args = ["run", "--lock", "mcs", "--counters", "--", str(program("conditions.c")), "20"]
    variables = environment(None, OVERLOCK_NATIVE=str(native.folder()))
    said = on_terminal([str(installed()), *args], variables, streams)
    assert "overlock: conditions under mcs" in said
    assert "acquisitions" in said
    assert streams.read_text() == "fine\n"


def without_terminal(*args: str | Path) -> subprocess.CompletedProcess[str]:
    native_folder = {"OVERLOCK_NATIVE": str(native.folder())}
    return run(["setsid", "-w", installed(), "run", *args], environment(None) | native_folder)


def test_report_without_a_terminal(program: Compile) -> None:
    """To standard error, unless the program has put something else there."""
    conditions = program("conditions.c")
    for option in ("--counters", "--counters=100ms", "--stacks", "--histograms"):
        done = without_terminal("--lock", "mcs", option, "--", conditions, "20")
        assert (done.returncode, done.stdout) == (0, "fine\n"), done
        assert "acquisitions" in done.stderr


def test_a_file_of_the_programs_is_not_taken_for_standard_error(tmp_path: Path) -> None:
    """Not even one beside the file that standard error was."""
    code = "import os; os.close(2); os.open('mine', os.O_CREAT | os.O_WRONLY)"
    command: list[str | Path] = [
        "setsid",
        "-w",
        installed(),
        "run",
        "--counters",
        "--",
        sys.executable,
        "-c",
        code,
    ]
    env = environment(None) | {"OVERLOCK_NATIVE": str(native.folder())}
    with (tmp_path / "said").open("w") as said:
        subprocess.run(command, cwd=tmp_path, env=env, stderr=said, check=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"said": "", "mine": ""}


KILLED = """
import os, signal, threading
def turn():
    while True:
        sum(range(1000))
for _ in range(3): threading.Thread(target=turn, daemon=True).start()
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("ready", flush=True)
threading.Event().wait()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("is_file", [False, True])
def test_report_of_a_program_that_a_signal_ends(
    tmp_path: Path, number: signal.Signals, is_file: bool
) -> None:
    """SIGINT as a terminal sends it, to both; SIGTERM to us alone."""
    out = ("--output", str(tmp_path / "out")) if is_file else ("--counters",)
    child = subprocess.Popen(
        [installed(), "run", *out, "--", sys.executable, "-c", KILLED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment(None, OVERLOCK_NATIVE=str(native.folder())),
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    (os.killpg if number == signal.SIGINT else os.kill)(child.pid, number)
    said = child.communicate(timeout=HANG_S)[1]
    assert child.returncode == -number
    if not is_file:
        assert f"under tas_yield, ended by signal {number.value}: " in said
        assert not re.search(r": 0 acquisitions", said)
        return
    assert said == ""
    report = json.loads((tmp_path / "out").read_text())
    jsonschema.validate(report, SCHEMA)
    assert not report["ended"]
    assert sum(site["events"]["ACQUIRE"] for site in report["sites"]["sites"]) > 0


ENDS = "import os, threading; threading.Thread(target=print).start(); {}"


@pytest.mark.parametrize("end", ["os._exit(0)", "os.execv('/bin/true', ['true'])"])
@pytest.mark.parametrize("is_file", [False, True])
def test_report_of_a_program_that_does_not_return(tmp_path: Path, end: str, is_file: bool) -> None:
    """Nothing runs at its end, or another program's end does, which says what its report lacks."""
    out = tmp_path / "out"
    words = ("--output", str(out)) if is_file else ("--histograms",)
    done = overlock(*words, sys.executable, "-c", ENDS.format(end))
    assert done.returncode == 0
    if "execv" in end:
        assert re.search(r"the report of python\S* lacks [1-9]\d* acquisitions", done.stderr)
    elif is_file:
        report = json.loads(out.read_text())
        jsonschema.validate(report, SCHEMA)
        assert not report["ended"]
        sites = report["sites"]["sites"]
        assert sum(site["events"]["ACQUIRE"] for site in sites) > 0
        assert all(site["module"] for site in sites if site["events"].get("ACQUIRE"))
        assert done.stderr == ""
    else:
        assert re.search(r"ended by _exit\(\) or exec: [1-9]\d* acquisitions", done.stderr)


def test_each_process_has_a_report_however_it_ends(tmp_path: Path) -> None:
    """The program, a child that it forked, and a program that it started; none of them returns."""
    ends = ENDS.format("os._exit(0)")
    started = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ends!r}]); "
    done = overlock(
        *("--output", tmp_path / "out.%p", sys.executable, "-c"),
        started + "import os; p = os.fork(); p and os.waitpid(p, 0); " + ends,
    )
    assert (done.returncode, done.stderr) == (0, "")
    reports = [json.loads(file.read_text()) for file in tmp_path.glob("out.*")]
    assert len({report["pid"] for report in reports}) == len(reports) == 3
    for report in reports:
        jsonschema.validate(report, SCHEMA)
        assert sum(site["events"].get("ACQUIRE", 0) for site in report["sites"]["sites"]) > 0


def test_other_processes_are_not_in_the_report(tmp_path: Path) -> None:
    child = [sys.executable, "-c", "pass"]
    code = f"import subprocess; subprocess.run({child})"
    done = overlock("--output", tmp_path / "out", sys.executable, "-c", code)
    assert re.search(r"not in the report: \d+ acquisitions of a process that python", done.stderr)


def test_disabled(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    done = overlock("--output", out, "true", OVERLOCK_DISABLE="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert not out.exists()


def test_lock_from_a_header(program: Compile, tmp_path: Path) -> None:
    text = (TOP / "include/overlock/lock/ttas.h").read_text()
    line = '#define OL_LOCK_LINE OL_LOCK(mine, timed, OL_FITS4, "me", "a copy")\n'
    header = tmp_path / "mine.h"
    header.write_text(text.replace("ttas", "mine").replace("TTAS", "MINE") + line)
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):
        done = overlock("--lock", header, program("conditions.c"), "5", **cache)
        assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    assert shown("OVERLOCK_LOCK", "--lock", header, **cache) == "mine"
    header.write_text("int mine;\n")
    refused(125, "for the platform layer: `", "overlock new mine`", args=("--lock", header, "true"))
    header.write_text(f"{text}nonsense\n")
    refused(125, "mine.h does not compile", args=("--lock", header, "true"))
    refused(125, "--counters", args=("--lock", header, "--output", tmp_path / "o", "true"))


def test_glibcs_own_mutexes_become_adaptive(program: Compile) -> None:
    kinds = program("adaptive.c")
    natively = subprocess.run([kinds], capture_output=True, text=True, check=True)
    assert natively.stdout == "0 0 0 0 1\n"
    done = overlock("--lock", "pthread_adaptive", kinds)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 3 3 3 1\n", "")
    refused(125, "glibc's own", args=("--lock", "pthread_adaptive", "--counters", "true"))
    with_site = ("--lock", "pthread_adaptive", "--site", "f=ticket", "true")
    refused(125, "remove the sites", args=with_site)


SEEN = (
    "import os, subprocess, sys\n"
    "look = 'grep -c liboverlock-run /proc/self/maps; env | grep -E \"^(LD_PRELOAD|OVERLOCK_)\"'\n"
    "print('liboverlock-run' in open('/proc/self/maps').read(), flush=True)\n"
    "subprocess.run(['sh', '-c', look])\n"
    "os.system(look)\n"
    "if not (pid := os.fork()):\n"
    "    print('liboverlock-run' in open('/proc/self/maps').read(), flush=True)\n"
    "    os.execvp('sh', ['sh', '-c', look])\n"
    "os.waitpid(pid, 0)\n"
)


def seen(*options: str, **more: str) -> list[str]:
    """By a program, by what it starts in three ways, and by its forked child."""
    done = overlock(*options, sys.executable, "-c", SEEN, **more)
    assert (done.returncode, done.stderr) == (0, "")
    return [line for line in done.stdout.splitlines() if "OVERLOCK_NATIVE" not in line]


def test_children_have_the_lock_unless_they_are_not_to() -> None:
    inherited = seen("--lock", "ticket")
    assert inherited.count("True") == 2
    assert inherited.count("OVERLOCK_LOCK=ticket") == 3
    assert "0" not in inherited
    assert seen("--lock", "ticket", "--no-children") == ["True", "0", "0", "True", "0"]


def test_children_keep_what_else_is_preloaded() -> None:
    alone = seen("--no-children", LD_PRELOAD="libdl.so.2")
    assert alone == [
        "True",
        *["0", "LD_PRELOAD=libdl.so.2"] * 2,
        "True",
        "0",
        "LD_PRELOAD=libdl.so.2",
    ]
