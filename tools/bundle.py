#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One archive that measures a machine without network, compiler or Python: docs/measuring.md.

It has the programs of build/native, the package, what the package depends on as this .venv has it,
this Python, and of shared libraries all but glibc. So it runs where glibc is no older than here.
"""

import argparse
import io
import lzma
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

import bundle_extras
from overlock_tools.core.system import bundled
from overlock_tools.core.system.errors import Fail

TOP = Path(__file__).resolve().parent.parent
NAME = "overlock-bundle"
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
# Of the standard library, what nobody here imports.
LEFT_OUT = {
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data"),
    *("site-packages", "dist-packages", "__pycache__", "distutils", "venv", "unittest"),
}
# Of its modules, those of Tk and of its own tests.
UNUSED_MODULE = re.compile(r"_(tkinter|test|xxtest|ctypes_test|xx)\w*\.cpython-.*\.so")
# Of numpy, what only builds and types need.
UNUSED = re.compile(
    r"numpy/(f2py|_core/(include|lib)|distutils|testing)/|/tests?/|\.pyi$|\.a$|\.lib$"
)
LIBC = re.compile(r"(ld-linux|lib(c|m|mvec|dl|rt|pthread|util|resolv|anl)\.so)")
NATIVE = ("overlock*", "liboverlock*.so*", "libZy*.so*", "defs.json")
NOT_NATIVE = ("overlock-sched-load", "overlock-litmus", "overlock-defs")
MOST_MB = 40

LAUNCHER = f"""#!/bin/sh
# The overlock command of this bundle. Of its variables none changes what it measures or profiles.
here=$(dirname "$(dirname "$(readlink -f "$0")")")
export {bundled.VARIABLE}="$here" OVERLOCK_NATIVE="$here/native" PYTHONDONTWRITEBYTECODE=1
exec "$here/python/bin/{PYTHON}" -E -s -m overlock_tools "$@"
"""
COLLECT = """#!/bin/sh
# Measures this machine: `collect --help`. The result is a file in the present folder.
exec "$(dirname "$(readlink -f "$0")")/bin/overlock" collect "$@"
"""


def fail(message: str) -> None:
    sys.exit(f"bundle.py: {message}")


def dependencies(only: frozenset[str] | None = None) -> list[metadata.Distribution]:
    """Of the plain command, extras left out, or of those named, and what these need."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"]
    waiting = [one for one in wanted if only is None or Requirement(one).name in only]
    found = dict[str, metadata.Distribution]()
    while waiting:
        asked = Requirement(waiting.pop())
        if asked.name in found or (asked.marker and not asked.marker.evaluate({"extra": ""})):
            continue
        found[asked.name] = metadata.distribution(asked.name)
        waiting += found[asked.name].requires or []
    return [found[name] for name in sorted(found)]


def copy_package(site: Path, only: frozenset[str] | None = None) -> None:
    kept = shutil.ignore_patterns("__pycache__")
    shutil.copytree(TOP / "python/overlock_tools", site / "overlock_tools", ignore=kept)
    for one in dependencies(only):
        for file in one.files or []:
            source, target = Path(str(one.locate_file(file))), site / file
            inside = ".." not in file.parts and "__pycache__" not in file.parts
            if inside and source.is_file() and not UNUSED.search(str(file)):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)


def copy_python(home: Path) -> Path:
    """Where it looks for packages."""
    library = Path(os.__file__).parent

    def skipped(folder: str, names: list[str]) -> set[str]:
        outer = Path(folder) == library
        left = {n for n in names if n in LEFT_OUT or n.endswith(".a") or UNUSED_MODULE.match(n)}
        return left | {n for n in names if outer and n.startswith("config-")}

    shutil.copytree(library, home / "lib" / PYTHON, ignore=skipped, symlinks=False)
    (home / "bin").mkdir()
    python = shutil.copy(Path(sys.executable).resolve(), home / "bin" / PYTHON)
    asked = f"import site; print(site.getsitepackages([{str(home)!r}])[-1])"
    # Bytecode would name the folder that it was made in, another one each time.
    return Path(ran(python, "-I", "-B", "-c", asked).strip())


