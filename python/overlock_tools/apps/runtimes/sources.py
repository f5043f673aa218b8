# SPDX-License-Identifier: MIT
"""Where a runtime comes from, at which version, and how it is installed: nothing outside its folder
of the cache but Debian's packages."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from overlock_tools.apps import installing
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import FAILED, Fail, last_line


def folder(kind: str, *names: str) -> Path:
    """One for each set of packages."""
    key = hashlib.sha256(" ".join(names).encode()).hexdigest()[:16]
    return files.cache_folder("apps") / f"runtimes-{kind}-{key}"


class Source(ABC):
    @property
    @abstractmethod
    def words(self) -> str:
        """Where it is from, and its pinned version."""

    @abstractmethod
    def missing(self) -> list[str]: ...

    @abstractmethod
    def steps(self) -> list[list[str]]:
        """The commands that install it."""

    @abstractmethod
    def version(self) -> str:
        """The package's: for what does not tell its own."""


@dataclass(frozen=True)
class Debian(Source):
    """Of the release that is installed here. The first package is the runtime's."""

    packages: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"Debian: {' '.join(self.packages)}"

    def missing(self) -> list[str]:
        return [name for name in self.packages if not _dpkg(name)]

    def steps(self) -> list[list[str]]:
        return [installing.command(self.packages)]

    def version(self) -> str:
        return _dpkg(self.packages[0])


def _dpkg(package: str) -> str:
    """Its version, if it is installed."""
    command = ["dpkg-query", "-W", "-f=${db:Status-Abbrev}${Version}", package]
    if not shutil.which(command[0]):
        return ""
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return said.removeprefix("ii ") if said.startswith("ii ") else ""


@dataclass(frozen=True)
class Wheels(Source):
    """PyPI's, NAME==VERSION, in a venv of their own, or in one that they share with `others`."""

    wheels: tuple[str, ...]  # the first one is the runtime's
    others: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return f"PyPI: {' '.join(self.wheels)}"

    @property
    def every(self) -> list[str]:
        return sorted({*self.wheels, *self.others})

    @property
    def venv(self) -> Path:
        return folder("venv", *self.every)

    @property
    def python(self) -> str:
        return str(self.venv / "bin/python")

    @property
    def packages(self) -> Path:
        return next(self.venv.glob("lib/python*/site-packages"), self.venv)

    def missing(self) -> list[str]:
        return [wheel for wheel in self.every if not self._has(wheel)]

    def _has(self, wheel: str) -> bool:
        name, _, version = wheel.partition("==")
        return any(self.packages.glob(f"{name.replace('-', '_')}-{version}.dist-info"))

    def steps(self) -> list[list[str]]:
        install = [self.python, "-m", "pip", "install", "-q", *self.every]
        return [["python3", "-m", "venv", str(self.venv)], install]

    def version(self) -> str:
        return self.wheels[0].partition("==")[2]


@dataclass(frozen=True)
class Npm(Source):
    """NAME@VERSION, of which no script runs."""

    module: str

    @property
    def words(self) -> str:
        return f"npm: {self.module}"

    @property
    def installed(self) -> Path:
        return folder("npm", self.module) / "node_modules" / self.module.rpartition("@")[0]

    def missing(self) -> list[str]:
        told = self.installed / "package.json"
        there = (
            told.exists() and json.loads(told.read_text())["version"].lstrip("v") == self.version()
        )
        return [] if there else [self.module]

    def steps(self) -> list[list[str]]:
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        into = ("--prefix", str(folder("npm", self.module)))
        return [["npm", "install", *options, *into, self.module]]

    def version(self) -> str:
        return self.module.rpartition("@")[2]


@dataclass(frozen=True)
class Unpacked(Source):
    """Packages of another release of Debian, run by that release's own dynamic linker."""

    release: str
    packages: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"Debian {self.release}, unpacked: {' '.join(self.packages)}"

    @property
    def root(self) -> Path:
        return folder(self.release, *self.packages)

    def missing(self) -> list[str]:
        return [] if (self.root / "usr/bin").exists() else list(self.packages)

    def steps(self) -> list[list[str]]:
        options = ("--quiet", "--variant=extract", f"--include={','.join(self.packages)}")
        return [["mmdebstrap", *options, self.release, str(self.root)]]

    def version(self) -> str:
        return self.release

    def command(self, program: str) -> list[str]:
        libraries = self.root / "usr/lib/x86_64-linux-gnu"
        linker = self.root / "usr/lib64/ld-linux-x86-64.so.2"
        return [str(linker), "--library-path", str(libraries), str(self.root / "usr/bin" / program)]


@dataclass(frozen=True)
class OnPath(Source):
    """Whatever is installed: its version is asked."""

    program: str

    @property
    def words(self) -> str:
        return f"`{self.program}` of PATH"

    def missing(self) -> list[str]:
        return [] if shutil.which(self.program) else [self.program]

    def steps(self) -> list[list[str]]:
        return []

    def version(self) -> str:
        command = [self.program, "--version"]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found = re.search(r"\d+(\.\d+)+", said)
        return found[0] if found else ""


def built(
    compiler: str,
    texts: Sequence[Path],
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
) -> Path:
    """The folder, `OUT` in the command, of what that version of a compiler makes of these."""
    out = folder("built", compiler, *command, *(text.read_text() for text in texts))
    if out.exists():
        return out
    new = out.with_name(f"{out.name}.{os.getpid()}")
    files.make_folder(new)
    done = subprocess.run(
        [word.replace("OUT", str(new)) for word in command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
        cwd=texts[0].parent,
    )
    if done.returncode:
        shutil.rmtree(new)
        raise Fail(f"{command[0]} failed on {texts[0].name}: {last_line(done.stderr)}", FAILED)
    new.replace(out)
    return out
