# SPDX-License-Identifier: MIT
"""DNS servers under dnsperf. Of the names that it asks for, every other one exists."""

import re
import signal
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app, servers
from overlock_tools.apps.servers import whole
from overlock_tools.apps.trial import Trial
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.system import machine
from overlock_tools.core.system.errors import Fail

ZONE = "overlock.example"
TTL_SECONDS = 3600  # longer than a cell: what is in a cache stays there
SOCKETS = 64  # of dnsperf, so that each thread of a server gets some of them
OUTSTANDING = 128  # queries
CHECKED = 50  # names, of each kind
UNBOUND = """\
server:
    directory: "{folder}"
    chroot: ""
    username: ""
    pidfile: ""
    use-syslog: no
    do-daemonize: no
    interface: {address}@{port}
    access-control: 127.0.0.0/8 allow
    num-threads: {threads}
    module-config: "iterator"
remote-control:
    control-enable: no
auth-zone:
    name: "{zone}"
    zonefile: "{file}"
    for-downstream: no
    for-upstream: yes
    fallback-enabled: no
"""
KNOT = """\
server:
    rundir: "{folder}"
    listen: {address}@{port}
    udp-workers: {threads}
    tcp-workers: 1
    background-workers: 1
log:
  - target: stderr
    any: warning
database:
    storage: "{folder}"
mod-rrl:
  - id: default
    rate-limit: 1000000
template:
  - id: default
    global-module: mod-rrl/default
zone:
  - domain: {zone}
    file: "{file}"
    journal-content: none
    zonefile-sync: -1
"""


def value(number: int) -> str:
    """The address of a name."""
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def zone(names: int) -> str:
    head = f"@ SOA ns hostmaster 1 3600 600 86400 {TTL_SECONDS}\n@ NS ns\nns A 127.0.0.1\n"
    lines = (f"n{number} A {value(number)}\n" for number in range(names))
    return f"$ORIGIN {ZONE}.\n$TTL {TTL_SECONDS}\n{head}{''.join(lines)}"


def queries(names: int) -> str:
    """For dnsperf: a name that exists, and one that does not."""
    return "".join(f"n{number}.{ZONE} A\nno{number}.{ZONE} A\n" for number in range(names))


class Dns(app.App):
    unit = "answers"
    packages: ClassVar[tuple[str, ...]] = ("bind9-dnsutils", "dnsperf")
    programs: ClassVar[tuple[str, ...]] = ("dig", "dnsperf")
    service = True
    overhead_seconds = 1.5
    presets: ClassVar[dict[str, str]] = {"names": "1000"}
    configuration: ClassVar[str]

    def set_up(self) -> None:
        self.zone = self.workspace.folder / "zone"
        self.zone.write_text(zone(self.number("names")))
        self.queries = self.workspace.folder / "queries"
        self.queries.write_text(queries(self.number("names")))

    def configured(self) -> str:
        return self.configuration

    @abstractmethod
    def server(self, configuration: Path) -> list[str]: ...

    def cell(self, trial: Trial) -> Answer:
        address, port = servers.address(), servers.port()
        places = {"folder": trial.folder, "zone": ZONE, "file": self.zone, "threads": trial.threads}
        file = trial.folder / "conf"
        file.write_text(self.configured().format(address=address, port=port, **places))
        ask = [app.program("dig"), f"@{address}", "-p", str(port), "+tries=1", "+time=2"]
        server = trial.start(self.server(file))
        servers.reached(server, lambda: self._wrong(ask, 1) == "")
        load = [app.program("dnsperf"), "-s", address, "-p", str(port)]
        if trial.warm_up:
            trial.run(self._client(load, trial.warm_up), trial.patience + trial.warm_up)
        trial.begin()
        answer = servers.loaded(trial, self._client(load, trial.seconds), answered)
        trial.end(answer)
        if not answer.cut:
            answer.wrong = answer.wrong or self._wrong(ask, CHECKED)
        trial.stop(server, signal.SIGTERM)
        return answer

    def _client(self, load: list[str], seconds: float) -> list[str]:
        return [
            *(*load, "-d", str(self.queries), "-l", str(whole(seconds)), "-q", str(OUTSTANDING)),
            *("-c", str(SOCKETS), "-T", str(machine.cpus())),
        ]

    def _wrong(self, ask: list[str], count: int) -> str:
        """What it answers for the first names, and for names that do not exist."""
        numbers = range(min(count, self.number("names")))
        names, none = ([f"{kind}{n}.{ZONE}" for n in numbers] for kind in ("n", "no"))
        try:
            said = app.natively([*ask, "+short", *names, *none], self.workspace).decode().split()
        except Fail as error:
            return error.message
        right = [value(n) for n in numbers]
        for name, found, expected in zip(names, said, right, strict=False):
            if found != expected:
                return f"{name} is {found}, not {expected}"
        if len(said) != len(right):
            return f"{len(said)} addresses were found of {len(right)} names"
        return ""


def answered(said: str) -> Answer | None:
    """Of dnsperf. A query may get lost; but what is answered is right by halves."""
    completed = re.search(r"^ +Queries completed: +(\d+) ", said, re.MULTILINE)
    took = re.search(r"^ +Run time \(s\): +([\d.]+)", said, re.MULTILINE)
    lost = re.search(r"^ +Queries lost: +(\d+) ", said, re.MULTILINE)
    if not completed or not took or not lost or not int(completed[1]):
        return None
    codes = {name: int(n) for name, n in re.findall(r"([A-Z]+) (\d+) \([\d.]+%\)", said)}
    exist, other = codes.pop("NOERROR", 0), codes.pop("NXDOMAIN", 0)
    wrong = ", ".join(f"{count} answers {name}" for name, count in codes.items())
    if abs(exist - other) > 1 + int(lost[1]):
        wrong = wrong or f"{exist} names exist and {other} do not, of as many of both"
    return Answer(int(completed[1]), float(took[1]), wrong=wrong)


class Unbound(Dns):
    name = "unbound"
    what = "Unbound with N threads under dnsperf, answering from its cache"
    packages = (*Dns.packages, "unbound")
    programs = (*Dns.programs, "unbound")
    note = "Debian's package starts an unused server; stop it with systemctl disable --now"
    reach = "its caches' spinlocks (pthread_spin_t) and its mutexes"
    configuration = UNBOUND

    def server(self, configuration: Path) -> list[str]:
        return [app.program("unbound"), "-d", "-c", str(configuration)]


def has_instant_limit(version: str) -> bool:
    """Since 3.4, with which rate-limit may be a thousand times that. Before, it is no option."""
    found = re.search(r"(\d+)\.(\d+)\.\d+", version)
    return found is not None and (int(found[1]), int(found[2])) >= (3, 4)


class Knot(Dns):
    name = "knot"
    what = "Knot DNS with N UDP workers that limit rates, under dnsperf"
    packages = (*Dns.packages, "knot")
    programs = (*Dns.programs, "knotd")
    note = "Debian's package starts an unused server; stop it with systemctl disable --now"
    reach = "all: the mutexes of its rate limiting; it reads zones without locks (RCU)"
    configuration = KNOT

    def configured(self) -> str:
        said = app.natively([app.program("knotd"), "--version"], self.workspace).decode()
        limit = "rate-limit: 1000000"
        more = f"{limit}\n    instant-limit: 1000000"
        return KNOT.replace(limit, more) if has_instant_limit(said) else KNOT

    def server(self, configuration: Path) -> list[str]:
        return [app.program("knotd"), "-c", str(configuration)]
