# SPDX-License-Identifier: MIT
"""MariaDB under sysbench: its OLTP mix, and the database tier of Ouyang & Lange's DVD store."""

import re
import signal
import time
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app, servers
from overlock_tools.apps.processes import Process
from overlock_tools.apps.servers import whole
from overlock_tools.apps.trial import READY_SECONDS, Broken, Trial
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.system.errors import FAILED, Fail

DATABASE = "overlock"
BUFFER_POOL = "128M"  # MariaDB's own default; all data fit
CONNECTIONS_BESIDE = 10


class MariaDb(app.App):
    packages: ClassVar[tuple[str, ...]] = ("mariadb-client-core", "mariadb-server-core", "sysbench")
    programs: ClassVar[tuple[str, ...]] = (
        *("mariadbd", "mariadb-install-db", "mariadb", "sysbench"),
    )
    reach = "pthread mutexes of the server; InnoDB's own latches are futexes and are not replaced"
    service = True
    overhead_seconds = 4.0

    def set_up(self) -> None:
        folder = self.workspace.folder
        self.data = folder / "data"
        install = [
            *(app.program("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}"),
            *("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"),
        ]
        app.natively(install, self.workspace, user=self.workspace.user)
        with app.beside(self.server(folder, self.data), self.workspace) as server:
            servers.reached(server, lambda: servers.greets(folder / "socket"))
            self.sql(folder, f"CREATE DATABASE {DATABASE}", "")
            app.natively(self.client(folder, "prepare"), self.workspace)
            server.stop(signal.SIGTERM)
            if not server.ended(READY_SECONDS):
                raise Fail("mariadbd did not stop after setup", FAILED)

    def server(self, folder: Path, data: Path) -> list[str]:
        return [
            *(app.program("mariadbd"), "--no-defaults", f"--datadir={data}"),
            *(f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}"),
            *("--skip-networking", f"--innodb-buffer-pool-size={BUFFER_POOL}"),
            f"--max-connections={max(self.workspace.threads) + CONNECTIONS_BESIDE}",
            f"--tmpdir={folder}",
        ]

    def sql(self, folder: Path, text: str, database: str = DATABASE) -> list[list[str]]:
        """Rows of what it selects."""
        command = [app.program("mariadb"), "--no-defaults", f"--socket={folder / 'socket'}"]
        command += ["-u", "root", "-N", "-B", "-e", text, *([database] if database else [])]
        return [
            line.split("\t") for line in app.natively(command, self.workspace).decode().splitlines()
        ]

    def client(self, folder: Path, step: str, threads: int = 1, seconds: int = 1) -> list[str]:
        return [
            *(app.program("sysbench"), "--db-driver=mysql", f"--mysql-socket={folder / 'socket'}"),
            *("--mysql-user=root", f"--mysql-db={DATABASE}", f"--threads={threads}"),
            *(f"--time={seconds}", *self.script(), step),
        ]

    @abstractmethod
    def script(self) -> Sequence[str]:
        """sysbench's test, with its options."""

    @abstractmethod
    def wrong(self, folder: Path, said: str) -> str: ...

    def before(self, trial: Trial) -> Process | None:
        """Whatever stands between clients and server: started."""
        return None

    def load(self, folder: Path, threads: int, seconds: int) -> list[str]:
        """So many clients for so long."""
        return self.client(folder, "run", threads, seconds)

    def answered(self, said: str) -> Answer | None:
        """What clients tell of their load; None: nothing."""
        done = re.search(r"^ +transactions: +(\d+) ", said, re.MULTILINE)
        took = re.search(r"^ +total time: +([\d.]+)s", said, re.MULTILINE)
        return Answer(int(done[1]), float(took[1])) if done and took else None

    def after(self, trial: Trial, front: Process) -> str:
        """It has ended, with whatever it was still doing; what it tells."""
        raise NotImplementedError

    def cell(self, trial: Trial) -> Answer:
        data = servers.copied(self.data, trial)
        server = trial.start(self.server(trial.folder, data))
        servers.reached(server, lambda: servers.greets(trial.folder / "socket"))
        front = self.before(trial)
        warm = ""
        if trial.warm_up:
            seconds = whole(trial.warm_up)
            clients = self.load(trial.folder, trial.threads, seconds)
            warm = trial.run(clients, seconds + trial.patience)
        trial.begin()
        answer, said = self._loaded(trial)
        trial.end(answer)
        said = warm + said + (self.after(trial, front) if front else "")
        if not answer.cut:
            answer.wrong = answer.wrong or self.wrong(trial.folder, said)
        trial.stop(server, signal.SIGTERM)
        return answer

    def _loaded(self, trial: Trial) -> tuple[Answer, str]:
        seconds = whole(trial.seconds)
        out = trial.folder / "clients.out"
        command = self.load(trial.folder, trial.threads, seconds)
        client = trial.start(command, out, locked=False)
        began = time.monotonic()
        if not client.ended(seconds + trial.patience):
            return Answer(1, time.monotonic() - began, cut=True), ""
        said = out.read_text(errors="replace")
        answer = self.answered(said)
        if client.code or not answer:
            raise Broken(f"{trial.failure(client)} {said.strip().splitlines()[-1:]}")
        return answer, said


class SysbenchOltp(MariaDb):
    name = "sysbench-oltp"
    what = "MariaDB under sysbench's oltp_read_write with N clients"
    unit = "transactions"
    presets: ClassVar[dict[str, str]] = {"tables": "4", "rows": "10000"}

    def script(self) -> Sequence[str]:
        tables, rows = self.number("tables"), self.number("rows")
        return ["oltp_read_write", f"--tables={tables}", f"--table-size={rows}"]

    def wrong(self, folder: Path, said: str) -> str:
        """Each transaction deletes a row and inserts it again: there are as many as there were."""
        for number in range(1, self.number("tables") + 1):
            name = f"sbtest{number}"
            (rows,) = self.sql(folder, f"SELECT COUNT(*) FROM {name}")  # noqa: S608 - our own name
            if rows[0] != str(self.number("rows")):
                return f"{name} has {rows[0]} rows, not {self.number('rows')}"
            checked = self.sql(folder, f"CHECK TABLE {name}")
            if checked[-1][-1] != "OK":
                return f"{name}: {checked[-1][-1]}"
        return ""


class DvdStore(MariaDb):
    name = "dvdstore"
    what = "MariaDB as a DVD store's database: logins, searches and purchases of N clients"
    unit = "operations"
    papers = "ouyang2013"
    presets: ClassVar[dict[str, str]] = {"customers": "20000", "products": "10000"}

    def sources(self) -> list[Path]:
        return [app.SOURCES / "dvdstore.lua"]

    def script(self) -> Sequence[str]:
        sizes = (f"--{name}={self.number(name)}" for name in self.presets)
        return [str(self.sources()[0]), *sizes]

    def wrong(self, folder: Path, said: str) -> str:
        """What was sold is what was ordered, line by line and customer by customer."""
        (sums,) = self.sql(
            folder,
            "SELECT (SELECT SUM(sold) FROM inventory), "
            "(SELECT COALESCE(SUM(quantity), 0) FROM orderlines), "
            "(SELECT COUNT(*) FROM orders), (SELECT SUM(orders) FROM customers), "
            "(SELECT COALESCE(SUM(total), 0) FROM orders), "
            "(SELECT COALESCE(SUM(price * quantity), 0) FROM orderlines)",
        )
        sold, ordered, orders, of_customers, asked, due = sums
        for one, other, words in (
            (sold, ordered, "pieces sold and ordered"),
            (orders, of_customers, "orders and customers' orders"),
            (asked, due, "sums of orders and of their lines"),
        ):
            if one != other:
                return f"{words}: {one} and {other}"
        placed = sum(map(int, re.findall(r"purchases: (\d+)", said)))
        if orders != str(placed):
            return f"{placed} purchases were committed, but there are {orders} orders"
        return ""
