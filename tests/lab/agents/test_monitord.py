# SPDX-License-Identifier: MIT
"""overlock-monitord: what programs learn of their threads, and what they cannot.

Each test of a property is also run against a service with a fault, which it must catch: MUTANTS.
"""

import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BUILD, TOP
from tests.lab.agents import service
from tests.lab.agents.service import MONITORD, STRIDE, Service, serving
from tests.lab.agents.test_hostd import lacking
from tests.mutant import changed
from tests.processes import descendants, until

PR_SET_DUMPABLE = 4
STRANGER = 64123  # no user has that number


def refused() -> str:
    if not MONITORD.exists():
        return "overlock-monitord is not built here: clang, bpftool or libbpf-dev is not installed"
    if why := lacking():
        return why
    done = subprocess.run(
        [MONITORD, "--socket=@overlock-test", "--seconds=0.001"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr.splitlines()[-1] if done.returncode else ""


pytestmark = pytest.mark.skipif(bool(refused()), reason=refused() or "-")


@pytest.fixture
def monitord() -> Iterator[Service]:
    with serving() as found:
        yield found


def compiled(folder: Path, slices: Path) -> Path:
    out = folder / "own"
    flags = ["-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
    paths: list[str | Path] = [
        f"-I{TOP}/include",
        f"-I{BUILD}/include",
        f"-I{TOP}/lib",
        Path(__file__).with_name("own.c"),
        slices,
    ]
    library = BUILD / "lib/liboverlock.a"
    subprocess.run(["cc", *flags, *paths, library, "-pthread", "-o", out], check=True)
    return out


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("own"), TOP / "lib/slices.c")


@contextmanager
def resting(own: Path, socket_: str, *before: str) -> Iterator[Callable[[], dict[str, int]]]:
    child: subprocess.Popen[str] = subprocess.Popen(
        [*before, str(own), "rest"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OVERLOCK_MONITOR": socket_},
    )
    to, said = child.stdin, child.stdout
    assert to
    assert said
    said.readline()

    def says() -> dict[str, int]:
        to.write("\n")
        to.flush()
        found: dict[str, int] = json.loads(said.readline())
        return found

    try:
        yield says
    finally:
        child.kill()
        child.communicate()


def by(user: int, act: Callable[[], str]) -> str:
    """What `act` says in a process of that user's."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        said = ""
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # as after execve()
            said = act()
        except BaseException as error:
            said = repr(error)
        finally:
            os.write(writes, said.encode())
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


def until_full_stop(reads: int) -> str:
    text = b""
    while not text.endswith(b"."):
        text += os.read(reads, 100)
    return text.decode().rstrip(".")


# What a program learns.


def test_two_programs_learn_each_of_their_slices(own: Path, monitord: Service) -> None:
    env = {**os.environ, "OVERLOCK_MONITOR": monitord.socket}
    programs = [
        subprocess.Popen([own, "4", "12"], stdout=subprocess.PIPE, text=True, env=env)
        for _ in range(2)
    ]
    said = [json.loads(line) for p in programs for line in p.communicate()[0].splitlines()]
    assert len(said) == 16
    for thread in said:
        assert thread["slices"] == thread["switches"]
        assert not thread["self"]
    assert sum(thread["preempted"] for thread in said)
    found = monitord.ended()
    assert (found["programs"], found["threads"], found["unserved"]) == (2, 16, 0)
    assert found["taken"] > 16


def test_a_thread_that_sleeps_is_off_its_cpu(own: Path, monitord: Service) -> None:
    with resting(own, monitord.socket) as says:
        until(lambda: says() == {"told": 1, "off": 1, "ends": 1})


def learns_in_a_pid_namespace(monitord: Service, own: Path) -> str:
    with resting(own, monitord.socket, "unshare", "--pid", "--fork", "--kill-child") as says:
        assert monitord.serves()
        says()  # it sleeps and wakes up
        if not says()["told"]:
            return "it was told nothing"
        until(lambda: says()["off"])
    return ""


def falls_back(monitord: Service, own: Path) -> str:
    """Once the service is killed, programs believe no page: it would stand still."""
    with resting(own, monitord.socket) as says:
        until(lambda: says()["off"] and says()["told"])
        monitord.child.kill()
        monitord.child.wait()
        said = says()
        return "" if (said["told"], said["off"]) == (0, 0) else f"it believes the dead: {said}"


# A client that may do what it likes.


def marks_pages_when_killed(monitord: Service, _: Path) -> str:
    clients = [monitord.client() for _ in range(5)]
    before = monitord.fds()
    clients.pop(2).close()
    until(lambda: monitord.fds() < before)
    monitord.child.kill()
    monitord.child.wait()
    return "" if not any(client.told() for client in clients) else "a page looks alive"


def marks_a_page_when_it_is_left(monitord: Service, _: Path) -> str:
    client = monitord.client()
    before = monitord.fds()
    client.wire.close()
    until(lambda: monitord.fds() < before)
    return "it looks alive" if client.told() else ""


def tells_nothing_of_others(monitord: Service, _: Path) -> str:
    """Another user names our threads, the service's, and those of the first process."""
    thread = threading.get_native_id()

    def act() -> str:
        client = monitord.client()
        for at, other in enumerate((thread, monitord.pid, 1, 2**31 - 1, 2**32 - 1, 0)):
            client.name(other, at)
        client.name(threading.get_native_id(), 20)
        until(lambda: client.known(20))
        return str(client.learnt())

    mine = monitord.client()
    mine.name(1, 1)
    mine.name(thread, 3)
    until(lambda: mine.known(3))
    said = by(STRANGER, act)
    return "" if said == "[20]" and mine.learnt() == [3] else f"learnt {said}, {mine.learnt()}"


def at_some_time(holds: Callable[[], bool]) -> bool:
    """Within half a second: a thread that has no CPU is told a little later."""
    until_s = time.monotonic() + 0.5
    while time.monotonic() < until_s:
        if holds():
            return True
        time.sleep(0.005)
    return holds()


def tells_nothing_after_another_program(monitord: Service, _: Path) -> str:
    """The process becomes another program, as of more rights; its child has the page still."""
    reads, writes = os.pipe()
    process = os.fork()
    if not process:
        client = monitord.client()
        client.name(os.getpid(), 0)
        until(lambda: client.known(0))
        started, starts = os.pipe()
        if os.fork():
            os.dup2(starts, 1)
            os.execvp("sh", ["sh", "-c", "echo x; sleep 3600"])  # noqa: S606 - another program
        os.read(started, 1)
        os.write(writes, b"told." if at_some_time(lambda: client.known(0)) else b".")
        os._exit(0)
    said = until_full_stop(reads)
    for pid in (*descendants(process), process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    os.waitpid(process, 0)
    return said


def looks_at_what_a_thread_has_become(monitord: Service, _: Path) -> str:
    """As after a set-user-ID program: the kernel lets nobody but root look into it."""

    def act() -> str:
        client = monitord.client()
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        client.name(os.getpid(), 0)
        client.wire.send(b"wrong")
        client.closed()  # now it has heard all of that
        return str(client.learnt())

    said = by(STRANGER, act)
    return "" if said == "[]" else f"learnt {said}"


def leaves_a_process_that_ended(monitord: Service, _: Path) -> str:
    """Its number may be another's soon; its child has the socket still."""
    (ended, ends), (reads, writes) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        client = monitord.client()
        if os.fork():
            os._exit(0)
        os.read(ended, 1)
        os.write(writes, b"." if client.closed(now=True) else b"it is served.")
        os._exit(0)
    os.waitpid(child, 0)
    assert monitord.serves()
    os.write(ends, b"x")
    return until_full_stop(reads)


def forgets_threads_that_end(monitord: Service, _: Path) -> str:
    client = monitord.client()
    go = threading.Event()
    thread = threading.Thread(target=lambda: until(lambda: client.known(9) and go.is_set()))
    thread.start()
    client.name(thread.native_id or 0, 9)
    until(lambda: client.known(9))
    go.set()
    until(lambda: not Path(f"/proc/self/task/{thread.native_id}").exists())
    return "it is told still" if client.known(9) else ""


def takes_no_wrong_message(monitord: Service, _: Path) -> str:
    for message in (b"\1", b"1234567", b"123456789", b"x" * 64):
        client = monitord.client()
        client.wire.send(message)
        assert monitord.serves()
        if not client.closed(now=True):
            return f"it takes {message!r}"
    return ""


def names_no_entry_beside_the_page(monitord: Service, _: Path) -> str:
    client = monitord.client()
    for at in (1024, 1025, 2**31, 2**32 - 1):
        client.name(threading.get_native_id(), at)
    client.name(threading.get_native_id(), 1023)
    until(lambda: client.known(1023))
    found = monitord.ended()
    return "" if (found["threads"], found["unserved"]) == (1, 4) else str(found)


def has_room_for_others(monitord: Service, _: Path) -> str:
    """1,000 connections of one user."""
    clients = [monitord.client() for _ in range(1000)]
    served = sum(bool(client.page) for client in clients)
    if served not in range(400, 600):
        return f"{served} are served"
    clients[0].name(threading.get_native_id(), 0)
    until(lambda: clients[0].known(0))
    said = by(STRANGER, lambda: str(monitord.serves()))
    for client in clients:
        client.close()
    until(lambda: monitord.fds() < 100)
    return "" if said == "True" and monitord.serves() else f"others: {said}"


def survives_what_is_sent(monitord: Service, _: Path) -> str:
    chance = random.Random(24)  # noqa: S311 - no secret
    clients = []
    for _number in range(150):
        client = monitord.client()
        clients.append(client)
        with suppress(BrokenPipeError, ConnectionResetError):
            for _message in range(chance.randrange(20)):
                if chance.random() < 0.7:
                    thread = chance.choice((1, 2, monitord.pid, chance.getrandbits(32)))
                    client.name(thread, chance.choice((0, 5, 1023, chance.getrandbits(32))))
                else:
                    client.wire.send(chance.randbytes(chance.randrange(1, 200)))
        if chance.random() < 0.3:
            assert client.page
            client.page[56:STRIDE] = chance.randbytes(STRIDE - 56)  # also the word of the kernel's
    if not monitord.serves():
        return "it serves nobody any more"
    told = [c.learnt() for c in clients if any(at not in (0, 5, 1023) for at in c.learnt())]
    for client in clients:
        client.close()
    return f"learnt {told}" if told else ""


Property = Callable[[Service, Path], str]
PROPERTIES: tuple[Property, ...] = (
    learns_in_a_pid_namespace,
    falls_back,
    marks_pages_when_killed,
    marks_a_page_when_it_is_left,
    tells_nothing_of_others,
    tells_nothing_after_another_program,
    looks_at_what_a_thread_has_become,
    leaves_a_process_that_ended,
    forgets_threads_that_end,
    takes_no_wrong_message,
    names_no_entry_beside_the_page,
    has_room_for_others,
    survives_what_is_sent,
)


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda p: p.__name__)
def test_it(holds: Property, monitord: Service, own: Path) -> None:
    assert not holds(monitord, own)


# Of a file: the property, what stands there, and the fault in its place.
FAULTS: dict[str, tuple[tuple[Property, str, str], ...]] = {
    "programs.c": (
        (
            learns_in_a_pid_namespace,
            "thread_named(program->process, program->named.thread, &program->search)",
            "(int)program->named.thread",
        ),
        (
            learns_in_a_pid_namespace,
            "slot->entry.thread = name",
            "slot->entry.thread = (__u32)thread",
        ),
        (
            marks_pages_when_killed,
            "(struct ol_slice_page, teller))",
            "(struct ol_slice_page, state))",
        ),
        (
            marks_pages_when_killed,
            "before->next = memory->next;",
            "before->next = &programs->pages->list;",
        ),
        (falls_back, "page->teller = (__u32)gettid();", ""),
        (
            marks_a_page_when_it_is_left,
            "OL_SLICE_TELLER_GONE, __ATOMIC_RELEASE",
            "0, __ATOMIC_RELEASE",
        ),
        (tells_nothing_of_others, "program->process, thread); return", "thread, thread); return"),
        (looks_at_what_a_thread_has_become, '"/proc/%d/task/%d/stat"', '"/proc/%d/task/%d"'),
        (leaves_a_process_that_ended, "!fds[1].revents && (", "("),
        (takes_no_wrong_message, "MSG_DONTWAIT | MSG_TRUNC", "MSG_DONTWAIT"),
        (
            takes_no_wrong_message,
            "if (n != sizeof(program->named)) return false;",
            "if (n != sizeof(program->named)) return true;",
        ),
        (
            names_no_entry_beside_the_page,
            "program->named.entry < ENTRIES",
            "program->named.entry <= ENTRIES",
        ),
        (has_room_for_others, "theirs < MOST_PROGRAMS - programs->n", "programs->n < 1000"),
    ),
    "threads.bpf.c": (
        (
            tells_nothing_after_another_program,
            "int BPF_PROG(executes, struct task_struct *task, int before) { forget(task);",
            "int BPF_PROG(executes, struct task_struct *task, int before) {",
        ),
        (
            forgets_threads_that_end,
            "int BPF_PROG(exits, struct task_struct *task) { forget(task);",
            "int BPF_PROG(exits, struct task_struct *task) {",
        ),
    ),
}
MUTANTS = [(p, name, old, new) for name, faults in FAULTS.items() for p, old, new in faults]


@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=[f"{holds.__name__}-{n}" for n, (holds, *_) in enumerate(MUTANTS)]
)
def test_mutant(mutant: tuple[Property, str, str, str], own: Path, tmp_path: Path) -> None:
    holds, *fault = mutant
    program = service.mutant(tmp_path, *fault)
    with serving(program) as found:
        assert holds(found, own)


def test_a_reader_that_trusts_the_dead_is_told_apart(monitord: Service, tmp_path: Path) -> None:
    text = (TOP / "lib/slices.c").read_text()
    old = "return ol_load_relaxed(&told.map.page->teller) & OL_SLICE_TELLER_GONE;"
    (tmp_path / "slices.c").write_text(changed(text, (old, "return false;")))
    assert falls_back(monitord, compiled(tmp_path, tmp_path / "slices.c"))


# The service and the commands.

COMMAND = (sys.executable, "-m", "overlock_tools")


def test_three_capabilities_are_enough() -> None:
    """As the unit gives them."""
    unit = (TOP / "packaging/overlock-monitord.service").read_text()
    given = next(line for line in unit.splitlines() if line.startswith("AmbientCapabilities="))
    words = given.partition("=")[2].lower().replace("cap_", "+").split()
    assert len(words) == 3
    caps = ",".join(words)
    user = [f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", "--no-new-privs"]
    limits = [f"--inh-caps={caps}", f"--ambient-caps={caps}", f"--bounding-set=-all,{caps}"]
    with serving(("setpriv", *user, *limits, MONITORD)) as found:
        assert found.serves()
        status = Path(f"/proc/{found.pid}/status").read_text()
    assert [line.split()[1] for line in status.splitlines() if line.startswith("CapPrm")] == [
        "0" * 16
    ]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
def test_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "overlock-monitord.service"
    text = (TOP / "packaging/overlock-monitord.service").read_text()
    unit.write_text(text.replace("/usr/lib/overlock/overlock-monitord", "/bin/true"))
    for asked in (["verify", "--man=no"], ["security", "--offline=yes", "--threshold=20"]):
        done = subprocess.run(
            ["systemd-analyze", *asked, unit], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
        assert asked[0] == "security" or not done.stderr


def test_what_a_killed_one_left_is_no_obstacle_and_a_live_one_is(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with serving(path=path) as found:
        assert found.serves()
        second = subprocess.run(
            [MONITORD, f"--socket={path}"], capture_output=True, text=True, check=False
        )
        assert second.returncode == 1
        assert second.stderr == (
            f"overlock monitord: another one serves at {path}; end that one, or name another "
            "--socket\n"
        )
        assert found.serves()
    assert Path(path).exists()
    with serving(path=path) as found:
        assert found.serves()


def test_run_starts_one_for_the_program(own: Path, tmp_path: Path) -> None:
    started = tmp_path / "pid"
    script = f'echo $$ > {started}; wait; exec "$0" 2 3'
    done = subprocess.run(
        [*COMMAND, "run", "--monitor", "--", "sh", "-c", script, own],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 4
    until(lambda: f"--until={started.read_text().strip()}\0" not in running())


def running() -> str:
    texts = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            texts.append(file.read_text())
    return "".join(texts)


def test_run_refuses_to_print_it() -> None:
    done = subprocess.run(
        [*COMMAND, "run", "--monitor", "--print", "env", "--", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 125
    assert "systemctl start overlock-monitord" in done.stderr


def test_results_say_that_locks_knew_it_from_the_monitor(monitord: Service, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    words = ["bench", "sections", "--lock", "owner_qspin", "--threads", "3", "--rounds", "1"]
    more = ["--seconds", "0.02", "--knowledge", "monitor,rseq", "--json", str(file)]
    env = {**os.environ, "OVERLOCK_MONITOR": monitord.socket}
    subprocess.run([*COMMAND, *words, *more], check=True, capture_output=True, env=env)
    known = json.loads(file.read_text())["native"]["knowledge"]
    told = {"slice_id", "slice_end", "preempted"}
    assert {fact: source for fact, source in known.items() if source} == dict.fromkeys(
        told, "monitor"
    )
    said = subprocess.run(
        [*COMMAND, "doctor", "--verbose", "--seconds", "0.1"],
        check=False,
        capture_output=True,
        text=True,
        env=env,
    ).stdout
    assert "monitor (used)" in " ".join(said.split())


def test_the_command_counts_and_says_what_it_cost() -> None:
    done = subprocess.run(
        [*COMMAND, "monitord", "--socket", "@overlock-t", "--seconds", "0.2", "--cost", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["switches"]["runs"]
    assert said["switches"]["ns"]
    assert not said["programs"]
