# SPDX-License-Identifier: MIT
"""What is reckoned from the guest's answers, and which kernel is chosen."""

import gzip
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.lab.sched import build, programs, run


def test_a_percentile_heeds_weights() -> None:
    assert run.p99_ns({"ns": [5, 1000, 7], "weight": [60, 1, 39]}) == 7
    assert run.p99_ns({"ns": [5, 1000, 7], "weight": [60, 2, 39]}) == 1000
    assert run.p99_ns({"ns": [], "weight": []}) == 0


def test_a_request_for_each_lock_and_number_of_threads() -> None:
    options = {
        "workload": "sections",
        "locks": ["ticket", "mcs"],
        "threads": [4, 8],
        "seconds": 0.3,
        "parameters": ("cs=9",),
    }
    lines = run.requests(options)
    assert len(lines) == 4
    assert lines[1] == "workload=sections variant=ticket threads=8 seconds=0.3 cs=9"


def test_the_newest_release_of_a_version_is_chosen() -> None:
    listed = [
        "linux-image-7.3.4+deb13-cloud-amd64",
        "linux-image-6.18.9+deb13-cloud-amd64",
        "linux-image-6.18.15+deb13-cloud-amd64",
        "linux-image-6.18.20+deb13-rt-amd64",
        "linux-image-6.18.20+deb13-cloud-amd64-unsigned",
        "linux-image-6.1.0-50-cloud-amd64",
    ]
    assert build._choose(listed, "6.18") == "6.18.15+deb13-cloud-amd64"
    assert build._choose(listed, "6.1") == "6.1.0-50-cloud-amd64"
    assert build._choose(listed, "7.3") == "7.3.4+deb13-cloud-amd64"
    assert not build._choose(listed, "6.2")


