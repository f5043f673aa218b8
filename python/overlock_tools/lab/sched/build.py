# SPDX-License-Identifier: MIT
"""The rig of `overlock sched`: a guest with a kernel that has sched_ext, in counted time.

QEMU counts instructions (-icount), and its clock is that count: a guest's timers are exact whatever
the host does. Of its vCPUs one runs at a time, each for its part of the time to the next event of
QEMU's clock; hence the filter, whose only purpose is an event every TURN_US.
"""

import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from overlock_tools.bench import header_locks
from overlock_tools.core.system import files, native
from overlock_tools.core.system.errors import FAILED, MISSING, Fail, last_line
from overlock_tools.guest import initramfs, paths, pause
from overlock_tools.guest.debsource import order
from overlock_tools.guest.initramfs import DATA, PROGRAM
from overlock_tools.guest.packages import Tell, unpack
from overlock_tools.guest.suites import Suites
from overlock_tools.guest.vm import ICOUNT, Spec
from overlock_tools.lab.sched import programs

RELEASE = "trixie"
PACKAGES = "bpftool,clang-19,gcc,libbpf-dev,libc6-dev,qemu-system-x86,seabios"
# The newest of these that is to be had; Debian's older kernels have no sched_ext.
KERNELS = (r"linux-image-6\.18\.\S*-cloud-amd64", r"linux-image-[67]\.\S*-cloud-amd64")
TURN_US = 20
MEMORY_MB = 768
WITH_GUEST_MB = 2048
PROGRAMS = (
    "overlock-sched",
    "overlock-sched-plain",
    "overlock-sched-chaos",
    "overlock-hostd",
    "held",
)
LOCKS = ("ticket_told",)  # of lab/sched/guest/locks
SHARED = ("libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6")
OF_BPF = ("libbpf.so.1", "libelf.so.1", "libz.so.1", "libzstd.so.1")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LOADER = "ld-linux-x86-64.so.2"


