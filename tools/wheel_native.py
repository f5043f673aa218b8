# SPDX-License-Identifier: MIT
"""Puts the native parts into a wheel: build/native, and the sources to compile a lock.

`overlock` is the launcher, run/launch.c; of a checkout, tools/overlock.py until it is built.
The wheel has only the built-in peers: plug-ins need the libraries they were built with.

OVERLOCK_NATIVE names a native folder that is already built; without it one is built.
"""

import os
import subprocess
import sysconfig
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
# They need libraries to build that nothing else needs: docs/dependencies.md
CHECKER = ("overlock-check", "overlock-litmus", "overlock-sim", "overlock-costs")
SOURCES = (
    "include",
    "check/engine",
    "lib/lock_unit.c",
    "lib/counting.h",
    "lib/site.h",
    "sim/machines",
)


def platform() -> str:
    """Any Python 3 will do; the machine matters, and a C library as new as ours (PEP 600)."""
    glibc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    machine = sysconfig.get_platform().removeprefix("linux-")
    return f"manylinux_{glibc.removeprefix('glibc ').replace('.', '_')}_{machine}"


class NativeParts(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # a checkout finds its own build/native
            build_data["shared_scripts"]["tools/overlock.py"] = LAUNCHER
            return
        native = self.native()
        build_data["shared_scripts"][str(native / LAUNCHER)] = LAUNCHER
        built = [*CARRIED, *(name for name in CHECKER if (native / name).exists())]
        for name in built:
            build_data["force_include"][str(native / name)] = f"{IN_WHEEL}/{name}"
        for name in SOURCES:
            build_data["force_include"][str(Path(self.root) / name)] = f"{IN_WHEEL}/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform()}"

    def native(self) -> Path:
        if built := os.environ.get("OVERLOCK_NATIVE"):
            return Path(built)
        build = Path(self.directory) / "native-build"
        configure = ["cmake", "-S", self.root, "-B", build, "-DOVERLOCK_TESTS=OFF"]
        if subprocess.run([*configure, "-DOVERLOCK_CHECKER=ON"], check=False).returncode:
            left_out = ", ".join(CHECKER)
            self.app.display_warning(f"{left_out} are left out: their libraries are missing")
            subprocess.run([*configure, "-DOVERLOCK_CHECKER=OFF"], check=True)
        subprocess.run(["cmake", "--build", build, "--parallel"], check=True)
        return build / "native"
