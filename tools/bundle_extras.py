# SPDX-License-Identifier: MIT
"""What a bundle has on request: real programs, and a guest's kernel with QEMU."""

import json
import shutil
from pathlib import Path

from overlock_tools.apps import app, campaign, results
from overlock_tools.apps.app import App
from overlock_tools.core.system import bundled
from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.guest import paths, vm

GUEST = bundled.GUEST
# Of `overlock apps list`: those that need neither services' files nor a compiler when they run.
GROUPS = {
    "programs": (
        *("pbzip2", "leveldb", "leveldb-writing", "rocksdb", "memcached", "omp-histogram"),
        *("omp-worklist", "omp-particles", "omp-components", "omp-montecarlo", "omp-ordered"),
    )
}
# Beside the program: what it loads by name, and where it looks for that, from its own folder.
QEMU_PARTS = (
    "lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so",
    "share/seabios/bios-256k.bin",
    *(f"share/qemu/{name}" for name in ("kvmvapic.bin", "linuxboot_dma.bin", "pvh.bin")),
)


def copy(top: Path, asked: list[str]) -> None:
    names = [name for word in asked if word != GUEST for name in GROUPS.get(word, (word,))]
    if unknown := [name for name in names if name not in GROUPS["programs"]]:
        known = ", ".join((*GROUPS, *GROUPS["programs"], GUEST))
        raise Fail(f"--with {unknown[0]}: expected {known}")
    apps = campaign.chosen(names)
    home = paths.home()
    if GUEST in asked:
        home.needed()
        copy_qemu(top / bundled.QEMU)
        shutil.copytree(home.image, top / GUEST / home.image.relative_to(home.folder.parent))
    if apps:
        copy_programs(top, apps)


def copy_programs(top: Path, apps: list[type[App]]) -> None:
    for one in apps:
        for name in one.programs:
            below = bundled.LIBRARIES if ".so" in name else bundled.PROGRAMS
            copied(Path(app.program(name)), top / below / name)
        if one.driver:
            copied(Path(one.driver.built()), top / bundled.PROGRAMS / one.driver.name)
    packages = {name for one in apps for name in one.packages}
    listed = json.dumps(results.installed(sorted(packages)), indent=1) + "\n"
    (top / bundled.PROGRAMS / bundled.VERSIONS).write_text(listed)


def copy_qemu(folder: Path) -> None:
    program = shutil.which(vm.QEMU)
    if not program:
        raise Fail(f"{vm.QEMU} is missing; `make guest` installs it", MISSING)
    copied(Path(program), folder / "bin" / vm.QEMU)
    for part in QEMU_PARTS:
        source = Path(program).resolve().parent.parent / part
        if not source.exists():
            raise Fail(f"{source} is missing; install qemu-system-x86 and seabios", MISSING)
        copied(source, folder / part)


def copied(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source.resolve(), target)
