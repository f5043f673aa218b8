# SPDX-License-Identifier: MIT
"""The last manifest of docs/throttled.md, word for word, run by podman, and rolled back."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.packaging.bare.podman import Podman, manifest

PAGE = (TOP / "docs/throttled.md").read_text()
POD = manifest(PAGE, 2, "tried").replace("image: server", "image: localhost/maps")


def ends(podman: Podman, text: str) -> str:
    """What the pod's container prints before it ends."""
    with podman.pod(text):
        podman("wait", "tried-server")
        said = podman("logs", "tried-server")
    return (said.stdout + said.stderr).decode().strip()


def test_the_init_container_brings_the_library(podman: Podman) -> None:
    assert int(ends(podman, POD)) > 0


def test_without_the_library_the_program_starts_natively(podman: Podman) -> None:
    other = POD.replace("[cp, /usr/lib/overlock/liboverlock-run.so,", "[cp, /proc/version,")
    told = ends(podman, other)
    assert "0" in told.splitlines()
    assert "cannot be preloaded" in told


def test_it_is_rolled_back(podman: Podman, tmp_path: Path) -> None:
    """`kubectl set env` on the file: there is no cluster here."""
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl")
    (line,) = re.findall(r"^    kubectl set env deployment/server (.*)$", PAGE, re.MULTILINE)
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    command = ["kubectl", "set", "env", "--local", "-f", file, "-o", "yaml", *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "LD_PRELOAD" not in done.stdout
    assert ends(podman, done.stdout) == "0"
