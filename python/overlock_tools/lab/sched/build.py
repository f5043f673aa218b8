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
# Where Debian's kernels are: the newest in the first suite that has the version.
SUITES = (f"{RELEASE}-backports", RELEASE, "bookworm", "sid")
USUAL = "6.18"  # what the results were measured with
# Until 6.18 the image's package has all. Since 6.19 linux-binary has the kernel, and linux-base,
# since 7.2, the configuration.
PARTS = ("image", "binary", "base")
TURN_US = 20
MEMORY_MB = 768
WITH_GUEST_MB = 2048
PROGRAMS = (
    "overlock-sched",
    "overlock-sched-plain",
    "overlock-sched-chaos",
    "overlock-hostd",
    "held",
    "yields",
)
LOCKS = ("ticket_told",)  # of lab/sched/guest/locks
SHARED = ("libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6")
DECODER = ("libZydis.so.4.0", "libZycore.so.1.4")  # of machine code, which `run --spins` loads
OF_BPF = ("libbpf.so.1", "libelf.so.1", "libz.so.1", "libzstd.so.1")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LOADER = "ld-linux-x86-64.so.2"


class Rig:
    """Its folder, and what is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"  # of a Debian in which the scheduler is built
        self.kernels = folder / "kernels"  # Debian's
        self.programs = folder / "programs"
        self.initramfs = folder / "initramfs.gz"
        self.qemu = folder / "qemu"


def rig(folder: Path | None) -> Rig:
    return Rig((folder.absolute() if folder else paths.cache()) / "scx")


@dataclass(frozen=True)
class Kernel:
    """What the guest boots."""

    image: Path
    release: str
    config: str  # the text; overlock-hostd reads it in the guest

    @property
    def has_sched_ext(self) -> bool:
        return "CONFIG_SCHED_CLASS_EXT=y" in self.config.splitlines()


@dataclass(frozen=True)
class ScxSpec(Spec):
    """The guest: all its vCPUs in one thread of QEMU's, by the count of instructions."""

    turn_us: int = TURN_US
    accel: str = ICOUNT

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


def _choose(listed: Sequence[str], version: str) -> str:
    """The newest release of that version; nothing if there is none."""
    of = re.compile(rf"linux-image-({re.escape(version)}\.\S*-cloud-amd64)")
    found = [match[1] for name in listed if (match := of.fullmatch(name))]
    return max(found, key=order, default="")


def _versions(listed: Sequence[str]) -> list[str]:
    found = (re.match(r"linux-image-(\d+\.\d+)\.\S*-cloud-amd64$", name) for name in listed)
    return sorted({match[1] for match in found if match}, key=order)


def _release(suites: Suites, version: str) -> str:
    why = ""
    for suite in SUITES:
        if unread := suites.add(suite):
            why = unread  # a mirror need not have all
        elif release := _choose(suites.named("linux-image-"), version):
            return release
    if not (there := _versions(suites.named("linux-image-"))):
        raise Fail(f"Debian's kernels cannot be listed: {why}", MISSING)
    have = f"Debian's {', '.join(SUITES)} have {', '.join(there)}"
    raise Fail(f"--kernel {version}: there is no such kernel; {have}", MISSING)


def _unpacked(suites: Suites, release: str, into: Path) -> None:
    for part in PARTS:
        package = f"linux-{part}-{release}"
        if package not in suites.named(package):
            continue
        file, why = suites.fetched(package)
        if not file:
            raise Fail(f"{package} cannot be fetched: {why}", MISSING)
        unpack(["dpkg-deb", "-x", str(file), str(into)])


def _part(tree: Path, name: str, release: str) -> Path:
    """Newer packages have it beside the modules, older ones in /boot."""
    for path in (tree / f"boot/{name}-{release}", tree / f"usr/lib/modules/{release}/{name}"):
        if path.exists():
            return path
    raise Fail(f"Debian's packages of {release} have no {name}", MISSING)


def _fetch_kernel(version: str, target: Path, tell: Tell) -> None:
    tell(f"fetching Debian's Linux {version}")
    paths.make(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".apt-") as made:
        folder = Path(made)
        suites = Suites(folder)
        release = _release(suites, version)
        tree, fresh = folder / "unpacked", folder / "fresh"
        _unpacked(suites, release, tree)
        fresh.mkdir()
        (fresh / "release").write_text(release)
        for name in ("config", "vmlinuz"):
            shutil.move(_part(tree, name, release), fresh / name)
        fresh.rename(target)


def debian_kernel(of: Rig, version: str, tell: Tell) -> Kernel:
    folder = of.kernels / version
    if not folder.exists():
        _fetch_kernel(version, folder, tell)
    release, config = (folder / "release").read_text(), (folder / "config").read_text()
    return Kernel(folder / "vmlinuz", release, config)


def own_kernel(folder: Path | None, version: str, variant: str) -> Kernel:
    """That of `overlock guest build`. In counted time a PAUSE would cost a vCPU its turn."""
    home = paths.home(folder, version, variant)
    release = home.needed()["version"]
    return Kernel(home.kernel("nop"), release, (home.build / ".config").read_text())


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
    for name in ("liboverlock-run.so", "liboverlock-run-spins.so"):
        found[f"usr/lib/overlock/{name}"] = (DATA, pause.as_nop(native.file(name))[0])
    for name in DECODER:
        found[f"usr/lib/overlock/{name}"] = (DATA, native.file(name).read_bytes())
    found["usr/lib/liboverlock-chaos.so"] = (DATA, native.file("liboverlock-chaos.so").read_bytes())
    for path in sorted((top / "lab/sched/guest/loads").iterdir()):
        found[f"loads/{path.name}"] = (PROGRAM, path.read_bytes())
    files.write(of.initramfs, initramfs.compressed(initramfs.archive(found)))


def packed(of: Rig, kernel: Kernel, names: Sequence[str], tell: Tell) -> Path:
    """What the guest has, with these programs and the kernel's configuration. Linux unpacks one
    archive after the other."""
    known = {LOADER, *SHARED, *OF_BPF}
    wanted = sorted({programs.name_of(name) for name in names})
    archives = [programs.made(name, of.folder, known, tell) for name in wanted]
    config = {f"boot/config-{kernel.release}": (DATA, kernel.config.encode())}
    parts = [path.read_bytes() for path in (of.initramfs, *archives)]
    file = of.folder / "packed.gz"
    files.write(file, b"".join([*parts, initramfs.compressed(initramfs.archive(config))]))
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
    _build_programs(of, top, tell)
    _pack(of, top)
    return of
