# SPDX-License-Identifier: MIT
"""Guests under Xen, and Xen itself: with an apt and a make that are none."""

import gzip
from dataclasses import dataclass
from pathlib import Path

import pytest

from overlock_tools.core.system import errors
from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import build, debsource, hosts, packages, paths
from overlock_tools.guest.accel import Accel
from overlock_tools.guest.build import Progress, Terms
from overlock_tools.guest.hosts import HostSetup
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Spec
from overlock_tools.lab.xen import build as xen_build
from overlock_tools.lab.xen import domain as xen

TWO = Placement("balanced", ((0, 1),))


def test_xen_boots_the_kernel_as_its_first_domain() -> None:
    home = paths.Home(Path("/g"), "6.1")
    spec = Spec(Path("/k"), Path("/i"), 4, "xen", "ticket", hidden=False, words=("a=1,2",))
    under = xen.under(spec, home, TWO, 5)
    words = under.served(Path("/t"))
    told = " ".join(words)
    assert "-cpu max,-smap,-smep -smp 2 -m 768" in told
    assert words[words.index("-kernel") + 1] == "/g/xen/image/xen"
    of_xen = words[words.index("-append") + 1]
    assert "dom0_max_vcpus=4 dom0_vcpus_pin sched_credit_tslice_ms=5" in of_xen
    modules = words[words.index("-initrd") + 1]
    assert modules.startswith("/k console=hvc0 ")
    assert modules.endswith("a=1,,2,/i")
    with pytest.raises(Fail, match="whole ms"):
        xen.tslice(0.5)


def test_a_guest_under_xen_has_no_test_and_set(monkeypatch: pytest.MonkeyPatch) -> None:
    home = paths.Home(Path("/g"), "6.1")
    setup = HostSetup({"seen": None}, home, TWO, Accel(xen.NAME, ""))
    monkeypatch.setitem(hosts.MORE, xen.NAME, xen.Domains())
    with pytest.raises(Fail, match="Linux under Xen has no test-and-set; give --accel"):
        setup.spec("native_tas", 4)


def quiet() -> Terms:
    return Terms(1, lambda _: None, lambda _: None)


@dataclass
class Maker:
    """Stands for apt, which gives a source or does not, and for make."""

    gives: str | None
    fetched: int = 0
    compiled: int = 0

    def fetch(self, package: str, target: Path, tell: object) -> str:
        if self.gives is None:
            raise Fail(f"cannot fetch the source of {package}: 404", errors.MISSING)
        self.fetched += 1
        (target / "xen").mkdir(parents=True)
        return self.gives

    def make(self, command: list[str], *_: object) -> None:
        self.compiled += "-j1" in command
        Path(command[2], "xen").write_bytes(b"compiled")


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """Patches are what this lists; nothing is patched."""
    patches = [tmp_path / "slice.patch"]
    patches[0].write_text("one")
    monkeypatch.setattr(paths, "patches", lambda _: patches)
    monkeypatch.setattr(packages, "patch", lambda *_: None)
    monkeypatch.setattr(build, "check_tools", lambda _: None)
    return patches


def with_maker(monkeypatch: pytest.MonkeyPatch, maker: Maker) -> None:
    monkeypatch.setattr(debsource, "fetched", maker.fetch)
    monkeypatch.setattr(build, "making", maker.make)


def test_xen_is_fetched_once_and_again_for_another_patch(
    patched: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker("4.17.5")
    with_maker(monkeypatch, maker)
    for _ in range(2):
        found = xen_build.made(tmp_path, tmp_path / "image", quiet(), Progress(0))
        assert (found.version, found.tells_slices) == ("4.17.5", True)
        assert (tmp_path / "image").read_bytes() == b"compiled"
    assert (maker.fetched, maker.compiled) == (1, 2)
    patched[0].write_text("another")
    xen_build.made(tmp_path, tmp_path / "image", quiet(), Progress(0))
    assert maker.fetched == 2


def test_without_its_source_xen_is_debians_and_tells_no_slices(
    patched: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_maker(monkeypatch, Maker(None))
    packed = tmp_path / "xen.gz"
    packed.write_bytes(gzip.compress(b"debian's"))
    monkeypatch.setattr(xen_build, "_packaged", lambda *_: packed)
    said: list[str] = []
    terms = Terms(1, said.append, lambda _: None)
    found = xen_build.made(tmp_path, tmp_path / "image", terms, Progress(0))
    assert not found.tells_slices
    assert (tmp_path / "image").read_bytes() == b"debian's"
    assert said == [
        "cannot fetch the source of xen: 404; using Debian's own Xen, which publishes no slice ends"
    ]
