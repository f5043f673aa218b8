# SPDX-License-Identifier: MIT
"""The build as far as it goes without a kernel: progress, errors, its end."""

import signal
import time
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import build, deb, debsource, paths, source
from overlock_tools.guest.build import Progress, Terms
from tests.command import Overlock
from tests.guest.command.conftest import begun
from tests.processes import HANG_S, until


def fake_make(folder: Path, text: str) -> str:
    script = folder / "make"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return str(script)


def test_steps_are_counted_and_other_lines_are_not(tmp_path: Path) -> None:
    text = "echo '  CC      a.o'; echo '  LD [M]  b.ko'; echo 'make: nothing'; echo '  CALL    x'"
    progress = Progress(10)
    seen: list[str] = []
    build.making([fake_make(tmp_path, text)], progress, seen.append)
    assert progress.done == 2
    assert seen == ["CC      a.o", "LD [M]  b.ko"]


def test_time_left_follows_from_the_time_it_took() -> None:
    progress = Progress(total=100, done=50, began=time.monotonic() - 10)
    assert progress.seconds_left == pytest.approx(10, rel=0.1)
    assert Progress(total=100, done=5).seconds_left is None


def test_the_compilers_error_is_the_message(tmp_path: Path) -> None:
    text = "echo '  CC a.o'; echo 'a.c:3:5: error: no such thing'; echo 'make: *** [a.o]'; exit 2"
    with pytest.raises(Fail, match=r"the build failed: a\.c:3:5: error: no such thing"):
        build.making([fake_make(tmp_path, text)], Progress(1), lambda _: None)


def test_an_interrupted_build_leaves_no_compiler_behind(tmp_path: Path) -> None:
    make = fake_make(tmp_path, f"sleep 300 & echo $! $$ >{tmp_path}/pids; echo '  CC a.o'; wait")
    code = f"""
from overlock_tools.guest import build
from overlock_tools.bench.conditions.base import ended_in_order
with ended_in_order():
    build.making([{make!r}], build.Progress(1), lambda _: print("begun", flush=True))
"""
    ours = begun(code, "begun")
    ours.send_signal(signal.SIGTERM)
    ours.communicate(timeout=HANG_S)
    pids = list(map(int, (tmp_path / "pids").read_text().split()))
    until(lambda: not any(map(runs, pids)))


def runs(pid: int) -> bool:
    """A zombie that nobody waits for in a container has ended, too."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_options_that_did_not_take_effect_are_named(tmp_path: Path) -> None:
    fragment = "# words\nCONFIG_A=y\nCONFIG_B=m\nCONFIG_C=n\n\nCONFIG_D=y\n"
    (tmp_path / "config").write_text("CONFIG_A=y\nCONFIG_B=y\n# CONFIG_D is not set\n")
    found = list(build._not_in_force(fragment, tmp_path / "config"))
    assert found == ["CONFIG_B=m", "CONFIG_D=y"]


def test_an_option_counts_that_a_newer_kernel_has_by_another_name(tmp_path: Path) -> None:
    fragment, config = "CONFIG_PROC_SYSCTL=y\nCONFIG_SYSCTL=y\n", tmp_path / "config"
    config.write_text("CONFIG_SYSCTL=y\n")
    assert not list(build._not_in_force(fragment, config))
    config.write_text("# CONFIG_SYSCTL is not set\n")
    assert len(list(build._not_in_force(fragment, config))) == 2


def test_packages_have_no_broken_locks() -> None:
    """The last line for an option counts."""
    wanted = (deb.config(deb.SMALL) + deb.OURS).splitlines()
    lines = [line for line in wanted if line.startswith("CONFIG_OVERLOCK_TEST_LOCKS=")]
    assert lines == ["CONFIG_OVERLOCK_TEST_LOCKS=y", "CONFIG_OVERLOCK_TEST_LOCKS=n"]


@pytest.mark.parametrize("variant", ["off", "off-nopv"])
def test_a_kernel_without_our_locks_is_asked_for_none(tmp_path: Path, variant: str) -> None:
    asked = paths.home(tmp_path, variant=variant).fragment.decode().splitlines()
    assert [line for line in asked if "OVERLOCK" in line and not line.endswith("=n")] == []


def test_a_source_that_cannot_be_had_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    home = paths.Home(tmp_path, "0.0")
    with pytest.raises(Fail, match=r"no apt-get; install linux-source-0\.0"):
        source.tarball(home, lambda _: None)


def test_tools_that_are_not_here_are_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Fail, match=r"needs make, gcc, flex, bison, .*make guest"):
        build.check_tools()


def test_the_image_knows_when_the_sources_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("guest/init", "include/overlock/locks.def", "bench/workload/workload.h"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("before")
    monkeypatch.setattr(paths, "sources", lambda: tmp_path / "guest")
    before = paths.digest_of_sources()
    assert paths.digest_of_sources() == before
    (tmp_path / "include/overlock/locks.def").write_text("after")
    assert paths.digest_of_sources() != before


def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Fail, match=r"from .*/none; give --config FILE, or --config guest"):
        deb.config(str(tmp_path / "none"))


def test_a_configuration_without_the_locks_is_refused_before_it_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "said"
    # As Kconfig does: an option whose dependencies are not there is dropped.
    script = f"echo $* >>{said}; sed -i /OVERLOCK/d {tmp_path}/6.1/deb/build/.config"
    monkeypatch.setattr(build, "_make", lambda _, *words: [fake_make(tmp_path, script), *words])
    monkeypatch.setattr(source, "patched", lambda *_: None)
    monkeypatch.setattr(build, "check_tools", lambda *_: None)
    home = paths.home(tmp_path)
    with pytest.raises(Fail, match=r"cannot include the locks; they need 64-bit x86"):
        deb.packaged(home, "CONFIG_X86_32=y\n", Terms(1, print, print), Progress(1))
    assert said.read_text() == "-s olddefconfig\n"


def test_a_configuration_is_for_packages_only(overlock: Overlock) -> None:
    done = overlock("guest", "build", "--config", "guest")
    assert done.returncode == 2
    assert "--config needs --deb" in done.stderr


def test_newer_versions_come_first() -> None:
    listed = ["4.17.5+72-g01140da4e8-1", "4.17.10-1", "4.17.7+13-g2445b30a44-0+deb12u1"]
    ordered = sorted(listed, key=debsource.order, reverse=True)
    assert [version.partition("+")[0] for version in ordered] == ["4.17.10-1", "4.17.7", "4.17.5"]
