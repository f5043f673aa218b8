# SPDX-License-Identifier: MIT
"""Redis with I/O threads under redis-benchmark. They wait for work by looking at a flag."""

import re
import signal
import socket
import time
from typing import ClassVar

from overlock_tools.apps import app, servers
from overlock_tools.apps.trial import READY_SECONDS, Trial
from overlock_tools.core.model.combine import Answer


class Redis(app.App):
    name = "redis"
    what = "Redis with N I/O threads under redis-benchmark, which gets the same value"
    unit = "requests"
    packages = ("redis-server",)
    programs = ("redis-server", "redis-benchmark")
    note = "Debian's package starts an unused server; stop it with systemctl disable --now"
    reach = "none: its I/O threads wait for flags"
    control = True
    service = True
    presets: ClassVar[dict[str, str]] = {"requests": "2000", "clients": "50"}

    def set_up(self) -> None:
        """A cell begins with an empty database."""

    def cell(self, trial: Trial) -> Answer:
        address, port = servers.address(), servers.port()
        server = trial.start(
            [
                *(app.program("redis-server"), "--bind", address, "--port", str(port)),
                *("--save", "", "--dir", str(trial.folder), "--daemonize", "no"),
                *("--io-threads", str(trial.threads), "--io-threads-do-reads", "yes"),
            ],
            trial.folder / "server.out",
        )
        servers.reached(server, lambda: _asked(address, port, "PING") == "+PONG")
        client = [
            *(app.program("redis-benchmark"), "-h", address, "-p", str(port), "-t", "get"),
            *("-n", str(self.number("requests")), "-c", str(self.number("clients"))),
        ]
        trial.run(client, READY_SECONDS)
        trial.begin()
        answer = trial.end(self._load(trial, client))
        if not answer.cut:
            done = int(answer.work) + self.number("requests")
            answer.wrong = miscounted(_asked(address, port, "INFO all"), done)
        trial.stop(server, signal.SIGTERM)
        return answer

    def _load(self, trial: Trial, client: list[str]) -> Answer:
        """The client does so many requests, again and again until the time is over."""
        until = time.monotonic() + trial.seconds
        total = Answer(0, 0.0)
        while not total.cut and (total.work == 0 or time.monotonic() < until):
            one = servers.loaded(trial, client, answered)
            total.cut = one.cut
            total.work += one.work
            total.seconds += one.seconds
            total.latency += one.latency
        return total


def answered(said: str) -> Answer | None:
    """Of redis-benchmark: its rate, and how many requests took at most how long."""
    done = re.search(r"(\d+) requests completed in", said)
    rate = re.search(r"throughput summary: ([\d.]+) requests per second", said)
    steps = re.findall(r"% <= ([\d.]+) milliseconds \(cumulative count (\d+)\)", said)
    if not done or not rate or not steps:
        return None
    answer = Answer(int(done[1]), int(done[1]) / float(rate[1]))
    before = 0
    for ms, count in steps:
        if int(count) > before:
            answer.latency.append([float(ms) * 1e6, int(count) - before])
            before = int(count)
    return answer


def miscounted(info: str, done: int) -> str:
    """What the server counted has to be what the client did, and no request may have failed."""
    calls = re.search(r"cmdstat_get:calls=(\d+),.*failed_calls=(\d+)", info)
    counted, failed = (int(calls[1]), int(calls[2])) if calls else (0, 0)
    if failed:
        return f"{failed} requests failed"
    return "" if counted == done else f"{done} requests were done, but {counted} are counted"


def _asked(address: str, port: int, command: str) -> str:
    """One command and its whole answer, without the end of the last line."""
    try:
        with socket.create_connection((address, port), READY_SECONDS) as one:
            one.sendall(f"{command}\r\n".encode())
            with one.makefile("rb") as answer:
                first = answer.readline().decode().rstrip()
                if first.startswith("$"):
                    return answer.read(int(first[1:])).decode()
                return first
    except OSError:
        return ""
