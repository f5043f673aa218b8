# SPDX-License-Identifier: MIT
"""`make deb`: the packages, unpacked as dpkg would, and used."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.processes import HANG_S

PROGRAM = TOP / "tests/run/programs/guarded.c"
PACKAGES = ("liboverlock-dev", "liboverlock0", "overlock")


def run(*command: str | Path, given: str = "", **more: str) -> str:
    """What it printed; it must end well and say nothing on standard error."""
    done = subprocess.run(
        [str(word) for word in command],
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, **more},
        timeout=HANG_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not shutil.which("dh"):
        pytest.skip("there is no debhelper; make deb brings it")
    folder = tmp_path_factory.mktemp("deb")
    others = folder / "other_0.1.0_all.deb"
    others.touch()
    files = [Path(line) for line in run(TOP / "tools/deb", folder).splitlines()]
    assert others.exists()
    assert others not in files
    found = {path.name.split("_")[0]: path for path in files}
    assert set(PACKAGES) <= set(found)
    return found


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
    needed = run("dpkg-deb", "-f", packages["overlock"], "Depends")
    assert "libc6 (>= 2.3" in needed
    assert "libstdc++" not in needed  # the demangler came along


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


def test_the_command_explains_itself_without_python(root: Path) -> None:
    overlock, bare = root / "usr/bin/overlock", {"PATH": "/usr/bin:/bin", "OVERLOCK_NATIVE": ""}
    assert "overlock run [OPTIONS] [--] PROGRAM" in run(overlock, "--help", **bare)
    assert run(overlock, "--version", **bare).startswith("overlock, version ")
    assert "ticket  " in run(overlock, "locks", **bare)
    assert run(overlock, "run", "--lock", "ticket", "echo", "fine", **bare) == "fine\n"