class Mirror:
    """Debian's suites, each with packages and their files."""

    def __init__(self, suites: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        self.suites, self.folder = suites, Path()
        self.added: dict[str, Sequence[str]] = {}

    def __call__(self, folder: Path) -> "Mirror":
        self.folder, self.added = folder, {}
        return self

    def add(self, suite: str) -> str:
        if suite not in self.suites:
            return "E: no such suite"
        self.added |= self.suites[suite]
        return ""

    def named(self, prefix: str) -> list[str]:
        return [name for name in self.added if name.startswith(prefix)]

    def fetched(self, package: str) -> tuple[Path, str]:
        tree = self.folder / "tree"
        for name in self.added[package]:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(f"{name}\nCONFIG_SCHED_CLASS_EXT=y\n")
        control = tree / "DEBIAN/control"
        control.parent.mkdir(parents=True, exist_ok=True)
        control.write_text(
            f"Package: {package}\nVersion: 1\nArchitecture: all\nMaintainer: n <n@n>\n"
            "Description: n\n"
        )
        file = self.folder / f"{package}_1_all.deb"
        command = ["dpkg-deb", "-b", str(tree), str(file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(tree)
        return file, ""


def layout(version: str) -> dict[str, Sequence[str]]:
    """Of Debian's packages, by what has changed since."""
    release = f"{version}.4-cloud-amd64"
    modules = f"usr/lib/modules/{release}"
    image, binary, base = (f"linux-{part}-{release}" for part in ("image", "binary", "base"))
    match version:
        case "7.3":
            return {image: [], binary: [f"{modules}/vmlinuz"], base: [f"{modules}/config"]}
        case "7.0":
            return {image: [f"boot/config-{release}"], binary: [f"boot/vmlinuz-{release}"]}
    return {image: [f"boot/config-{release}", f"boot/vmlinuz-{release}"]}


@pytest.mark.parametrize(
    ("version", "kernel", "config"),
    [
        ("6.18", "boot/vmlinuz-{}", "boot/config-{}"),
        ("7.0", "boot/vmlinuz-{}", "boot/config-{}"),
        ("7.3", "usr/lib/modules/{}/vmlinuz", "usr/lib/modules/{}/config"),
    ],
)
def test_a_kernel_is_found_however_its_packages_are_divided(
    version: str, kernel: str, config: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build, "Suites", Mirror({"sid": layout(version), "trixie": layout("5.9")}))
    told: list[str] = []
    of = build.rig(tmp_path)
    found = build.debian_kernel(of, version, told.append)
    release = f"{version}.4-cloud-amd64"
    assert found.release == release
    assert found.image.read_text().split()[0] == kernel.format(release)
    assert found.config.split()[0] == config.format(release)
    assert found.has_sched_ext
    assert build.debian_kernel(of, version, told.append) == found
    assert told == [f"fetching Debian's Linux {version}"]  # once
    assert [path.name for path in of.kernels.iterdir()] == [version]


def test_a_kernel_that_debian_has_not_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mirror = Mirror({"trixie": layout("6.12"), "sid": layout("6.9") | layout("7.3")})
    monkeypatch.setattr(build, "Suites", mirror)
    with pytest.raises(Fail, match=r"--kernel 6\.2: there is no .* have 6\.9, 6\.12, 7\.3$"):
        build.debian_kernel(build.rig(tmp_path), "6.2", lambda _: None)
    monkeypatch.setattr(build, "Suites", Mirror({}))
    with pytest.raises(Fail, match="cannot be listed: E: no such suite"):
        build.debian_kernel(build.rig(tmp_path), "6.2", lambda _: None)
    assert not list(build.rig(tmp_path).kernels.iterdir())


def test_without_sched_ext_there_is_the_kernels_own_scheduler_only() -> None:
    old = build.Kernel(Path("vmlinuz"), "6.1.0", "# CONFIG_SCHED_CLASS_EXT is not set\n")
    new = build.Kernel(Path("vmlinuz"), "7.3.4", "CONFIG_SCHED_CLASS_EXT=y\n")
    assert run._possible(["kernel", "sched"], new) == ["kernel", "sched"]
    assert run._possible(["kernel", "sched"], old) == ["kernel"]
    with pytest.raises(Fail, match=r"Linux 6\.1\.0 has no sched_ext; give kernel"):
        run._possible(["sched --no-lead"], old)


def test_a_kernel_of_ones_own_is_named_by_version_and_variant(tmp_path: Path) -> None:
    of, options = build.rig(tmp_path), {"folder": tmp_path, "variant": "extension"}
    with pytest.raises(Fail, match=r"overlock guest build --kernel 7\.3 --variant extension"):
        run._kernel(of, options | {"version": "7.3"})
    with pytest.raises(Fail, match="--variant is of a kernel that --kernel names"):
        run._kernel(of, options)


def test_what_a_program_did_becomes_a_row() -> None:
    row = run.Row()
    did = {"seconds": 0.5, "p99_us": 7, "longest_us": 11, "per_thread": [1, 3]}
    said = {"program": "openmp", "threads": 2, **did}
    run._take_program(said, row)
    assert (row.rates, row.p99_us, row.longest_us, row.jain) == ([8], [7], [11], [0.8])
    assert not row.acquired


def test_what_a_guest_did_becomes_a_row() -> None:
    row = run.Row()
    loop = {"wrong": "", "per_thread": [30, 10], "window_ns": 2e9, "wait": [[500, 99], [9000, 2]]}
    told = {"error_ns": {"p50": 7}}
    said = {"program": "guest", "threads": 2, "said": loop, "told": told}
    run._take_program(said, row)
    assert (row.rates, row.p99_us, row.longest_us) == ([20], [9], [9])
    assert (row.jain, row.told) == ([0.8], [told])
    with pytest.raises(Fail, match="guest: lost"):
        run._take_program({**said, "said": {**loop, "wrong": "lost"}}, row)


def test_a_program_comes_without_what_the_rig_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = {"lib/libc.so.6": (0o755, b"old"), "lib/libown.so": (0o755, b"own"), "x": (0o644, b"")}
    monkeypatch.setattr(programs, "PROGRAMS", {"one": lambda _: found})
    told: list[str] = []
    (tmp_path / "one-0123456789ab.gz").write_bytes(b"")  # of other sources
    made = programs.made("one", tmp_path, {"libc.so.6"}, told.append)
    archive = gzip.decompress(made.read_bytes())
    assert b"lib/libown.so" in archive
    assert b"libc.so.6" not in archive
    assert list(tmp_path.glob("*.gz")) == [made]
    assert programs.made("one", tmp_path, set(), told.append) == made
    assert len(told) == 1


def test_a_program_may_have_another_lock() -> None:
    given = "pbzip2 --lock i_spin --csd-ns 200000"
    assert programs.name_of(given) == "pbzip2"
    assert programs.command("pbzip2", 4, 0.3) == "measured-pbzip2 4 0.3"
    assert programs.command(given, 4, 0.3) == (
        "overlock run --lock i_spin --csd-ns 200000 -- /usr/bin/measured-pbzip2 4 0.3"
    )
    lock = "ebizzy@i_spin@csd=200000"
    assert programs.name_of(lock) == "ebizzy"
    assert programs.command(lock, 4, 0.3) == "measured-ebizzy 4 0.3 i_spin@csd=200000"


@pytest.mark.parametrize(
    ("rates", "words"),
    [([5000.0], "1 round: no range is known"), ([5000.0, 7000.0], "(5,000 - 7,000)")],
)
def test_a_rate_has_its_range_or_says_that_it_has_none(
    rates: list[float], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    same = [1.0] * len(rates)
    row = run.Row(rates, same, same, same)
    options = {"rounds": len(rates), "programs": (), "locks": ["mcs"], "threads": [8]}
    run._show({("mcs", 8, "kernel"): row}, {}, options | {"under": ["kernel"]})
    assert words in capsys.readouterr().out
