# SPDX-License-Identifier: MIT
"""overlock-monitord with clients that keep others waiting; programs whose service is silent.

What others wait is measured in the service's own CPU time, so that a busy machine lengthens
nothing. Each property is also run against a service with a fault, which it must catch. The suite
run-long takes larger crowds.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.lab.agents import service, test_monitord
from tests.lab.agents.service import Service, serving
from tests.lab.agents.test_monitord import STRANGER, by
from tests.processes import HANG_S, until

pytestmark = test_monitord.pytestmark
own = test_monitord.own  # a fixture

SIZE = int(os.environ.get("OVERLOCK_HOSTILE_SIZE", "1"))
WAIT_NS = 60_000_000  # of the service's CPU time, from the connection to the page
LOGIN, NO_LOGIN = 64321, str(2**32 - 1)
SUBORDINATE = range(200_000, 200_014)

# Within its own PID namespace: many threads, and connections that each name one that is not there.
CROWD = """
import socket, struct, sys, threading
threading.stack_size(1 << 16)
for _ in range(int(sys.argv[2])):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
wires = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(int(sys.argv[3]))]
for wire in wires:
    wire.connect("\\0" + sys.argv[1][1:])
    wire.recv(1)
print("ready", flush=True)
sys.stdin.readline()
for wire in wires:
    for entry in range(5):
        wire.send(struct.pack("<II", 4_000_000, entry))
print("said", flush=True)
sys.stdin.readline()
"""


def cpu_ns(process: int) -> int:
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0])


def connect(monitord: Service, wire: socket.socket) -> None:
    wire.connect(monitord.socket.replace("@", "\0", 1))


def last_of_all(monitord: Service) -> str:
    """Of a service that is stopped, and goes on once another user has connected: what is wrong."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as wire:
        wire.settimeout(HANG_S)
        os.seteuid(STRANGER)
        try:
            connect(monitord, wire)
        finally:
            os.seteuid(0)
        began = cpu_ns(monitord.pid)
        os.kill(monitord.pid, signal.SIGCONT)
        _, pages, _, _ = socket.recv_fds(wire, 1, 1)
        took = cpu_ns(monitord.pid) - began
    for page in pages:
        os.close(page)
    return "" if pages and took < WAIT_NS else f"{len(pages)} page in {took / 1e6:.0f} ms"


