# SPDX-License-Identifier: MIT
"""tools/cpu_counts_guest.py: what the virtual machine is told to do."""

import argparse
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import cpu_counts_guest
from tests.conftest import TOP


def test_the_machine_runs_the_same_command_with_its_own_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/a b:/bin")
    asked = argparse.Namespace(output=Path("/x/v2.json"), options=["--with", "env A=1"])
    words = shlex.split(cpu_counts_guest.inside(asked))
    assert words[0] == "env"
    assert "PATH=/a b:/bin" in words
    tool = words.index(str(TOP / "tools/cpu_counts.py"))
    assert words[tool + 1 :] == ["-o", "/mnt/v2.json", "--with", "env A=1"]


def test_its_first_program_is_one_that_a_shell_takes(tmp_path: Path) -> None:
    if not (shutil.which("busybox") and shutil.which("cpio")):
        pytest.skip("busybox or cpio is missing; tools/setup guest installs them")
    modules = tmp_path / "image/lib/modules/6/kernel/drivers"
    modules.mkdir(parents=True)
    for name in cpu_counts_guest.MODULES:
        (modules / f"{name}.ko").write_text(name)
    cpu_counts_guest.initramfs(tmp_path, tmp_path / "image", "echo 'it is said'")
    init = tmp_path / "root/init"
    subprocess.run(["sh", "-n", init], check=True)
    assert shlex.split(init.read_text().splitlines()[-2].split("-c ")[1])[0] == "echo 'it is said'"
    assert all((tmp_path / f"root/{name}.ko").exists() for name in cpu_counts_guest.MODULES)
