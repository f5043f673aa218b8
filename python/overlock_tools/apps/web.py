# SPDX-License-Identifier: MIT
"""Web servers under h2load. For each request they take a lock that all their threads or processes
share, as they do where they limit rates."""

import re
import signal
import socket
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app, servers
from overlock_tools.apps.servers import whole
from overlock_tools.apps.trial import READY_SECONDS, Trial
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.system import machine

BODY = "overlock" * 16
CONNECTIONS = 64
HAPROXY = """\
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
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
NGINX = (
    """\
daemon off;
worker_processes {threads};
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    limit_req_zone $server_name zone=all:1m rate=1000000r/s;
    server {{
        listen {address}:{port};
        location = / {{
            limit_req zone=all burst=1000000 nodelay;
            root {folder};
            try_files /page =404;
        }}
        location = /status {{ stub_status; }}
    }}
"""
    + "".join(f"    {name}_temp_path {{folder}}/{name};\n" for name in TEMPORARY)
    + "}}\n"
)


class Web(app.App):
    unit = "requests"
    packages: ClassVar[tuple[str, ...]] = ("nghttp2-client",)
    programs: ClassVar[tuple[str, ...]] = ("h2load",)
    note = "Debian's package starts an unused server; stop it with systemctl disable --now"
    control = True
    service = True
    overhead_seconds = 1.0
    configuration: ClassVar[str]

    def set_up(self) -> None:
        """They answer by themselves."""

    @abstractmethod
    def server(self, configuration: Path) -> list[str]: ...

    @abstractmethod
    def counted(self, folder: Path, address: str, port: int) -> int:
        """Requests that the server has counted since its start."""

    def cell(self, trial: Trial) -> Answer:
        address, port = servers.address(), servers.port()
        file = trial.folder / "conf"
        places = {"address": address, "port": port, "folder": trial.folder}
        file.write_text(self.configuration.format(threads=trial.threads, body=BODY, **places))
        (trial.folder / "page").write_text(BODY)
        server = trial.start(self.server(file))
        servers.reached(server, lambda: _body(address, port) == BODY)
        url = f"http://{address}:{port}/"
        if trial.warm_up:
            trial.run(_client(url, trial.warm_up), trial.patience + trial.warm_up)
        trial.begin()
        before = self.counted(trial.folder, address, port)
        answer = servers.loaded(trial, _client(url, trial.seconds), answered)
        trial.end(answer)
        if not answer.cut:
            counted = self.counted(trial.folder, address, port) - before
            answer.wrong = answer.wrong or miscounted(int(answer.work), counted)
            answer.wrong = answer.wrong or ("" if _body(address, port) == BODY else "another page")
        trial.stop(server, signal.SIGTERM)
        return answer


class HaProxy(Web):
    name = "haproxy"
    what = "HAProxy with N threads under h2load, which counts requests in a stick table"
    packages = (*Web.packages, "haproxy")
    programs = (*Web.programs, "haproxy")
    reach = "none: its locks (plock) are inlined"
    configuration = HAPROXY

    def server(self, configuration: Path) -> list[str]:
        return [app.program("haproxy"), "-db", "-f", str(configuration)]

    def counted(self, folder: Path, address: str, port: int) -> int:
        """In the entry that all clients have in common."""
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(READY_SECONDS)
            one.connect(str(folder / "admin"))
            one.sendall(b"show table web\n")
            text = b"".join(iter(lambda: one.recv(65536), b""))
        return sum(map(int, re.findall(r"\bhttp_req_cnt=(\d+)", text.decode())))


class Nginx(Web):
    name = "nginx"
    what = "nginx with N processes under h2load, which limits the rate of requests"
    packages = (*Web.packages, "nginx")
    programs = (*Web.programs, "nginx")
    reach = "none: its processes share a lock of their own (ngx_shmtx)"
    configuration = NGINX

    def server(self, configuration: Path) -> list[str]:
        return [app.program("nginx"), "-c", str(configuration)]

    def counted(self, folder: Path, address: str, port: int) -> int:
        found = re.search(r"^ \d+ \d+ (\d+) $", _body(address, port, "/status"), re.MULTILINE)
        return int(found[1]) if found else 0


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
    return f"{done} requests were done, but {counted} are counted"


def _body(address: str, port: int, page: str = "/") -> str:
    """What a client of its own gets."""
    try:
        with socket.create_connection((address, port), READY_SECONDS) as one:
            one.sendall(f"GET {page} HTTP/1.0\r\n\r\n".encode())
            text = b"".join(iter(lambda: one.recv(65536), b""))
    except OSError:
        return ""
    return text.partition(b"\r\n\r\n")[2].decode(errors="replace")
