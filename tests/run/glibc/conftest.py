# SPDX-License-Identifier: MIT
"""Versions of glibc, as their packages have them, and programs and interposers for them."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP
from tests.run.conftest import CONFORMANCE, Compile

RELEASES = {"Debian 13's": "trixie", "the newest": "sid"}
PACKAGES = "libc6,libc6-dev"
FLAVOURS = ("", "-counted", "-checked")


@dataclass(frozen=True)
class Glibc:
    root: Path

    @cached_property
    def libraries(self) -> Path:
        return next(self.root.glob("usr/lib/*/libc.so.6")).parent

    @cached_property
    def loader(self) -> Path:
        return next(self.libraries.glob("ld-linux-*.so.*"))

    @cached_property
    def version(self) -> str:
        said = subprocess.run(
            [self.loader, "--version"], capture_output=True, text=True, check=True
        )
        found = re.search(r"version (2\.\d+)", said.stdout)
        assert found, said.stdout
        return found[1]

    @property
    def linked(self) -> tuple[str, ...]:
        """Options by which a program runs with it, and what the program starts as well."""
        return (
            f"-Wl,--dynamic-linker={self.loader}",
            f"-Wl,-rpath={self.libraries}",
            "-Wl,--disable-new-dtags",
        )


def unpack(release: str, root: Path) -> None:
    """Kept in build/ until PACKAGES change. Root is not needed, but mmdebstrap is."""
    made = root / "packages"
    if made.exists() and made.read_text() == PACKAGES:
        return
    subprocess.run(["rm", "-rf", str(root)], check=True)
    root.mkdir(parents=True)
    # The newest release's index is valid for a week, which a mirror may be behind.
    old = ["--aptopt=Acquire::Check-Valid-Until false"]
    packages = ["--quiet", "--variant=extract", f"--include={PACKAGES}", release, "-"]
    tar = ["tar", "--extract", "--no-same-owner", "--exclude=./dev/*", "--directory", str(root)]
    with subprocess.Popen(["mmdebstrap", *old, *packages], stdout=subprocess.PIPE) as fetching:
        subprocess.run(tar, stdin=fetching.stdout, check=True)
    assert fetching.returncode == 0
    for folder in ("lib", "lib64"):
        (root / folder).symlink_to(f"usr/{folder}")
    made.write_text(PACKAGES)


@pytest.fixture(scope="session", params=[*RELEASES.values()], ids=[*RELEASES])
def glibc(request: pytest.FixtureRequest) -> Glibc:
    root = BUILD / "glibc" / request.param
    unpack(request.param, root)
    return Glibc(root)


@pytest.fixture(scope="session")
def on_it(program: Compile, glibc: Glibc) -> Compile:
    def compile_it(source: str) -> Path:
        return program(source, *glibc.linked, name=f"{source}-{glibc.version}")

    return compile_it


@pytest.fixture(scope="session")
def cases_on_it(folder: Path, glibc: Glibc) -> Path:
    out = folder / f"cases-{glibc.version}"
    sources = map(str, sorted(CONFORMANCE.glob("*.c")))
    flags = ["-std=gnu17", "-O1", "-pthread", *glibc.linked]
    subprocess.run(["gcc", *flags, *sources, "-o", str(out)], check=True)
    return out


@pytest.fixture(scope="session")
def built_on_it(glibc: Glibc) -> Callable[[str], Path]:
    """The interposers, compiled with its headers and linked with its libraries."""
    build = glibc.root.with_suffix(".build")
    targets = [f"overlock-run{flavour}" for flavour in FLAVOURS]
    configure = [
        *("cmake", "-S", TOP, "-B", build, "-DCMAKE_BUILD_TYPE=None", "-DOVERLOCK_TOOLS=OFF"),
        *(f"-DCMAKE_SYSROOT={glibc.root}", "-DCMAKE_C_FLAGS=-O2 -Wall -Wextra -Werror"),
        # The compiler looks into its own folders first, which lead to this system's.
        *(f"-DCMAKE_{kind}_LINKER_FLAGS=-L{glibc.libraries}" for kind in ("EXE", "SHARED")),
    ]
    subprocess.run([str(word) for word in configure], check=True, capture_output=True)
    making = ["cmake", "--build", str(build), "--parallel", "2", "--target", *targets]
    done = subprocess.run(making, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return lambda flavour: build / "native" / f"liboverlock-run{flavour}.so"
