# SPDX-License-Identifier: MIT
"""The wheel by itself, away from any checkout: it carries all that its commands need."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools.check.campaign import WITH_GAPS
from tests.cli.test_bench import HEADER, SOUND
from tests.command import SHORT
from tests.conftest import NATIVE, TOP
from tests.processes import HANG_S

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def made(folder: Path) -> Path:
    subprocess.run([*PIP, "wheel", "--no-deps", "-w", folder, TOP], check=True, timeout=HANG_S)
    (wheel,) = folder.glob("overlock_tools-*-py3-none-manylinux_*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the wheel's content, as pip unpacks it."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([*PIP, "install", "--no-deps", "--target", folder, wheel], check=True)
    return folder


def test_packed_again_it_is_the_same(wheel: Path, tmp_path: Path) -> None:
    """Of the same programs; tests/packaging/twice_at_size.py also builds these."""
    assert made(tmp_path).read_bytes() == wheel.read_bytes()


def test_the_profiler_comes_along(installed: Path, tmp_path: Path) -> None:
    """By BPF, or it is the kernel that refuses: nothing is missing."""
    if not (NATIVE / "overlock-profiler").exists():
        pytest.skip("overlock-profiler is not built here")
    done = run(installed, tmp_path, "profile", "--by", "bpf", "--", "true")
    assert "not built" not in done.stderr
    for name in ("overlock-symbolizer", "overlock-hostd", "overlock-monitord"):
        assert (installed / "overlock_tools/native" / name).exists()


def test_the_finder_of_loops_comes_along(installed: Path, tmp_path: Path) -> None:
    """With what it decodes by, wherever it is called from."""
    if not (NATIVE / "overlock-loops").exists():
        pytest.skip("overlock-loops is not built here")
    native = installed / "overlock_tools/native"
    libraries = {found.name for found in native.glob("libZy*")}
    assert {name.partition(".")[0] for name in libraries} == {"libZydis", "libZycore"}
    tracing = {**os.environ, "LD_DEBUG": "libs"}
    command = [str(native / "overlock-loops"), "/bin/true"]
    done = subprocess.run(
        command, env=tracing, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["functions"]
    assert libraries <= set(re.findall(rf"calling init: {native}/(\S+)", done.stderr))
    assert (native / "liboverlock-run-spins.so").exists()


def run(installed: Path, cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k != "OVERLOCK_NATIVE"}
    return subprocess.run(
        [sys.executable, "-m", "overlock_tools", *args],
        cwd=cwd,
        env={**clean, "PYTHONPATH": str(installed)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def test_it_is_not_the_checkout_that_runs(installed: Path, tmp_path: Path) -> None:
    script = "import overlock_tools.core.system.native as n; print(n.checkout(), n.folder())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"None {installed}/overlock_tools/native\n"


@pytest.mark.parametrize("build", [[], ["--counters"]])
def test_bench_with_a_lock_from_outside(installed: Path, tmp_path: Path, build: list[str]) -> None:
    (tmp_path / "mine.h").write_text(HEADER.format(acquire=SOUND))
    args = ("bench", "sections", "--lock", "./mine.h", "--threads", "2", *SHORT, *build)
    done = run(installed, tmp_path, *args)
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout


# PEP 600: what every Linux has. The symbols of glibc say how new it must be.
OF_EVERY_LINUX = (
    "libc",
    "libm",
    "libdl",
    "libpthread",
    "librt",
    "libgcc_s",
    "libstdc++",
    "ld-linux",
)


def test_what_is_native_runs_where_the_tag_says(installed: Path) -> None:
    native, needed, versions = installed / "overlock_tools/native", set(), set()
    for program in native.iterdir():
        if program.is_file() and program.read_bytes()[:4] == b"\x7fELF":
            said = run_tool("objdump", "-p", program)
            needed |= set(re.findall(r"NEEDED +(\S+)", said))
            versions |= {tuple(map(int, v)) for v in re.findall(r"GLIBC_(\d+)\.(\d+)", said)}
    (tag,) = installed.glob("*.dist-info/WHEEL")
    glibc = re.search(r"manylinux_(\d+)_(\d+)_", tag.read_text())
    assert glibc
    assert max(versions) <= (int(glibc[1]), int(glibc[2]))
    ours = {name for name in needed if name.startswith("liboverlock") or (native / name).exists()}
    assert [name for name in needed - ours if not name.startswith(OF_EVERY_LINUX)] == []


def run_tool(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_checker_comes_along(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text(HEADER.format(acquire=SOUND))
    for lock in ("ticket", "./mine.h"):
        done = run(installed, tmp_path, "check", lock, "--size", "2x1", "--no-cache")
        assert done.returncode in (0, WITH_GAPS), (done.stdout, done.stderr)
        assert "source lines" not in done.stdout  # all are known
        assert "exhausted: holds" in done.stdout


def test_the_simulator_comes_along(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "sim", "collapse", "--time", "1", "--locks", "tas", "--jobs=1")
    assert done.returncode == 0, (done.stdout, done.stderr)
    done = run(installed, tmp_path, "sim", "calibrate", "--runs", "1", "-o", "here.toml")
    assert done.returncode == 0, (done.stdout, done.stderr)


def test_a_wheel_without_it_says_what_to_install(installed: Path, tmp_path: Path) -> None:
    less = shutil.copytree(installed, tmp_path / "less")
    (less / "overlock_tools/native/overlock-check").unlink()
    done = run(less, tmp_path, "check", "ticket")
    assert done.returncode == 3
    assert "not built; install libboost-context-dev, " in done.stderr
    assert "in overlock's sources\n" in done.stderr
    done = run(less, tmp_path, "guest", "build")
    assert done.returncode == 3
    assert "run `make guest` in a clone of them" in done.stderr


def test_run(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "run", "--lock", "tas", "--", "sh", "-c", "echo fine; exit 5")
    assert (done.returncode, done.stdout, done.stderr) == (5, "fine\n", "")


def test_its_overlock_is_the_launcher(installed: Path, tmp_path: Path) -> None:
    launcher = installed / "bin/overlock"
    assert launcher.read_bytes().startswith(b"\x7fELF")

    def said(*words: str) -> str:
        return subprocess.run(
            [launcher, *words],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(installed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    preloaded = f"LD_PRELOAD={installed}/overlock_tools/native/liboverlock-run.so\n"
    assert preloaded in said("run", "--", "env")
    (tmp_path / "locks.toml").write_text('lock = "mcs"\n')
    assert preloaded in said("run", "--config", "locks.toml", "--", "env")
    assert said("--version").startswith("overlock, version ")