def searches_for_nobody_long(monitord: Service, _: Path) -> str:
    """Each thread of the crowd is looked at for each message."""
    command = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", CROWD]
    with subprocess.Popen(
        [*command, monitord.socket, "5000", str(min(60 * SIZE, 400))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as crowd:
        try:
            assert crowd.stdin
            assert crowd.stdout
            assert crowd.stdout.readline() == "ready\n"
            os.kill(monitord.pid, signal.SIGSTOP)
            crowd.stdin.write("\n")
            crowd.stdin.flush()
            assert crowd.stdout.readline() == "said\n"
            return last_of_all(monitord)
        finally:
            crowd.kill()


def welcomes_at_once(monitord: Service, _: Path) -> str:
    """Others have all places they may have, and have said much; more of them wait at the door."""
    clients = []
    while (client := monitord.client()).page:
        clients.append(client)
    before = [
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(min(100 * SIZE, 500))
    ]
    os.kill(monitord.pid, signal.SIGSTOP)
    for client in clients:
        for at in range(50):
            client.name(threading.get_native_id(), at)
    for wire in before:
        connect(monitord, wire)
    said = last_of_all(monitord)
    for wire in (*before, *(client.wire for client in clients)):
        wire.close()
    return said


def as_login(user: int, act: Callable[[], str]) -> str:
    """What `act` says in a process of that user's login."""

    def logged_in() -> str:
        Path("/proc/self/loginuid").write_text(str(LOGIN))
        os.seteuid(user)
        return act()

    return by(0, logged_in)


def counts_subordinate_users_with_their_login(monitord: Service, _: Path) -> str:
    """Each takes what it gets; places for others remain."""
    if not Path("/proc/self/loginuid").exists():
        pytest.skip("this kernel has no audit")

    def act() -> str:
        clients = []
        for user in SUBORDINATE:
            os.seteuid(0)
            os.seteuid(user)
            while (client := monitord.client()).page:
                clients.append(client)
        os.seteuid(0)
        Path("/proc/self/loginuid").write_text(NO_LOGIN)
        served = by(STRANGER, lambda: str(bool(monitord.client().page)))
        return f"{len(clients)} of {served}"

    said = as_login(0, act)
    until(lambda: monitord.fds() < 100)
    return "" if said == "512 of True" else said


PROPERTIES = (
    (searches_for_nobody_long, "thread.c", "enum { STEP = 16 };", "enum { STEP = 1 << 30 };"),
    (
        welcomes_at_once,
        "programs.c",
        "while (welcome(programs) && in_ns(0) < until)",
        "while (welcome(programs) && !until)",
    ),
    (
        counts_subordinate_users_with_their_login,
        "programs.c",
        "login == none ? program->user : login",
        "program->user",
    ),
)
each = pytest.mark.parametrize("case", PROPERTIES, ids=[case[0].__name__ for case in PROPERTIES])
Case = tuple[Callable[[Service, Path], str], str, str, str]


@each
def test_it(case: Case, own: Path) -> None:
    with serving() as monitord:
        assert not case[0](monitord, own)


@each
def test_mutant(case: Case, own: Path, tmp_path: Path) -> None:
    holds, *fault = case
    with serving(service.mutant(tmp_path, *fault)) as monitord:
        assert holds(monitord, own)


# The socket.


def test_the_socket_is_for_all_from_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(("sh", "-c", 'umask 077; exec "$0" "$@"', service.MONITORD), str(path)):
        assert path.stat().st_mode & 0o777 == 0o666


def test_its_folder_is_for_all_to_enter() -> None:
    within = 'mount -t tmpfs none /run; umask 077; exec "$0" --socket=/run/overlock/monitor'
    command: list[str | Path] = ["unshare", "--mount", "sh", "-ec", within, service.MONITORD]
    monitord = subprocess.Popen(command)
    made = Path("/proc", str(monitord.pid), "root", "run/overlock/monitor")
    try:
        until(made.is_socket)
        assert made.parent.stat().st_mode & 0o777 == 0o755
    finally:
        monitord.kill()
        monitord.wait()


def test_only_a_socket_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("precious")
    done = subprocess.run(
        [service.MONITORD, f"--socket={path}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )
    assert done.returncode == 1
    assert done.stderr == f"overlock monitord: {path} cannot be the socket: File exists\n"
    assert path.read_text() == "precious"


# Programs whose service does not answer.

FORKS = "for i in range(20):\n  if not os.fork(): os._exit(0)\n  os.wait()"


@contextmanager
def silent(backlog: int) -> Iterator[tuple[socket.socket, str]]:
    path = f"@overlock-silent-{os.getpid()}-{backlog}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as wire:
        wire.bind(path.replace("@", "\0", 1))
        wire.listen(backlog)
        wire.setblocking(False)
        yield wire, path


def run_with(path: str) -> None:
    subprocess.run(
        [sys.executable, "-c", f"import os\n{FORKS}"],
        env={
            **os.environ,
            "LD_PRELOAD": str(native.file("liboverlock-run.so")),
            "OVERLOCK_LOCK": "mcs",
            "OVERLOCK_MONITOR": path,
        },
        check=True,
        timeout=60,
    )


def asked(wire: socket.socket) -> int:
    for n in range(1000):
        try:
            wire.accept()[0].close()
        except BlockingIOError:
            return n
    return 1000


def test_a_silent_service_is_asked_once_by_a_program_and_its_children() -> None:
    with silent(1000) as (wire, path):
        run_with(path)
        assert asked(wire) == 1


def test_a_full_queue_holds_no_program_up() -> None:
    with silent(0) as (_, path):
        waiting = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        waiting.connect(path.replace("@", "\0", 1))
        run_with(path)
        waiting.close()
