# SPDX-License-Identifier: MIT
"""From source to what is booted: kernel, loads, initramfs. Interrupted, the same again goes on."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from overlock_tools.core.system import files, native
from overlock_tools.core.system.errors import FAILED, MISSING, Fail
from overlock_tools.guest import initramfs, paths, pause, source
from overlock_tools.guest.packages import Tell
from overlock_tools.guest.paths import PAUSES, Home

# Of a build with guest.config; of use only until one from nothing has been counted.
ABOUT_STEPS = 1480
STEP = re.compile(r"^\s+(?:CC|AS|LD|AR|HOSTCC|HOSTLD|OBJCOPY|GEN)\b")
# Options that a newer kernel has by another name only; that is in guest.config, too.
RENAMED = {"CONFIG_PROC_SYSCTL=y": "CONFIG_SYSCTL=y"}  # since 7.3
TOLD_LINES = 6
KERNEL_MODULES = (
    "kernel/torture.ko",
    "kernel/locking/locktorture.ko",
    "kernel/rcu/rcutorture.ko",
)
LOAD_MODULES = ("overlock_loop.ko", "overlock_pair.ko")
TOOLS = {
    "make": "make",
    "gcc": "gcc",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "objdump": "binutils",
    "tar": "tar",
    "xz": "xz-utils",
    "patch": "patch",
}


@dataclass
class Progress:
    """The compiler's progress, for display."""

    total: int
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds_left(self) -> float | None:
        if self.done < 20 or self.total <= self.done:
            return None
        return (time.monotonic() - self.began) / self.done * (self.total - self.done)


def check_tools(more: Mapping[str, str] | None = None) -> None:
    paths.sources()  # without them no tool helps
    wanted = {**TOOLS, **(more or {})}
    lacking = [package for tool, package in wanted.items() if not shutil.which(tool)]
    if lacking:
        raise Fail(
            f"building a kernel needs {', '.join(lacking)}; install them, or run `make guest`",
            MISSING,
        )


def _compiler() -> str:
    return "ccache gcc" if shutil.which("ccache") else "gcc"


def _environment() -> dict[str, str]:
    """Nothing of time or place goes into the kernel, so that the same source gives the same."""
    fixed = {
        "KBUILD_BUILD_TIMESTAMP": "@0",
        "KBUILD_BUILD_USER": "overlock",
        "KBUILD_BUILD_HOST": "overlock",
        "LC_ALL": "C",
    }
    dropped = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD")
    return {name: v for name, v in os.environ.items() if name not in dropped} | fixed


def _make(home: Home, *words: str) -> list[str]:
    command = ["make", "-C", str(home.source), f"O={home.build}", f"CC={_compiler()}"]
    return [*command, "ARCH=x86_64", *words]


def making(command: list[str], progress: Progress, each: Tell) -> None:
    """In a process group of its own: ended as a whole if we are."""
    last: deque[str] = deque(maxlen=200)
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=_environment(),
        process_group=0,
    )
    try:
        assert child.stdout is not None
        for line in child.stdout:
            last.append(line.rstrip())
            if STEP.match(line):
                progress.done += 1
                each(line.strip())
        code = child.wait()
    finally:
        _end_group(child)
    if code:
        raise Fail(_first_error(list(last)), FAILED)


