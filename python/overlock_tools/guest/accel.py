# SPDX-License-Identifier: MIT
"""KVM where a guest really boots under it, else QEMU's own translation: found out by trying."""

import contextlib
import json
import os
import platform
import shutil
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path

from overlock_tools.core.system import bundled, files
from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import vm
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Spec

# A kernel that boots at all under KVM does so in a second or two.
TRY_SECONDS = 20.0
TOLD_LETTERS = 110


@dataclass(frozen=True)
class Accel:
    name: str
    why: str

    @property
    def words(self) -> str:
        return f"{self.name.upper()}: {self.why}"


def _about() -> dict[str, object]:
    """What the answer depends on; a new kernel, boot, QEMU or CPU is asked again."""
    qemu = shutil.which(bundled.qemu(vm.QEMU))
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return {
            "boot": boot,
            "kernel": platform.release(),
            "qemu": [qemu, os.stat(qemu).st_mtime] if qemu else None,
            "cpu": vm.host_cpu(),
        }
    return {}


def _remembered(file: Path) -> Accel | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(file.read_text())
        if kept["about"] == _about():
            return Accel(kept["name"], kept["why"])
    return None


def _tried(spec: Spec, where: Placement) -> Accel:
    if not os.path.exists("/dev/kvm"):
        return Accel("tcg", "/dev/kvm does not exist")
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return Accel("tcg", "no permission to use /dev/kvm")
    one = replace(spec, accel="kvm", smp=1, lock="native", slice_page=False)
    try:
        with vm.booted([one], where, TRY_SECONDS, tries=1):
            return Accel("kvm", "a guest booted under it")
    except vm.NoBoot as error:
        reason = str(error).partition(" tries: ")[2] or str(error)
    except Fail as error:
        reason = error.message
    said = textwrap.shorten(reason, TOLD_LETTERS, placeholder=" ...")
    return Accel("tcg", f"no guest boots under KVM here ({said})")


def choose(asked: str, spec: Spec, where: Placement, folder: Path) -> Accel:
    if asked != "auto":
        return Accel(asked, "as requested")
    file = folder / "accelerator.json"
    if known := _remembered(file):
        return known
    found = _tried(spec, where)
    with contextlib.suppress(Fail):  # what cannot be kept is found out again
        files.write(file, json.dumps({"about": _about(), "name": found.name, "why": found.why}))
    return found
