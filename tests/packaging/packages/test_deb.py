# SPDX-License-Identifier: MIT
"""`make deb`: the packages, unpacked as dpkg would, and used."""

import platform
import re
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.packaging.packages.conftest import PACKAGES, run

PROGRAM = TOP / "tests/run/programs/guarded.c"


@pytest.fixture(scope="session")
def root(packages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    for name in PACKAGES:
        run("dpkg-deb", "-x", packages[name], folder)
    return folder


def libraries(root: Path) -> Path:
    return root / f"usr/lib/{platform.machine()}-linux-gnu"


def test_what_each_package_has(packages: dict[str, Path]) -> None:
    def has(name: str, *wanted: str) -> None:
        files = run("dpkg-deb", "-c", packages[name])
        for path in wanted:
            assert path in files, (name, files)

    has("liboverlock0", "/liboverlock.so.0")
    has("liboverlock-dev", "/overlock.pc", "overlock/overlock.h", "/liboverlock.a", "Config.cmake")
    has("overlock", *(f"usr/lib/overlock/liboverlock-run{f}.so" for f in ("", "-counted")))
    has("overlock", "usr/share/overlock/overlock-gdb.py", "examples/overlock.service.conf")
    has("overlock", "man1/overlock.1.gz", "man1/overlock-run.1.gz")
    has("overlock-monitor", "lib/overlock/overlock-monitord", "overlock-monitord.service")
    has("overlock-tools", "bin/overlock-tools", "dist-packages/overlock_tools/cli/main.py")
    needed = run("dpkg-deb", "-f", packages["overlock"], "Depends")
    assert "libc6 (>= 2.3" in needed
    assert "libstdc++" not in needed  # the demangler came along


def test_the_command_finds_what_a_wheel_carries(root: Path) -> None:
    """Its list names them; libraries and the launcher are in packages of their own."""
    native = root / "usr/lib/python3/dist-packages/overlock_tools/native"
    hook = (TOP / "tools/wheel_native.py").read_text()
    names = re.findall(r'"(overlock-[a-z-]+|include|check/engine|lib/[a-z_.]+|sim/[a-z]+)"', hook)
    assert {"overlock-check", "check/engine", "lib/site.h"} <= set(names)
    assert not [name for name in names if not (native / name).exists()]


def test_a_program_links_with_it(root: Path, tmp_path: Path) -> None:
    where = {"PKG_CONFIG_SYSROOT_DIR": str(root), "PKG_CONFIG_LIBDIR": ""}
    where["PKG_CONFIG_LIBDIR"] = str(libraries(root) / "pkgconfig")
    flags = run("pkg-config", "--cflags", "--libs", "overlock", **where).split()
    source, program = TOP / "examples/counter.c", tmp_path / "counter"
    run("cc", source, f"-I{root}/usr/include", f"-L{libraries(root)}", *flags, "-o", program)
    assert run(program, LD_LIBRARY_PATH=str(libraries(root))) == "8000\n"


@pytest.mark.parametrize("flavour", ["", "-counted", "-checked"])
def test_a_program_runs_under_it(root: Path, tmp_path: Path, flavour: str) -> None:
    program, out = tmp_path / "guarded", tmp_path / "report"
    run("cc", "-O1", "-pthread", PROGRAM, "-o", program)
    more = {"OVERLOCK_LOCK": "unfair_qspin", "OVERLOCK_OUTPUT": str(out)}
    library = root / f"usr/lib/overlock/liboverlock-run{flavour}.so"
    assert run(program, "2", "100", given="\n", LD_PRELOAD=str(library), **more) == "200\n"
    assert out.exists() == bool(flavour)


def test_the_command_explains_itself_without_python(
    packages: dict[str, Path], tmp_path: Path
) -> None:
    run("dpkg-deb", "-x", packages["overlock"], tmp_path)
    overlock, bare = tmp_path / "usr/bin/overlock", {"PATH": "/usr/bin:/bin", "OVERLOCK_NATIVE": ""}
    assert "overlock run [OPTIONS] [--] PROGRAM" in run(overlock, "--help", **bare)
    assert run(overlock, "--version", **bare).startswith("overlock, version ")
    assert "ticket  " in run(overlock, "locks", **bare)
    assert run(overlock, "run", "--lock", "ticket", "echo", "fine", **bare) == "fine\n"
