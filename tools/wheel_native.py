# SPDX-License-Identifier: MIT
"""Puts the native parts into a wheel: build/native, and the sources to compile a lock.

`overlock` is the launcher, preload/launch.c; of a checkout, tools/overlock.py until it is built.
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
    "overlock-hog",
    "overlock-probe",
    "overlock-throw",
    "liboverlock.so.0",
    "liboverlock-run.so",
    "liboverlock-run-counted.so",
    "liboverlock-run-checked.so",
)
SOURCES = ("include", "lib/lock_unit.c", "lib/counting.h", "lib/site.h")


class NativeParts(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # a checkout finds its own build/native
            build_data["shared_scripts"]["tools/overlock.py"] = LAUNCHER
            return
        native = self.native()
        build_data["shared_scripts"][str(native / LAUNCHER)] = LAUNCHER
        for name in CARRIED:
            build_data["force_include"][str(native / name)] = f"{IN_WHEEL}/{name}"
        for name in SOURCES:
            build_data["force_include"][str(Path(self.root) / name)] = f"{IN_WHEEL}/{name}"
        build_data["pure_python"] = False
        # Any Python 3 will do; the machine and its C library are what matters.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def native(self) -> Path:
        if built := os.environ.get("OVERLOCK_NATIVE"):
            return Path(built)
        build = Path(self.directory) / "native-build"
        configure = ["cmake", "-S", self.root, "-B", build, "-DOVERLOCK_TESTS=OFF"]
        subprocess.run(configure, check=True)
        subprocess.run(["cmake", "--build", build, "--parallel"], check=True)
        return build / "native"