class Rig:
    """Its folder, and what is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"  # of a Debian in which the scheduler is built
        self.kernel = folder / "vmlinuz"
        self.config = folder / "config"  # of the kernel: overlock-hostd reads it
        self.version = folder / "version"
        self.programs = folder / "programs"
        self.initramfs = folder / "initramfs.gz"
        self.qemu = folder / "qemu"


def rig(folder: Path | None) -> Rig:
    return Rig((folder.absolute() if folder else paths.cache()) / "scx")


@dataclass(frozen=True)
class ScxSpec(Spec):
    """The guest: all its vCPUs in one thread of QEMU's, by the count of instructions."""

    turn_us: int = TURN_US

    @property
    def append(self) -> str:
        words = [f"console={self.console}", "rdinit=/init", "panic=-1", "quiet", "nokaslr"]
        # Tests of the kernel's own would take CPU time from the first loads.
        quiet = ["no_timer_check", "mitigations=off", "cryptomgr.notests"]
        return " ".join([*words, *quiet, *self.words])

    def machine(self) -> list[str]:
        return [
            *(self.qemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
            *("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"),
            *("-machine", "q35", "-cpu", "max,-hypervisor"),
            *("-smp", str(self.smp), "-m", str(self.memory_mb)),
            *("-netdev", "hubport,id=turns,hubid=0"),
            *("-object", f"filter-buffer,id=turn,netdev=turns,interval={self.turn_us}"),
        ]


def spec(
    of: Rig,
    smp: int,
    initramfs: Path | None = None,
    turn_us: int = TURN_US,
    memory_mb: int = MEMORY_MB,
) -> Spec:
    return ScxSpec(
        turn_us=turn_us,
        kernel=of.kernel,
        initramfs=initramfs or of.initramfs,
        smp=smp,
        accel=ICOUNT,
        memory_mb=memory_mb,
        qemu=str(of.qemu),
    )


# Making it.


def _make_root(of: Rig, tell: Tell) -> None:
    """Root is not needed, but mmdebstrap is. Made again if the packages change."""
    mark = of.root / "packages"
    if mark.exists() and mark.read_text() == PACKAGES:
        return
    if not shutil.which("mmdebstrap"):
        raise Fail("mmdebstrap is missing; install it, or run `tools/setup compilers`", MISSING)
    tell("fetching Debian 13's compilers and QEMU, 1 GB")
    shutil.rmtree(of.root, ignore_errors=True)
    paths.make(of.root)
    make = ["mmdebstrap", "--quiet", "--variant=essential", f"--include={PACKAGES}", RELEASE, "-"]
    unpacking = ["tar", "--extract", "--no-same-owner", "--exclude=./dev/*", "-C", str(of.root)]
    with subprocess.Popen(make, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as fetching:
        unpacked = subprocess.run(unpacking, stdin=fetching.stdout, check=False)
        said = fetching.stderr.read().decode(errors="replace") if fetching.stderr else ""
    if fetching.returncode or unpacked.returncode:
        raise Fail(f"Debian 13 cannot be fetched: {last_line(said)}", MISSING)
    mark.write_text(PACKAGES)


def _wrap_qemu(of: Rig) -> None:
    """With its own loader and libraries, for this system's may be older."""
    library = of.root / LIBRARIES
    data = of.root / "usr/share"
    command = [
        *(of.root / "usr/lib64" / LOADER, "--library-path", library),
        *(of.root / "usr/bin/qemu-system-x86_64", "-L", data / "qemu", "-L", data / "seabios"),
    ]
    words = " ".join(f"'{word}'" for word in command)
    of.qemu.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    of.qemu.chmod(of.qemu.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _choose(listed: Sequence[str]) -> str:
    for pattern in KERNELS:
        if found := [name for name in listed if re.fullmatch(pattern, name)]:
            return max(found, key=order)
    raise Fail(f"{RELEASE}-backports has no kernel with sched_ext", MISSING)


def _fetch_kernel(of: Rig, tell: Tell) -> None:
    if of.kernel.exists():
        return
    tell("fetching a kernel with sched_ext")
    with tempfile.TemporaryDirectory(dir=of.folder, prefix=".apt-") as name:
        folder = Path(name)
        suites, suite = Suites(folder), f"{RELEASE}-backports"
        if why := suites.add(suite):
            raise Fail(f"Debian's {suite} cannot be read: {why}", MISSING)
        package = _choose(suites.named("linux-image-"))
        file, why = suites.fetched(package)
        if not file:
            raise Fail(f"{package} cannot be fetched: {why}", MISSING)
        unpack(["dpkg-deb", "-x", str(file), str(folder / "unpacked")])
        config = next((folder / "unpacked/boot").glob("config-*")).read_text()
        if "CONFIG_SCHED_CLASS_EXT=y" not in config:
            raise Fail(f"{package} has no sched_ext", MISSING)
        of.config.write_text(config)
        of.version.write_text(package.removeprefix("linux-image-"))
        shutil.move(next((folder / "unpacked/boot").glob("vmlinuz-*")), of.kernel)


def own_kernel(folder: Path | None, version: str) -> Path:
    """That of `overlock guest build`. In counted time a PAUSE would cost a vCPU its turn."""
    home = paths.home(folder, version, "extension")
    home.needed()
    return home.kernel("nop")


SOURCES = ("lab/sched", "lab/slices", "lab/hostd", "profile/agent", "include/overlock", "lib")
WITHIN = """
root=$1 top=$2 out=$3
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
mkdir -p "$root/top" "$root/out"
mount --bind "$top" "$root/top"
mount --bind "$out" "$root/out"
exec chroot "$root" env --chdir=/top --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	lab/sched/guest/build /out
"""


def _build_programs(of: Rig, top: Path, tell: Tell) -> None:
    mark = of.programs / "digest"
    digest = paths.digest_below(*SOURCES)
    if mark.exists() and mark.read_text() == digest:
        return
    tell("building the scheduler")
    paths.make(of.programs)
    command = ["unshare", "--map-root-user", "--mount", "bash", "-euc", WITHIN, "build"]
    done = subprocess.run(
        [*command, str(of.root), str(top), str(of.programs)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Fail(f"the scheduler does not build: {last_line(done.stderr)}", FAILED)
    for name in LOCKS:
        header_locks.compile_lock(top / f"lab/sched/guest/locks/{name}.h", of.programs)
    mark.write_text(digest)


def _pack(of: Rig, top: Path) -> None:
    """Always, for the bench may have been built anew; the same bytes from the same files."""
    library = of.root / LIBRARIES
    found = {
        "init": (PROGRAM, (top / "guest/init").read_bytes()),
        "bin/busybox": (PROGRAM, initramfs.program("busybox", "busybox-static").read_bytes()),
        f"lib64/{LOADER}": (PROGRAM, (library / LOADER).read_bytes()),
        f"boot/config-{of.version.read_text()}": (DATA, of.config.read_bytes()),
        "run/": (PROGRAM, b""),
    }
    for name in PROGRAMS:
        found[f"usr/bin/{name}"] = (PROGRAM, (of.programs / name).read_bytes())
    for name in (*SHARED, *OF_BPF):
        if (library / name).exists():
            found[f"lib/x86_64-linux-gnu/{name}"] = (DATA, (library / name).read_bytes())
    # A vCPU that executes PAUSE gives its turn away, as no CPU does.
    for name in ("overlock-bench", "overlock-bench-counted", "overlock-sched-load"):
        found[f"usr/bin/{name}"] = (PROGRAM, pause.as_nop(native.file(name))[0])
    for name in LOCKS:
        found[f"usr/lib/{name}.so"] = (DATA, pause.as_nop(of.programs / f"{name}.so")[0])
    # `overlock run`, where it looks for its library.
    found["usr/bin/overlock"] = (PROGRAM, native.file("overlock").read_bytes())
    found["usr/lib/overlock/defs.json"] = (DATA, native.file("defs.json").read_bytes())
    preloaded = pause.as_nop(native.file("liboverlock-run.so"))[0]
    found["usr/lib/overlock/liboverlock-run.so"] = (DATA, preloaded)
    found["usr/lib/liboverlock-chaos.so"] = (DATA, native.file("liboverlock-chaos.so").read_bytes())
    for path in sorted((top / "lab/sched/guest/loads").iterdir()):
        found[f"loads/{path.name}"] = (PROGRAM, path.read_bytes())
    files.write(of.initramfs, initramfs.compressed(initramfs.archive(found)))


def with_programs(of: Rig, names: Sequence[str], tell: Tell) -> Path:
    """The initramfs with these programs in it: the kernel unpacks one archive after the other."""
    if not names:
        return of.initramfs
    known = {LOADER, *SHARED, *OF_BPF}
    wanted = sorted({programs.name_of(name) for name in names})
    archives = [programs.made(name, of.folder, known, tell) for name in wanted]
    file = of.folder / "with-programs.gz"
    files.write(file, b"".join(path.read_bytes() for path in (of.initramfs, *archives)))
    return file


def made(folder: Path | None, tell: Tell) -> Rig:
    """All of it; what is there already is kept."""
    top = paths.sources().parent
    of = rig(folder)
    if os.uname().machine != "x86_64":
        raise Fail("this rig is for x86-64")
    paths.make(of.folder)
    _make_root(of, tell)
    _wrap_qemu(of)
    _fetch_kernel(of, tell)
    _build_programs(of, top, tell)
    _pack(of, top)
    return of
