# SPDX-License-Identifier: MIT
"""Ouyang & Lange's DVD store with its web tier: Apache and PHP between the clients and MariaDB."""

import re
import signal
import socket
from functools import partial
from pathlib import Path

from overlock_tools.apps import app, servers
from overlock_tools.apps.mariadb import DATABASE, DvdStore
from overlock_tools.apps.processes import Process
from overlock_tools.apps.trial import READY_SECONDS, Broken, Trial
from overlock_tools.core.model.combine import Answer

ADDRESS = "127.0.0.1"
MODULES = Path("/usr/lib/apache2/modules")
PHP_MODULE = max(MODULES.glob("libphp8*.so"), default=MODULES / "libphp8.2.so")
# Of another program, between our look for a free port and Apache's use of it.
TRIES = 3
# Pages in a second, at most: ab keeps 32 bytes for each that it is allowed.
MOST_A_SECOND = 100_000
REFUSED = ("Failed requests", "Write errors", "Non-2xx responses")

# A process for each client, which stays with it and keeps its connection to the database.
APACHE = """\
ServerRoot "{folder}"
ServerName {address}
Listen {address}:{port}
PidFile "{folder}/apache.pid"
DefaultRuntimeDir "{folder}"
ErrorLog "{folder}/apache.log"
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule php_module {php}
PHPIniDir "{folder}"
StartServers {threads}
MinSpareServers 1
MaxSpareServers {threads}
ServerLimit {threads}
MaxRequestWorkers {threads}
KeepAlive On
KeepAliveTimeout 60
MaxKeepAliveRequests 0
DocumentRoot "{folder}/pages"
LogFormat "%>s %{{sold}}n" sales
CustomLog "{folder}/sales.log" sales
<Files "*.php">
    SetHandler application/x-httpd-php
</Files>
"""

PHP = """\
extension=mysqlnd.so
extension=mysqli.so
zend_extension=opcache.so
mysqli.default_socket="{folder}/socket"
display_errors=0
log_errors=1
error_log="{folder}/php.log"
store.database={database}
store.customers={customers}
store.products={products}
"""


class DvdStoreWeb(DvdStore):
    name = "dvdstore-web"
    what = "the same store behind Apache and PHP, with N clients of the web server"
    unit = "pages"
    packages = (
        *DvdStore.packages,
        *("apache2-bin", "apache2-utils"),
        *("libapache2-mod-php8.2|libapache2-mod-php8.4", "php8.2-mysql|php8.4-mysql"),
    )
    programs = (*DvdStore.programs, "apache2", "ab", str(PHP_MODULE))
    overhead_seconds = 5.0

    def sources(self) -> list[Path]:
        return [*super().sources(), app.SOURCES / "dvdstore.php"]

    def before(self, trial: Trial) -> Process:
        self._written(trial)
        for left in reversed(range(TRIES)):
            port = self._configured(trial)
            command = [app.program("apache2"), "-D", "FOREGROUND", "-f", str(_conf(trial.folder))]
            variables = {"PHP_INI_SCAN_DIR": str(trial.folder / "nowhere")}
            server = trial.start(command, locked=False, variables=variables)
            try:
                servers.reached(server, partial(_answers, port))
            except Broken as broken:
                if not left or "could not bind" not in str(broken):
                    raise
            else:
                break
        return server

    def _written(self, trial: Trial) -> None:
        pages = trial.folder / "pages"
        pages.mkdir()
        (pages / "store.php").write_text(self.sources()[-1].read_text())
        sizes = {name: self.number(name) for name in self.presets}
        text = PHP.format(folder=trial.folder, database=DATABASE, **sizes)
        (trial.folder / "php.ini").write_text(text)

    def _configured(self, trial: Trial) -> int:
        with socket.socket() as one:
            one.bind((ADDRESS, 0))
            port = int(one.getsockname()[1])
        values = {"folder": trial.folder, "address": ADDRESS, "port": port}
        values |= {"modules": MODULES, "php": self.programs[-1], "threads": trial.threads}
        _conf(trial.folder).write_text(APACHE.format(**values))
        return port

    def load(self, folder: Path, threads: int, seconds: int) -> list[str]:
        port = re.search(r"^Listen (\S+)", _conf(folder).read_text(), re.MULTILINE)
        assert port is not None
        return [
            *(app.program("ab"), "-q", "-k", "-l", "-c", str(threads), "-t", str(seconds)),
            *("-n", str(seconds * MOST_A_SECOND), f"http://{port[1]}/store.php"),
        ]

    def answered(self, said: str) -> Answer | None:
        took = re.search(r"^Time taken for tests: +([\d.]+) ", said, re.MULTILINE)
        counts = dict(re.findall(r"^(\w[\w -]+): +(\d+)", said, re.MULTILINE))
        if not took or not (done := int(counts.get("Complete requests", 0))):
            return None
        bad = [f"{name} {counts[name]}" for name in REFUSED if int(counts.get(name, 0))]
        return Answer(done, float(took[1]), wrong=", ".join(bad))

    def after(self, trial: Trial, front: Process) -> str:
        """Apache finishes its pages, whose clients may have gone, before it ends."""
        trial.stop(front, signal.SIGWINCH)
        lines = (trial.folder / "sales.log").read_text().splitlines()
        return f"purchases: {lines.count('200 sold')}\n"


def _conf(folder: Path) -> Path:
    return folder / "apache.conf"


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((ADDRESS, port), READY_SECONDS) as one:
            one.sendall(b"GET /store.php HTTP/1.0\r\n\r\n")
            return one.recv(16).startswith(b"HTTP/1.1 200")
    except OSError:
        return False