def _end_group(child: "subprocess.Popen[str]") -> None:
    """Gently first: `make` then removes what it had half written."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(10)
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _first_error(lines: list[str]) -> str:
    wrong = [line for line in lines if re.search(r"error[: ]|undefined reference|\*\*\*", line)]
    return f"the build failed: {(wrong or lines or ['make printed nothing'])[0].strip()}"


def run(home: Home, progress: Progress, terms: "Terms", *words: str) -> None:
    """`make` of these, its steps counted from now on."""
    progress.began = time.monotonic()
    making(_make(home, *words), progress, terms.each)


def quietly(home: Home, target: str) -> None:
    making(_make(home, "-s", target), Progress(0), lambda _: None)


def configured(home: Home, fragment: bytes, each: Tell) -> None:
    """Nothing, the fragment, and what follows from it; left alone while that is the same."""
    mark = home.build / "fragment"
    there = (home.build / ".config").exists() and mark.exists()
    if there and mark.read_bytes() == fragment:
        return
    home.build.mkdir(exist_ok=True)
    each("configuring")
    quietly(home, "tinyconfig")
    with (home.build / ".config").open("ab") as config:
        config.write(b"\n" + fragment)
    quietly(home, "olddefconfig")
    ignored = list(_not_in_force(fragment.decode(), home.build / ".config"))
    if ignored:
        raise Fail(f"this kernel's configuration does not support {', '.join(ignored)}", FAILED)
    files.write(mark, fragment)


def _not_in_force(fragment: str, config: Path) -> Iterator[str]:
    """Options that were asked for, and are set otherwise."""
    there = set(config.read_text().split("\n"))
    for line in fragment.split("\n"):
        name, equals, value = line.strip().partition("=")
        if RENAMED.get(line.strip()) in there:
            continue
        if equals and name.startswith("CONFIG_") and value != "n" and line.strip() not in there:
            yield f"{name}={value}"


def _loads(home: Home, progress: Progress, each: Tell) -> None:
    """The module of guest/loads, against this kernel."""
    top = native.checkout()
    home.modules.mkdir(exist_ok=True)
    for file in (paths.sources() / "loads/module").iterdir():
        target = home.modules / file.name
        if not target.exists() or target.read_bytes() != file.read_bytes():
            shutil.copy(file, target)
    words = (f"M={home.modules}", f"OVERLOCK_TOP={top}", "W=1", "KCFLAGS=-Werror", "modules")
    making(_make(home, *words), progress, each)


def _modules(home: Home) -> dict[str, Path]:
    paths = [home.build / name for name in KERNEL_MODULES]
    paths += [home.modules / name for name in LOAD_MODULES]
    return {path.name: path for path in paths}


def _as(kind: str, path: Path) -> tuple[bytes, int]:
    return pause.as_nop(path) if kind == "nop" else (path.read_bytes(), 0)


def _programs() -> list[Path]:
    """Loads that Debian has; a guest without them says so when it is asked for one."""
    found = (shutil.which(name) for name in ("hackbench",))
    return [Path(path) for path in found if path]


def _image(home: Home, steps: int) -> None:
    """All parts written beside, then put in place at once."""
    guest = paths.sources()
    fresh = home.folder / f".{home.image.name}-new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    loads = sorted(path for path in (guest / "loads").iterdir() if path.is_file())
    loads.append(guest / "which-lock")
    replaced = 0
    for kind in PAUSES:
        kernel, count = _as(kind, home.build / "vmlinux")
        replaced += count
        (fresh / home.kernel(kind).name).write_bytes(kernel)
        modules = [(name, _as(kind, path)[0]) for name, path in _modules(home).items()]
        found = initramfs.contents(guest / "init", loads, modules, _programs())
        packed = initramfs.compressed(initramfs.archive(found))
        (fresh / home.initramfs(kind).name).write_bytes(packed)
    known = {
        "version": (home.build / "include/config/kernel.release").read_text().strip(),
        "config": hashlib.sha256((home.build / ".config").read_bytes()).hexdigest(),
        "kernel": hashlib.sha256((home.build / "vmlinux").read_bytes()).hexdigest(),
        "loads": _digest_of_loads(fresh, home),
        "sources": paths.digest_of_sources(),
        "pauses_replaced": replaced,
        "steps": steps,
    }
    files.write(fresh / home.stamp.name, json.dumps(known, indent=1) + "\n")
    old = home.folder / f".{home.image.name}-old"
    shutil.rmtree(old, ignore_errors=True)
    if home.image.exists():
        home.image.rename(old)
    fresh.rename(home.image)
    shutil.rmtree(old, ignore_errors=True)


def _digest_of_loads(folder: Path, home: Home) -> str:
    packed = (folder / home.initramfs("as-is").name).read_bytes()
    return hashlib.sha256(packed).hexdigest()


@dataclass(frozen=True)
class Terms:
    jobs: int
    tell: Tell  # a stage begins
    each: Tell  # a step of the compiler is done


def build(
    home: Home, terms: Terms, progress: Progress, more: Path | None = None
) -> Mapping[str, object]:
    """What is known of the image; interrupted, the same again goes on where it was."""
    check_tools()
    paths.make(home.folder)
    source.patched(home, terms.tell)
    from_nothing = not (home.build / ".config").exists()
    configured(home, home.fragment + (more.read_bytes() if more else b""), terms.tell)
    terms.tell("compiling the kernel")
    known = home.built()
    progress.total = int(known["steps"]) if known else ABOUT_STEPS
    run(home, progress, terms, f"-j{terms.jobs}", "vmlinux", "modules")
    _loads(home, progress, terms.each)
    terms.tell("building the image")
    _image(home, progress.done if from_nothing else progress.total)
    return home.needed()
