# SPDX-License-Identifier: MIT
"""PostgreSQL under pgbench, as for Rao & Dunlap. Its processes share their locks: they stay."""

import re
import signal
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app, servers
from overlock_tools.apps.servers import whole
from overlock_tools.apps.trial import READY_SECONDS, Trial
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.system import machine
from overlock_tools.core.system.errors import FAILED, Fail

USER, DATABASE = "overlock", "postgres"
CONNECTIONS_BESIDE = 10


class Pgbench(app.App):
    name = "pgbench"
    what = "PostgreSQL under pgbench's TPC-B with N clients"
    unit = "transactions"
    papers = "rao2012"
    packages = (
        "postgresql-15|postgresql-17|postgresql-18",
        "postgresql-client-15|postgresql-client-17|postgresql-client-18",
    )
    programs = ("postgres", "initdb", "pgbench", "psql")
    note = "Debian's package creates and starts an unused cluster"
    reach = "none that matters: its processes share s_locks and LWLocks, which are not mutexes"
    control = True
    service = True
    overhead_seconds = 3.0
    presets: ClassVar[dict[str, str]] = {"scale": "4"}
    script: ClassVar[tuple[str, ...]] = ()  # of pgbench; TPC-B if none is named

    def set_up(self) -> None:
        folder, user = self.workspace.folder, self.workspace.user
        self.data = folder / "data"
        install = [app.program("initdb"), "-D", str(self.data), "-U", USER, "--auth=trust"]
        app.natively(
            [*install, "--no-sync", "--no-locale", "-E", "UTF8"], self.workspace, user=user
        )
        with app.beside(self._server(folder, self.data), self.workspace) as server:
            servers.reached(server, lambda: self._answers(folder))
            app.natively(
                [*self._pgbench(folder), "-i", "-q", "-s", str(self.number("scale"))],
                self.workspace,
            )
            self._prepare(folder)
            server.stop(signal.SIGINT)
            if not server.ended(READY_SECONDS):
                raise Fail("postgres did not stop after setup", FAILED)

    def _prepare(self, folder: Path) -> None:
        """In the new database, what pgbench does not do."""

    def _server(self, folder: Path, data: Path) -> list[str]:
        return [
            *(app.program("postgres"), "-D", str(data), "-k", str(folder)),
            *("-c", "listen_addresses=", "-c", "shared_buffers=128MB"),
            *("-c", f"max_connections={max(self.workspace.threads) + CONNECTIONS_BESIDE}"),
        ]

    def _pgbench(self, folder: Path) -> list[str]:
        return [app.program("pgbench"), "-h", str(folder), "-U", USER, DATABASE]

    def _sql(self, folder: Path, text: str) -> str:
        command = [app.program("psql"), "-h", str(folder), "-U", USER, "-X", "-A", "-t", "-c"]
        return app.natively([*command, text, DATABASE], self.workspace).decode().strip()

    def _answers(self, folder: Path) -> bool:
        if not (folder / ".s.PGSQL.5432").exists():
            return False
        try:
            return self._sql(folder, "SELECT 1") == "1"
        except Fail:
            return False

    def cell(self, trial: Trial) -> Answer:
        data = servers.copied(self.data, trial)
        server = trial.start(self._server(trial.folder, data))
        servers.reached(server, lambda: self._answers(trial.folder))
        before = 0
        if trial.warm_up:
            said = trial.run(self._client(trial, trial.warm_up), trial.warm_up + trial.patience)
            before = _processed(said)
        trial.begin()
        answer = servers.loaded(trial, self._client(trial, trial.seconds), _answer)
        trial.end(answer)
        if not answer.cut:
            answer.wrong = self._wrong(trial.folder, before + int(answer.work))
        trial.stop(server, signal.SIGINT)
        return answer

    def _client(self, trial: Trial, seconds: float) -> list[str]:
        jobs = min(trial.threads, machine.cpus())
        return [
            *self._pgbench(trial.folder),
            *("-n", "-c", str(trial.threads), "-j", str(jobs), "-T", str(whole(seconds))),
            *self.script,
        ]

    def _wrong(self, folder: Path, transactions: int) -> str:
        """TPC-B's: what was moved is the same in all four tables, and each move was noted."""
        sums = self._sql(
            folder,
            "SELECT (SELECT SUM(abalance) FROM pgbench_accounts), "
            "(SELECT SUM(tbalance) FROM pgbench_tellers), "
            "(SELECT SUM(bbalance) FROM pgbench_branches), "
            "(SELECT SUM(delta) FROM pgbench_history), (SELECT COUNT(*) FROM pgbench_history)",
        ).split("|")
        if len(set(sums[:4])) != 1:
            return f"the sums of accounts, tellers, branches and history are {', '.join(sums[:4])}"
        if sums[4] != str(transactions):
            return f"{transactions} transactions were done, but {sums[4]} are recorded"
        return ""


class PgbenchSelect(Pgbench):
    """Each SELECT is counted by one entry of pg_stat_statements, which a spinlock protects."""

    name = "pgbench-select"
    what = "PostgreSQL under pgbench's SELECTs with N clients, counted under one spinlock"
    papers = ""
    reach = "none: the spinlock (s_lock) is shared by processes and inlined"
    script = ("-S",)

    def _prepare(self, folder: Path) -> None:
        self._sql(folder, "CREATE EXTENSION pg_stat_statements")

    def _server(self, folder: Path, data: Path) -> list[str]:
        return [
            *super()._server(folder, data),
            *("-c", "shared_preload_libraries=pg_stat_statements"),
            *("-c", "pg_stat_statements.save=off"),
        ]

    def _wrong(self, folder: Path, transactions: int) -> str:
        """An entry without mutual exclusion loses counts."""
        counted = self._sql(
            folder,
            "SELECT SUM(calls) FROM pg_stat_statements WHERE query LIKE 'SELECT abalance%'",
        )
        if counted != str(transactions):
            return f"{transactions} SELECTs were done, but {counted or 0} are counted"
        return ""


def _answer(said: str) -> Answer | None:
    rate = re.search(r"^tps = ([\d.]+)", said, re.MULTILINE)
    done = _processed(said)
    return Answer(done, done / float(rate[1])) if rate and done else None


def _processed(said: str) -> int:
    found = re.search(r"number of transactions actually processed: (\d+)", said)
    return int(found[1]) if found else 0
