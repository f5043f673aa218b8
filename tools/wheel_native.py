# SPDX-License-Identifier: MIT
"""Puts the native parts into a wheel: build/native, and the sources to compile a lock.

`overlock` is the launcher, run/launch.c; of a checkout, tools/overlock.py until it is built.
The wheel has only the built-in peers: plug-ins need the libraries they were built with.

OVERLOCK_NATIVE names a native folder that is already built; without it one is built, and two builds
of the same sources by the same compiler are the same bytes, wherever they are made.
OVERLOCK_TOOLCHAIN names a toolchain file of CMake, for another processor: cmake/aarch64.cmake.
"""

import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

IN_WHEEL = "overlock_tools/native"
LAUNCHER = "overlock"
CARRIED = (
    LAUNCHER,
    "defs.json",
    "overlock-bench",
    "overlock-bench-counted",
    "overlock-chaos-steal",
    "overlock-hog",
    "overlock-probe",
    "overlock-throw",
    "liboverlock.so.0",
    "liboverlock-run.so",
    "liboverlock-run-counted.so",
    "liboverlock-run-checked.so",
    "liboverlock-chaos.so",
    "liboverlock-record.so",
)
# They need libraries to build that nothing else needs: docs/architecture.md
CHECKER = ("overlock-check", "overlock-litmus", "overlock-sim", "overlock-costs")
PROFILER = ("overlock-profiler", "overlock-symbolizer", "overlock-hostd", "overlock-monitord")
LOOPS = ("overlock-loops", "liboverlock-run-spins.so")
DECODER = "libZy*.so.*"  # of others, which LOOPS load
WITH_LINES = ("overlock-check",)  # its reports name source lines of the locks in it
MACHINES = {62: "x86_64", 183: "aarch64"}  # as ELF headers number them
PLAIN = "-O2 -DNDEBUG"  # RelWithDebInfo without debug information, but for that of WITH_LINES
CPUS = str(len(os.sched_getaffinity(0)))
SOURCES = (
    "include",
    "check/engine",
    "lib/lock_unit.c",
    "lib/counting.h",
    "lib/site.h",
    "sim/machines",
)


def machine(native: Path) -> str:
    """The processor that it was built for."""
    (number,) = struct.unpack_from("<H", (native / LAUNCHER).read_bytes(), 18)
    return MACHINES[number]


def platform(native: Path) -> str:
    """Any Python 3 will do; the machine matters, and a C library as new as ours (PEP 600)."""
    glibc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    version = glibc.removeprefix("glibc ").replace(".", "_")
    return f"manylinux_{version}_{machine(native)}"


class NativeParts(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # a checkout finds its own build/native
            build_data["shared_scripts"]["tools/overlock.py"] = LAUNCHER
            return
        self.made = Path(tempfile.mkdtemp(prefix="wheel-"))
        native = self.stripped(self.native())
        build_data["shared_scripts"][str(native / LAUNCHER)] = LAUNCHER
        for file in sorted(native.iterdir()):
            build_data["force_include"][str(file)] = f"{IN_WHEEL}/{file.name}"
        for name in SOURCES:
            build_data["force_include"][str(Path(self.root) / name)] = f"{IN_WHEEL}/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform(native)}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        del build_data, artifact_path
        if version != "editable":
            shutil.rmtree(self.made)

    def native(self) -> Path:
        if built := os.environ.get("OVERLOCK_NATIVE"):
            return Path(built)
        build = self.made / "build"
        flags = f"-ffile-prefix-map={self.root}=. -ffile-prefix-map={build}=."
        configure = [
            *("cmake", "-S", self.root, "-B", build, "-DOVERLOCK_TESTS=OFF"),
            *(f"-DCMAKE_{language}_FLAGS={flags}" for language in ("C", "CXX")),
            *(f"-DCMAKE_{language}_FLAGS_RELWITHDEBINFO={PLAIN}" for language in ("C", "CXX")),
        ]
        if toolchain := os.environ.get("OVERLOCK_TOOLCHAIN"):
            configure.append(f"-DCMAKE_TOOLCHAIN_FILE={Path(toolchain).absolute()}")
        if subprocess.run([*configure, "-DOVERLOCK_CHECKER=ON"], check=False).returncode:
            subprocess.run([*configure, "-DOVERLOCK_CHECKER=OFF"], check=True)
        subprocess.run(["cmake", "--build", build, "--parallel", CPUS], check=True)
        return build / "native"

    def stripped(self, native: Path) -> Path:
        """Copies without debug information; of what could not be built nothing is left."""
        copies = self.made / "native"
        copies.mkdir()
        optional = (*CHECKER, *PROFILER, *LOOPS)
        built = [*CARRIED, *(name for name in optional if (native / name).exists())]
        built += [path.name for path in native.glob(DECODER)]
        for name in built:
            shutil.copy(native / name, copies)
        if left_out := ", ".join(name for name in optional if name not in built):
            self.app.display_warning(f"{left_out} are left out: what builds them is missing")
        files = [copies / name for name in built if name not in (*WITH_LINES, "defs.json")]
        strip = f"{machine(native)}-linux-gnu-strip"
        subprocess.run([shutil.which(strip) or "strip", "--strip-debug", *files], check=True)
        return copies
