# SPDX-License-Identifier: MIT
"""memcached under memcaslap, libmemcached's load generator, which verifies what it gets."""

import re
import signal
import socket
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app, servers
from overlock_tools.apps.servers import whole
from overlock_tools.apps.trial import Trial
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.system import machine

ADDRESS = "127.0.0.1"
# Clients for each thread of the server.
CLIENTS = 4
# Of memcaslap: keys of 32 letters, values of 100; nine gets to a set.
MIX = "key\n32 32 1\nvalue\n100 100 1\ncmd\n0 0.1\n1 0.9\n"
COUNTED = ("get_misses", "verify_misses", "verify_failed", "unexpected_unget")


class Memcached(app.App):
    name = "memcached"
    what = "memcached with N worker threads under memcaslap; every value is verified"
    unit = "operations"
    packages = ("libmemcached-tools", "memcached")
    programs = ("memcached", "memcaslap")
    note = "Debian's package starts an unused server; stop it with systemctl disable --now"
    reach = "all: locks of items, slabs, LRUs and per-thread statistics"
    service = True
    presets: ClassVar[dict[str, str]] = {"megabytes": "256"}

    def set_up(self) -> None:
        """A cell begins with an empty cache, which its client fills."""
        self.mix = self.workspace.folder / "mix"
        self.mix.write_text(MIX)

    def cell(self, trial: Trial) -> Answer:
        told = trial.folder / "port"
        server = trial.start(
            [
                *(app.program("memcached"), "-l", ADDRESS, "-p", "-1", "-U", "0"),
                *("-m", str(self.number("megabytes")), "-t", str(trial.threads)),
                *("-c", str(4096 + CLIENTS * trial.threads)),
            ],
            variables={"MEMCACHED_PORT_FILENAME": str(told)},
        )
        servers.reached(server, lambda: _port(told) is not None)
        port = _port(told)
        assert port is not None
        if trial.warm_up:
            trial.run(self._client(trial, port, trial.warm_up), trial.patience + trial.warm_up)
        trial.begin()
        answer = servers.loaded(trial, self._client(trial, port, trial.seconds), _answer)
        trial.end(answer)
        if not answer.cut and not answer.wrong:
            answer.wrong = _server_says(port)
        trial.stop(server, signal.SIGTERM)
        return answer

    def _client(self, trial: Trial, port: int, seconds: float) -> list[str]:
        threads = machine.cpus()
        clients = -(-CLIENTS * trial.threads // threads) * threads  # memcaslap wants a multiple
        return [
            *(app.program("memcaslap"), "-s", f"{ADDRESS}:{port}", "-t", f"{whole(seconds)}s"),
            *("-T", str(threads), "-c", str(clients), "-v", "1", "-w", "1k"),
            *("-F", str(self.mix)),
        ]


def _answer(said: str) -> Answer | None:
    rate = re.search(r"Run time: ([\d.]+)s Ops: (\d+)", said)
    if not rate:
        return None
    counts = {name: int(n) for name, n in re.findall(r"^(\w+): (\d+)$", said, re.MULTILINE)}
    bad = [f"{name} {counts[name]}" for name in COUNTED if counts.get(name)]
    return Answer(int(rate[2]), float(rate[1]), wrong=", ".join(bad))


def _port(told: Path) -> int | None:
    """memcached chooses it, and writes the file beside its name and renames it."""
    try:
        found = re.search(r"TCP INET: (\d+)", told.read_text())
    except OSError:
        return None
    return int(found[1]) if found else None


def _server_says(port: int) -> str:
    """What it counts has to add up."""
    with socket.create_connection((ADDRESS, port), 10) as one:
        one.sendall(b"stats\r\n")
        text = b""
        while not text.endswith(b"END\r\n"):
            if not (came := one.recv(65536)):
                return "memcached closed the connection on a request for its counters"
            text += came
    stats = dict(re.findall(r"STAT (\w+) (\d+)\r", text.decode()))
    gets, hits, misses = (int(stats[name]) for name in ("cmd_get", "get_hits", "get_misses"))
    return "" if gets == hits + misses else f"{gets} gets, {hits} hits and {misses} misses"
