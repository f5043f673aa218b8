#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tools/cpu_counts.py in a virtual machine: with cgroup v2, and with more CPUs than here.

tools/cpu_counts_guest.py [--cpus N] [-o FILE] [-- OPTION...] boots Debian's kernel in QEMU, without
KVM, and asks the runtimes that are installed here, whose files the machine reads. FILE is updated
as each runtime is complete. Needs root, for the machine reads what only root may, and an hour.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from overlock_tools.core.system.errors import FAILED, MISSING, Fail, last_line, say

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/cpu_counts_v2.json"
OUT = "/mnt"  # of the machine: the folder of the results
MODULES = (  # in the order in which they need each other
    *("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci"),
    *("netfs", "fscache", "9pnet", "9pnet_virtio", "9p"),
)
INIT = """#!/bin/busybox sh
set -e
/bin/busybox mount -t proc none /proc
for module in {modules}; do /bin/busybox insmod /$module.ko; done
options=trans=virtio,version=9p2000.L,msize=524288
/bin/busybox mount -t 9p -o $options,ro,cache=loose root /host
/bin/busybox mount -t 9p -o $options out /host{out}
/bin/busybox mount -t proc none /host/proc
/bin/busybox mount -t sysfs none /host/sys
/bin/busybox mount -t cgroup2 none /host/sys/fs/cgroup
/bin/busybox mount -t devtmpfs none /host/dev
/bin/busybox mount -t tmpfs none /host/tmp
/bin/busybox chroot /host /bin/sh -c {command} || echo "cpu_counts.py ended with status $?"
/bin/busybox poweroff -f
"""


def kernel(folder: Path) -> Path:
    """Debian's newest for this release, with its modules: unpacked."""
    depends = ["apt-cache", "depends", "linux-image-amd64"]
    said = subprocess.run(depends, capture_output=True, text=True, check=False).stdout
    found = re.search(r"Depends: (linux-image-\S+)", said)
    if not found:
        raise Fail("apt knows no linux-image-amd64; run `apt-get update`", MISSING)
    subprocess.run(["apt-get", "-qq", "download", found[1]], cwd=folder, check=True)
    subprocess.run(["dpkg", "-x", next(folder.glob("*.deb")), folder / "image"], check=True)
    return folder / "image"


def initramfs(folder: Path, image: Path, command: str) -> Path:
    root = folder / "root"
    for name in ("bin", "proc", "host"):
        (root / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "busybox", root / "bin")
    for module in MODULES:
        shutil.copy(next(image.glob(f"lib/modules/*/kernel/**/{module}.ko")), root)
    init = INIT.format(modules=" ".join(MODULES), out=OUT, command=shlex.quote(command))
    (root / "init").write_text(init)
    (root / "init").chmod(0o755)
    names = "\0".join(str(path.relative_to(root)) for path in root.rglob("*")).encode()
    pack = ["cpio", "--create", "--format=newc", "--null", "--quiet"]
    packed = subprocess.run(pack, cwd=root, input=names, capture_output=True, check=True).stdout
    archive = folder / "initramfs"
    archive.write_bytes(packed)
    return archive


def shared(tag: str, folder: Path, readonly: bool) -> list[str]:
    options = f"local,id={tag},path={folder},security_model=passthrough,multidevs=remap"
    device = f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"
    return ["-fsdev", options + (",readonly=on" if readonly else ""), "-device", device]


def inside(options: argparse.Namespace) -> str:
    """The command, with what it finds things by here."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    kept["PYTHONPATH"] = str(TOP / "python")
    settings = [f"{name}={value}" for name, value in kept.items()]
    asked = ["python3", str(TOP / "tools/cpu_counts.py"), "-o", f"{OUT}/{options.output.name}"]
    return shlex.join(["env", *settings, *asked, *options.options])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpus", type=int, default=4, help="of the machine [default: 4]")
    parser.add_argument("-o", "--output", type=Path, default=FILE, help="file to update")
    parser.add_argument("options", nargs="*", metavar="OPTION", help="of tools/cpu_counts.py")
    options = parser.parse_args()
    for tool in ("qemu-system-x86_64", "busybox", "cpio"):
        if not shutil.which(tool):
            raise Fail(f"{tool} is missing; `tools/setup guest` installs it", MISSING)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        image = kernel(folder)
        machine = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-m", "4096"]
        machine += ["-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max"]
        machine += ["-smp", str(options.cpus), "-serial", "stdio"]
        files = ["-kernel", str(next(image.glob("boot/vmlinuz-*")))]
        files += ["-initrd", str(initramfs(folder, image, inside(options)))]
        files += ["-append", "console=ttyS0 rdinit=/init panic=-1 quiet"]
        shares = [*shared("root", Path("/"), True)]
        shares += shared("out", options.output.parent.resolve(), False)
        done = subprocess.run(
            ["qemu-system-x86_64", *machine, *files, *shares],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Fail(f"QEMU failed: {last_line(done.stderr)}", FAILED)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fail as error:
        say(error.message)
        sys.exit(error.code)
