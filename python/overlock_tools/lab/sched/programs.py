# SPDX-License-Identifier: MIT
"""Unmodified programs for the rig of `overlock sched`: an archive of each, beside the rig's own.

Each has a load, measured-NAME THREADS SECONDS, which prints what was done in a line of JSON. With
options of `overlock run` after its name, the program has another lock in its mutexes.
"""

import re
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from overlock_tools.core.model import defs
from overlock_tools.core.system import files, native
from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import initramfs, locks, paths, pause, programs, vm
from overlock_tools.guest.initramfs import Contents
from overlock_tools.guest.packages import Packages, Tell
from overlock_tools.lab.nested import kernel

SOURCES = Path("../lab/sched/guest/programs")
ELF = b"\x7fELF"
QEMU_MODULES = Path("/usr/lib/x86_64-linux-gnu/qemu")
GUEST = "guest"
NUMBER = re.compile("[1-9][0-9]?")
MOST_BESIDE = 64  # MOST of mutexes.c
BESIDE = ("mutexes", "deferring", "spinlocks")
LISTED = "`overlock locks` lists them"
# What checks the word after @ of the others that take one.
WITH_LOCK: Mapping[str, Callable[[str], object]] = {
    "ebizzy": lambda lock: defs.checked_variant(lock, defs.load().locks, LISTED),
    GUEST: locks.checked,
}


def _openmp(_: Packages) -> Contents:
    """With LLVM's runtime, which serves gcc's calls too; libgomp is left out then."""
    libomp = ("-fopenmp", "-Wl,--as-needed", "-l:libomp.so.5")
    return programs.compiled(paths.sources() / SOURCES / "openmp.c", "measured-openmp", *libomp)


def _leveldb(_: Packages) -> Contents:
    source = paths.sources() / SOURCES / "leveldb.cpp"
    return programs.compiled(source, "measured-leveldb", "-std=c++20", "-lleveldb")


def _pgbench(packages: Packages) -> Contents:
    return programs.PARTS["pgbench"][0](packages)


def _measured(name: str, *options: str, source: str = "") -> Contents:
    path = paths.sources() / SOURCES / f"{source or name}.c"
    return programs.compiled(path, f"measured-{name}", *options)


def _liboverlock() -> list[str]:
    include, library = paths.sources().parent / "include", native.file("liboverlock.so")
    return [f"-I{include}", str(library), f"-Wl,-rpath,{library.parent}"]


def _ebizzy(_: Packages) -> Contents:
    """For a lock that is the program's own."""
    return _measured("ebizzy", *_liboverlock())


def _deferring(_: Packages) -> Contents:
    """For what its holders ask of the kernel."""
    return _measured("deferring", "-pthread", "-DDEFERRING", *_liboverlock(), source="mutexes")


def _kernbench(packages: Packages) -> Contents:
    return programs.PARTS["kernbench"][0](packages) | _measured("kernbench")


def _pbzip2(packages: Packages) -> Contents:
    return programs.PARTS["pbzip2"][0](packages) | _measured("pbzip2")


def _guest(_: Packages) -> Contents:
    """QEMU, and the kernel and files of `overlock guest`'s own guests."""
    guests = paths.home()
    guests.needed()
    qemu = initramfs.program(vm.QEMU, "qemu-system-x86")
    translator = sorted(QEMU_MODULES.glob("accel-tcg-*.so"))
    return {
        **initramfs.with_libraries(qemu),
        **{str(path).lstrip("/"): (0o644, path.read_bytes()) for path in translator},
        **kernel.guest(guests.kernel("nop"), guests.initramfs("nop")),
    }


PROGRAMS: Mapping[str, Callable[[Packages], Contents]] = {
    "mutexes": lambda _: _measured("mutexes", "-pthread"),
    "deferring": _deferring,
    "spinlocks": lambda _: _measured("spinlocks", "-pthread", "-DOWN_LOCK", source="mutexes"),
    "openmp": _openmp,
    "leveldb": _leveldb,
    "pgbench": _pgbench,
    "ebizzy": _ebizzy,
    "kernbench": _kernbench,
    "pbzip2": _pbzip2,
    GUEST: _guest,
}


def name_of(given: str) -> str:
    """Of a program with a lock, as in ebizzy@i_spin, or with options of `overlock run`."""
    return given.partition(" ")[0].partition("@")[0]


def checked(given: str) -> str:
    name, at, rest = given.partition(" ")[0].partition("@")
    if name not in PROGRAMS:
        raise Fail(f"--program {name}: expected {', '.join(PROGRAMS)}")
    if name in BESIDE and at and not (NUMBER.fullmatch(rest) and int(rest) <= MOST_BESIDE):
        raise Fail(f"--program {given}: expected {name}@N, beside N = 1 to {MOST_BESIDE} processes")
    if name not in {*BESIDE, *WITH_LOCK} and at:
        raise Fail(f"--program {given}: {name} takes no @; {', '.join(WITH_LOCK)} take a lock")
    if name in WITH_LOCK and at:
        WITH_LOCK[name](rest)
    return given


def command(given: str, threads: int, seconds: float) -> str:
    program, _, options = given.partition(" ")
    lock = program.partition("@")[2]
    load = f"measured-{name_of(given)} {threads} {seconds} {lock}".rstrip()
    return f"overlock run {options} -- /usr/bin/{load}" if options else load


def without_pause(contents: Contents) -> Contents:
    """A vCPU that executes PAUSE gives its turn away, as no CPU does."""
    found = dict(contents)
    with tempfile.TemporaryDirectory(prefix="overlock-pause-") as folder:
        for name, (mode, data) in contents.items():
            if data.startswith(ELF):
                path = Path(folder) / "program"
                path.write_bytes(data)
                found[name] = (mode, pause.as_nop(path)[0])
    return found


def _digest(name: str) -> str:
    sources = [Path(__file__), Path(programs.__file__), native.file("liboverlock.so")]
    sources += sorted((paths.sources() / SOURCES).iterdir())
    if name == GUEST:
        sources.append(paths.home().stamp)
    return paths.digest_of(filter(Path.exists, sources))[:12]


def made(name: str, folder: Path, known: Collection[str], tell: Tell) -> Path:
    """Without the libraries that the rig has, which are newer than this system's."""
    file = folder / f"{name}-{_digest(name)}.gz"
    if file.exists():
        return file
    tell(f"making what the guest needs for {name}")
    found = PROGRAMS[name](Packages(folder / "packages", tell))
    own = {path: entry for path, entry in found.items() if Path(path).name not in known}
    files.write(file, initramfs.compressed(initramfs.archive(without_pause(own))))
    for path in folder.glob(f"{name}-*.gz"):
        if path != file:
            path.unlink(missing_ok=True)
    return file
