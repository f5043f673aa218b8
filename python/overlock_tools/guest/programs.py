# SPDX-License-Identifier: MIT
"""Programs that a load needs beside what every guest has: an archive of each, made when needed.

The kernel unpacks several archives one after the other from one file, each compressed by itself.
"""

import copy
import hashlib
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from overlock_tools.bench import kernbench
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import FAILED, MISSING, Fail, last_line
from overlock_tools.guest import initramfs, paths
from overlock_tools.guest.initramfs import DATA, PROGRAM, Contents
from overlock_tools.guest.packages import Packages, Tell
from overlock_tools.guest.paths import Home

RANDOM_BYTES = 1 << 20
LIBRARIES = "usr/lib/overlock"  # of fetched packages; the guest's loader is told

POSTGRES = "15"  # Debian 12's
BANK_SCALE = 3
# What the server is linked with that a small system lacks.
POSTGRES_LIBRARIES = (
    "libicu72",
    "libldap-2.5-0",
    "libpq5",
    "libsasl2-2",
    "libxml2",
    "libreadline8",
)
INITDB = ("--no-sync", "-A", "trust", "--wal-segsize=1")  # a small log: the guest unpacks it
# All that it has to know of a guest: nobody else is there, and nothing is kept.
POSTGRES_SETTINGS = """
listen_addresses = ''
unix_socket_directories = '/tmp'
fsync = off
synchronous_commit = off
shared_buffers = 64MB
max_connections = 80
max_wal_size = 64MB
autovacuum = off
jit = off
timezone = 'GMT'
log_timezone = 'GMT'
dynamic_shared_memory_type = mmap
"""


def linked(program: Path, roots: Sequence[Path] = ()) -> Contents:
    """The libraries that a program needs, fetched ones among them."""
    found: Contents = {}
    for path in initramfs.libraries(program, roots):
        ours = any(path.is_relative_to(root) for root in roots)
        name = f"{LIBRARIES}/{path.name}" if ours else str(path).lstrip("/")
        found[name] = (PROGRAM, path.read_bytes())
    return found


def compiled(source: Path, name: str, *options: str) -> Contents:
    """A program of our own, with what it is linked with."""
    compiler = "g++" if source.suffix == ".cpp" else "gcc"
    with tempfile.TemporaryDirectory(prefix="overlock-program-") as folder:
        program = Path(folder) / name
        command = [compiler, "-O2", "-Wall", "-Werror", "-pthread", "-o", str(program), str(source)]
        try:
            done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            why = f"there is no {compiler}; install it, or run `make guest`"
            raise Fail(why, MISSING) from error
        if done.returncode:
            raise Fail(f"{name} does not build: {last_line(done.stderr)}", FAILED)
        return {f"usr/bin/{name}": (PROGRAM, program.read_bytes()), **linked(program)}


def _ebizzy(_: Packages) -> Contents:
    return compiled(paths.sources() / "loads/programs/ebizzy.c", "ebizzy")


def _kernbench(packages: Packages) -> Contents:
    program = packages.file("tcc", "usr/bin/tcc")
    found = {"usr/bin/tcc": (PROGRAM, program.read_bytes()), **linked(program)}
    for name, text in kernbench.sources().items():
        found[f"usr/src/kernbench/{name}"] = (DATA, text.encode())
    found[f"usr/src/kernbench/{kernbench.EXPECTED}"] = (DATA, kernbench.expected().encode())
    return found


def _pbzip2(packages: Packages) -> Contents:
    """With bytes that do not get smaller, as Rao & Dunlap's."""
    program = packages.file("pbzip2", "usr/bin/pbzip2")
    data = random.Random(1).randbytes(RANDOM_BYTES)  # noqa: S311 - no secret
    found = {"usr/bin/pbzip2": (PROGRAM, program.read_bytes()), **linked(program)}
    return found | {"usr/share/overlock/random": (DATA, data)}


def _tree(folder: Path, at: str) -> Contents:
    found: Contents = {f"{at}/": (PROGRAM, b"")}
    for path in sorted(folder.rglob("*")):
        name = f"{at}/{path.relative_to(folder)}"
        found[f"{name}/" if path.is_dir() else name] = (
            (PROGRAM, b"") if path.is_dir() else (DATA, path.read_bytes())
        )
    return found


def _as_nobody(command: Sequence[str]) -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid():
        return list(command)
    ids = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
    return ["setpriv", *ids, "--", *command]