def copy_native(folder: Path) -> None:
    native = Path(os.environ.get("OVERLOCK_NATIVE", TOP / "build/native"))
    if not (native / "overlock-bench").exists():
        fail(f"{native} has no programs; `make checker` builds them")
    folder.mkdir()
    for pattern in NATIVE:
        for path in native.glob(pattern):
            if path.name not in NOT_NATIVE and not path.name.startswith("overlock-peers"):
                shutil.copy(path, folder / path.name)
    shutil.copytree(TOP / "sim/machines", folder / "sim/machines")


def is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def ran(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"{shlex.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def strip(top: Path, wheels: Path) -> None:
    """strip(1) breaks what auditwheel has changed, as numpy's libraries; wheels are stripped."""
    for path in [p for p in top.rglob("*") if p.is_file() and is_elf(p)]:
        path.chmod(0o755)
        if not path.is_relative_to(wheels):
            subprocess.run(["strip", "--strip-unneeded", path], check=False, capture_output=True)


def copy_libraries(top: Path) -> None:
    """What programs and modules load, all but glibc, into one folder. Each file says where that is:
    a variable would also lead the programs there that a user measures."""
    folder = top / bundled.LIBRARIES
    folder.mkdir(exist_ok=True)
    for path in [p for p in top.rglob("*") if p.is_file() and is_elf(p)]:
        done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
        found = re.findall(r"^\s*(\S+) => (/\S+)", done.stdout, re.MULTILINE)
        carried = [(name, file) for name, file in found if not LIBC.match(name)]
        outside = [(name, file) for name, file in carried if not Path(file).is_relative_to(top)]
        for name, file in outside:
            if not (folder / name).exists():
                shutil.copy(Path(file).resolve(), folder / name)
                lead_to(folder, folder / name)
        if outside and path.parent != folder:
            lead_to(folder, path)


def lead_to(libraries: Path, path: Path) -> None:
    """DT_RPATH: unlike DT_RUNPATH, it also holds for the libraries of libraries."""
    ours = "$ORIGIN/" + os.path.relpath(libraries, path.parent)
    own = ran("patchelf", "--print-rpath", path).strip()
    ran("patchelf", "--force-rpath", "--set-rpath", ":".join(filter(None, (own, ours))), path)


def written(top: Path, out: Path) -> None:
    """The same bytes of the same files."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(p for p in top.rglob("*") if p.is_file()):
            entry = archive.gettarinfo(path, f"{NAME}/{path.relative_to(top)}")
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            entry.mode = 0o755 if entry.mode & 0o100 else 0o644
            with path.open("rb") as file:
                archive.addfile(entry, file)
    beside = out.with_name(out.name + ".part")
    beside.write_bytes(lzma.compress(tar.getvalue(), preset=9))
    beside.rename(out)


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bundle.py", description=__doc__.split("\n")[0])
    default = TOP / f"build/{NAME}-{platform.machine()}.tar.xz"
    parser.add_argument("file", nargs="?", type=Path, default=default, help=f"default: {default}")
    parser.add_argument(
        "--with",
        dest="extras",
        action="append",
        default=[],
        metavar="WHAT",
        help="programs, one of them by its name in `overlock apps list`, or guest; repeatable",
    )
    return parser.parse_args()


def main() -> int:
    given = options()
    out: Path = given.file
    if not os.access(out.parent, os.W_OK) or out.is_dir():
        fail(f"{out} cannot be written; give a file in a folder that is there")
    if not shutil.which("patchelf"):
        fail("patchelf is missing; install it, or run `make bundle`")
    with tempfile.TemporaryDirectory(prefix="overlock-bundle-") as name:
        top = Path(name)
        print("gathering the command, its Python and its programs ...", flush=True)
        try:
            bundle_extras.copy(top, given.extras)
        except Fail as error:
            fail(error.message)
        site = copy_python(top / "python")
        copy_package(site)
        copy_native(top / "native")
        strip(top, site)
        copy_libraries(top)
        executable(top / "bin/overlock", LAUNCHER)
        executable(top / "collect", COLLECT)
        shutil.copy(TOP / "LICENSE", top)
        print("packing, which takes a minute ...", flush=True)
        written(top, out)
    size = out.stat().st_size / 1e6
    print(f"{out}: {size:.1f} MB")
    if size > MOST_MB and bundle_extras.GUEST not in given.extras:
        fail(f"more than {MOST_MB} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
