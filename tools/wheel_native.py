# SPDX-License-Identifier: MIT
"""Puts the native parts into a wheel: what build/native holds, and what a lock is compiled from."""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

IN_WHEEL = "overlock_tools/native"
CARRIED = ("defs.json", "overlock-bench*", "liboverlock*.so*")


class NativeParts(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # a checkout finds its own build/native
            return
        top, build = Path(self.root), Path(self.directory) / "native-build"
        configure = ["cmake", "-S", top, "-B", build, "-DOVERLOCK_TESTS=OFF"]
        subprocess.run(configure, check=True)
        subprocess.run(["cmake", "--build", build, "--parallel"], check=True)
        for pattern in CARRIED:
            for path in (build / "native").glob(pattern):
                build_data["force_include"][str(path)] = f"{IN_WHEEL}/{path.name}"
        build_data["force_include"][str(top / "include")] = f"{IN_WHEEL}/include"
        build_data["force_include"][str(top / "lib/lock_unit.c")] = f"{IN_WHEEL}/lib/lock_unit.c"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