class Postgres:
    """The server's files, installed or fetched, and a database made with them."""

    def __init__(self, packages: Packages) -> None:
        server = packages.file(f"postgresql-{POSTGRES}", f"{self.bin_name}/postgres")
        client = packages.file(f"postgresql-client-{POSTGRES}", f"{self.bin_name}/psql")
        self.bin, self.client_bin = server.parent, client.parent
        self.folder = packages.folder
        self.roots: list[Path] = []
        self.share = self._share(server)
        if not self.bin.is_relative_to("/usr/lib"):
            self.roots = [packages.fetched(name) for name in POSTGRES_LIBRARIES]

    bin_name = f"usr/lib/postgresql/{POSTGRES}/bin"
    share_name = f"usr/share/postgresql/{POSTGRES}"

    def _share(self, server: Path) -> Path:
        return Path(*server.parts[: -len(Path(self.bin_name).parts) - 1]) / self.share_name

    def _run(self, name: str, *words: str) -> None:
        folder = self.client_bin if (self.client_bin / name).exists() else self.bin
        libraries = [root / "usr/lib/x86_64-linux-gnu" for root in self.roots]
        environment = {
            **os.environ,
            "LC_ALL": "C",
            "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
        }
        command = _as_nobody([str(folder / name), *words])
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise Fail(f"{name} failed: {last_line(done.stderr)}", FAILED)

    def for_nobody(self, top: Path) -> "Postgres":
        """With a copy of what was fetched: to root's cache nobody may go."""
        if os.geteuid() or not self.roots:
            return self
        there = shutil.copytree(self.folder, top / "packages", symlinks=True)

        def moved(path: Path) -> Path:
            inside = path.is_relative_to(self.folder)
            return there / path.relative_to(self.folder) if inside else path

        other = copy.copy(self)
        other.bin, other.client_bin = moved(self.bin), moved(self.client_bin)
        other.roots = [moved(root) for root in self.roots]
        return other

    def programs(self) -> Contents:
        """In the guest the server has to be where it finds its other files."""
        found: Contents = {f"{Path(self.bin_name).parent}/lib/": (PROGRAM, b"")}
        for name in ("postgres", "pgbench"):
            found[f"{self.bin_name}/{name}"] = (PROGRAM, (self.bin / name).read_bytes())
            found |= linked(self.bin / name, self.roots)
        for name in ("psql", "pg_isready"):
            found[f"{self.bin_name}/{name}"] = (PROGRAM, (self.client_bin / name).read_bytes())
            found |= linked(self.client_bin / name, self.roots)
        zones = self.share / "timezonesets"
        return found | _tree(zones, f"{self.share_name}/timezonesets")

    @contextmanager
    def _served(self, data: Path) -> Iterator[None]:
        log = str(data.parent / "log")
        options = f"-c unix_socket_directories={data.parent} -c listen_addresses="
        self._run("pg_ctl", "-s", "-w", "-D", str(data), "-l", log, "-o", options, "start")
        try:
            yield
        finally:
            self._run("pg_ctl", "-s", "-w", "-m", "fast", "-D", str(data), "stop")

    def bank(self) -> Contents:
        """pgbench's accounts."""
        with tempfile.TemporaryDirectory(prefix="overlock-bank-") as name:
            top, data = Path(name), Path(name) / "data"
            if not os.geteuid():
                os.chown(top, 65534, 65534)
            server = self.for_nobody(top)
            server._run("initdb", "-D", str(data), "-U", "postgres", *INITDB)
            with server._served(data):
                words = ["-i", "-q", "-s", str(BANK_SCALE), "-h", name, "-U", "postgres"]
                server._run("pgbench", *words, "postgres")
            with (data / "postgresql.conf").open("a") as settings:
                settings.write(POSTGRES_SETTINGS)
            return _tree(data, "var/lib/postgresql/data")


def _pgbench(packages: Packages) -> Contents:
    postgres = Postgres(packages)
    return postgres.programs() | postgres.bank()


# One list: what a load may name as its part, how it is made, Debian's packages for it.
PARTS: Mapping[str, tuple[Callable[[Packages], Contents], tuple[str, ...]]] = {
    "ebizzy": (_ebizzy, ()),
    "kernbench": (_kernbench, ("tcc",)),
    "pbzip2": (_pbzip2, ("pbzip2",)),
    "pgbench": (_pgbench, (f"postgresql-{POSTGRES}", f"postgresql-client-{POSTGRES}")),
}


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _digest() -> str:
    """Of what makes parts: they are made again when it changes."""
    sources = [Path(__file__), Path(kernbench.__file__)]
    sources += sorted((paths.sources() / "loads/programs").iterdir())
    return paths.digest_of(sources)[:12]


def _without(folder: Path, pattern: str, keep: Path) -> None:
    for path in folder.glob(pattern):
        if path != keep:
            path.unlink(missing_ok=True)


def made(name: str, home: Home, tell: Tell) -> Path:
    """The part's archive, made if there is none of these sources."""
    file = home.parts / f"{name}-{_digest()}.gz"
    if file.exists():
        return file
    paths.make(home.parts)
    tell(f"making what the guest needs for {name}")
    make, _ = PARTS[name]
    contents = make(Packages(home.parts / "packages", tell))
    files.write(file, initramfs.compressed(initramfs.archive(contents)))
    _without(home.parts, f"{name}-*.gz", file)
    return file


def with_archive(base: Path, archive: Path) -> Path:
    """Both as one file, beside the archive."""
    file = archive.with_name(f"{_short(str(base).encode())}-{base.name}")
    if not file.exists():
        file.write_bytes(base.read_bytes() + archive.read_bytes())
    return file


def with_parts(names: Sequence[str], home: Home, pause: str, tell: Tell) -> Path:
    """The initramfs of a kernel with parts in it."""
    base = home.initramfs(pause)
    if not names:
        return base
    archives = [made(name, home, tell) for name in sorted(set(names))]
    known = str(home.needed()["loads"])[:12]
    which = "+".join(path.stem for path in archives)
    file = home.image / f"with-{which}-{known}-pause-{pause}.gz"
    if not file.exists():
        fresh = file.with_suffix(".new")
        with fresh.open("wb") as out:
            for path in (base, *archives):
                with path.open("rb") as archive:
                    shutil.copyfileobj(archive, out)
        fresh.rename(file)
    return file
