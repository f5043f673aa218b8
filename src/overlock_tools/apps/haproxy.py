# SPDX-License-Identifier: MIT
"""HAProxy under h2load. It answers by itself, and counts the requests of each address in a table
that all its threads share, as it does where it limits rates."""

import re
import signal
import socket
from pathlib import Path

from overlock_tools.apps import app, servers
from overlock_tools.apps.servers import whole
from overlock_tools.apps.trial import READY_SECONDS, Trial
from overlock_tools.model.combine import Answer
from overlock_tools.system import machine

BODY = "overlock" * 16
CONNECTIONS = 64
CONFIGURATION = """\
global
    nbthread {threads}
    maxconn 1000
    stats socket {folder}/admin mode 600
defaults
    mode http
    timeout connect 60s
    timeout client 60s
    timeout server 60s
frontend web
    bind {address}:{port}
    stick-table type ip size 1k expire 1h store http_req_cnt,http_req_rate(10s)
    http-request track-sc0 src
    http-request return status 200 content-type text/plain string "{body}"
"""


class HaProxy(app.App):
    name = "haproxy"
    what = "HAProxy with N threads under h2load, which counts requests in a stick table"
    unit = "requests"
    packages = ("haproxy", "nghttp2-client")
    programs = ("haproxy", "h2load")
    note = "Debian's package starts an unused server; stop it with systemctl disable --now"
    reach = "none: its locks (plock) are inlined"
    control = True
    service = True
    overhead_seconds = 1.0

    def set_up(self) -> None:
        """It answers by itself."""

    def cell(self, trial: Trial) -> Answer:
        address, port = servers.address(), servers.port()
        file, admin = trial.folder / "conf", trial.folder / "admin"
        places = {"address": address, "port": port, "folder": trial.folder}
        file.write_text(CONFIGURATION.format(threads=trial.threads, body=BODY, **places))
        server = trial.start([app.program("haproxy"), "-db", "-f", str(file)])
        servers.reached(server, lambda: _body(address, port) == BODY)
        url = f"http://{address}:{port}/"
        if trial.warm_up:
            trial.run(_client(url, trial.warm_up), trial.patience + trial.warm_up)
        trial.begin()
        before = _counted(admin)
        answer = servers.loaded(trial, _client(url, trial.seconds), answered)
        trial.end(answer)
        if not answer.cut:
            done = int(answer.work)
            answer.wrong = answer.wrong or miscounted(done, _counted(admin) - before)
            answer.wrong = answer.wrong or ("" if _body(address, port) == BODY else "another page")
        trial.stop(server, signal.SIGTERM)
        return answer


def _client(url: str, seconds: float) -> list[str]:
    threads = machine.cpus()
    connections = -(-CONNECTIONS // threads) * threads  # as many for each thread of h2load
    return [
        *(app.program("h2load"), "--h1", "-t", str(threads), "-c", str(connections)),
        *("-D", str(whole(seconds)), url),
    ]


def answered(said: str) -> Answer | None:
    """Of h2load: every request succeeded, with the whole page."""
    took = re.search(r"^finished in ([\d.]+)(m?s), ", said, re.MULTILINE)
    counts = {name: int(n) for n, name in re.findall(r"\b(\d+) (done|succeeded|failed)\b", said)}
    data = re.search(r"\((\d+)\) data$", said, re.MULTILINE)
    if not took or not data or not counts.get("succeeded"):
        return None
    seconds = float(took[1]) / (1000 if took[2] == "ms" else 1)
    bad = [f"{counts['failed']} failed"] if counts["failed"] else []
    if int(data[1]) < counts["succeeded"] * len(BODY):
        bad.append(f"{data[1]} bytes of {counts['succeeded']} pages of {len(BODY)}")
    return Answer(counts["succeeded"], seconds, wrong=", ".join(bad))


def miscounted(done: int, counted: int) -> str:
    """Requests that h2load did not wait for are counted, too; without exclusion, some are not."""
    if done <= counted <= done + 2 * CONNECTIONS:
        return ""
    return f"{done} requests were done, but HAProxy counted {counted}"


def _counted(admin: Path) -> int:
    """Requests, in the entry that all clients have in common."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(READY_SECONDS)
        one.connect(str(admin))
        one.sendall(b"show table web\n")
        text = b"".join(iter(lambda: one.recv(65536), b""))
    return sum(map(int, re.findall(r"\bhttp_req_cnt=(\d+)", text.decode())))


def _body(address: str, port: int) -> str:
    """What a client of its own gets."""
    try:
        with socket.create_connection((address, port), READY_SECONDS) as one:
            one.sendall(b"GET / HTTP/1.0\r\n\r\n")
            text = b"".join(iter(lambda: one.recv(65536), b""))
    except OSError:
        return ""
    return text.partition(b"\r\n\r\n")[2].decode(errors="replace")
