# SPDX-License-Identifier: MIT
"""Quotas under cgroup v2, in Debian's kernel booted in QEMU, without KVM. Needs a minute."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TOP

INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t cgroup2 none /sys/fs/cgroup
/bin/busybox mount -t devtmpfs none /dev
export PYTHONHOME={home} PYTHONPATH=/app LD_LIBRARY_PATH=/libraries
{python} /app/inside_v2.py
/bin/busybox poweroff -f
"""
UNUSED = ("test", "site-packages", "dist-packages", "config-*", "idlelib", "lib2to3", "__pycache__")


def place(file: Path, root: Path, name: str = "") -> None:
    target = root / (name or str(file)).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file.resolve(), target)


def initramfs(root: Path) -> Path:
    """Busybox, this Python with its library, and the package."""
    python, library = Path(sys.executable).resolve(), Path(sysconfig.get_path("stdlib"))
    place(Path(shutil.which("busybox") or "busybox"), root, "bin/busybox")
    place(python, root)
    linked: list[str | Path] = ["ldd", python, *library.glob("lib-dynload/*.so")]
    listed = subprocess.run(linked, capture_output=True, text=True, check=True).stdout
    for found in set(re.findall(r"=> (/\S+) \(0x", listed)):
        place(Path(found), root, f"libraries/{Path(found).name}")
    loader = re.search(r"^\s*(/\S+) \(0x", listed, re.MULTILINE)
    assert loader
    place(Path(loader[1]), root)
    shutil.copytree(library, root / str(library)[1:], ignore=shutil.ignore_patterns(*UNUSED))
    shutil.copytree(TOP / "python/overlock_tools", root / "app/overlock_tools")
    place(Path(__file__).with_name("inside_v2.py"), root, "app/inside_v2.py")
    for folder in ("proc", "sys", "dev", "tmp"):
        (root / folder).mkdir()
    (root / "init").write_text(INIT.format(home=sys.base_prefix, python=python))
    (root / "init").chmod(0o755)
    names = "\0".join(str(path.relative_to(root)) for path in root.rglob("*")).encode()
    pack = ["cpio", "--create", "--format=newc", "--null", "--quiet"]
    packed = subprocess.run(pack, cwd=root, input=names, capture_output=True, check=True).stdout
    archive = root.with_suffix(".gz")
    archive.write_bytes(gzip.compress(packed, 1))
    return archive


def kernel(folder: Path) -> Path:
    """Debian's, here or fetched."""
    if named := os.environ.get("KERNEL_IMAGE"):
        return Path(named)
    depends = ["apt-cache", "depends", "linux-image-amd64"]
    said = subprocess.run(depends, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Depends: (linux-image-(\S+))", said)
    assert found, "no linux-image-amd64: run apt-get update, or set KERNEL_IMAGE"
    here = Path(f"/boot/vmlinuz-{found[2]}")
    if here.exists():
        return here
    subprocess.run(["apt-get", "-qq", "download", found[1]], cwd=folder, check=True)
    subprocess.run(["dpkg", "-x", next(folder.glob("*.deb")), folder / "image"], check=True)
    return next(folder.glob("image/boot/vmlinuz-*"))


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("v2")
    log = folder / "log"
    machine = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-m", "1500"]
    machine += ["-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max", "-smp", "2"]
    files = ["-kernel", str(kernel(folder)), "-initrd", str(initramfs(folder / "root"))]
    append = ["-append", "console=ttyS0 rdinit=/init panic=-1 quiet", "-serial", f"file:{log}"]
    subprocess.run(["qemu-system-x86_64", *machine, *files, *append], check=True, timeout=300)
    text = log.read_text(errors="replace")
    found = dict(re.findall(r"^v2: (.*?): (\{.*\})\r?$", text, re.MULTILINE))
    assert len(found) == 5, text[-2000:]
    return {name: json.loads(line) for name, line in found.items()}


@pytest.mark.parametrize(
    ("case", "group", "quota_us"),
    [
        ("in the top group", r"/overlock-\d+-\d+", 20_000),
        ("nobody hands it on", r"/overlock-\d+-\d+", 4_000),
        ("the slice hands it on", r"/user/overlock-\d+-\d+", 20_000),
    ],
)
def test_quota_holds_and_is_undone(
    said: dict[str, dict[str, Any]], case: str, group: str, quota_us: int
) -> None:
    """What the kernel was told and did. How much CPU time that left depends on the host, too."""
    assert re.fullmatch(group, said[case]["group"])
    seen = said[case]["proof"]["seen"]
    assert (seen["quota_us"], seen["throttled"] > 0) == (quota_us, True), said[case]
    assert seen["throttled_seconds"] > 0
    assert said[case]["undone"]


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("looser than what is above", r"only 0.1 CPUs are available"),
        ("nobody", r"Permission denied.*systemd-run --user --scope"),
    ],
)
def test_refused_and_nothing_is_left(said: dict[str, dict[str, Any]], case: str, why: str) -> None:
    assert re.search(why, said[case]["refused"])
    assert said[case]["undone"]
