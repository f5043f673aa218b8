# SPDX-License-Identifier: MIT
"""Where a kernel's source comes from: other suites than this system's, by an apt that is none."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.guest import paths, source

# It knows the packages of each suite, and of the suites those of the list that it is given.
APT = r"""#!/usr/bin/env python3
import json, re, subprocess, sys
from pathlib import Path

here, words = Path(__file__).parent, sys.argv[1:]
known = json.loads((here / "suites.json").read_text())
with (here / "asked").open("a") as file:
    file.write(" ".join(words) + "\n")
options = dict(w.split("=", 1) for w in words if "::" in w)
own = options.get("Dir::Etc::SourceList") or "/dev/null"
listed = re.findall(r"^deb (?:\[.*?\] )?http://mirror.example/debian (\S+) main$",
                    Path(own).read_text() if Path(own).exists() else "", re.M)
there = [p for suite in (listed or ["bookworm"]) for p in known.get(suite, ())]
if "indextargets" in words:
    if any("Release: stable" in word for word in words):
        print("trixie")
    else:
        print("\n".join(known["indextargets"]))
elif "update" in words:
    if listed[-1] not in known:
        sys.exit("E: no such suite")
elif "pkgnames" in words:
    print("\n".join(there))
elif "download" in words:
    if words[-1] not in there:
        sys.exit("E: Unable to locate package " + words[-1])
    tree = Path("tree/usr/src")
    tree.mkdir(parents=True)
    (tree / (words[-1] + ".tar.xz")).write_text(listed[-1] if listed else "own")
    control = Path("tree/DEBIAN/control")
    control.parent.mkdir()
    control.write_text("Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: n <n@n>\n"
                       "Description: n\n" % words[-1])
    command = ["dpkg-deb", "-b", "tree", words[-1] + "_1_all.deb"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
"""
MIRROR = (
    "http://mirror.example/debian bookworm-updates",
    "http://mirror.example/debian-security bookworm-security",
    "https://elsewhere.example/other nodistro",
    "http://mirror.example/debian bookworm",
)
Apt = Callable[..., Path]


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apt:
    """Its folder, with what it was asked."""

    def apt(suites: Mapping[str, Sequence[str]], mirror: Sequence[str] = MIRROR) -> Path:
        folder = tmp_path / "apt"
        folder.mkdir()
        (folder / "suites.json").write_text(json.dumps({"indextargets": mirror, **suites}))
        for name in ("apt-get", "apt-cache"):
            (folder / name).write_text(APT)
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return folder

    return apt


def found(tmp_path: Path, version: str) -> tuple[str, list[str]]:
    """The suite that the source came from, and what was said meanwhile."""
    said: list[str] = []
    home = paths.home(tmp_path / "guests", version)
    return source.tarball(home, said.append).read_text(), said


def test_this_systems_own_is_taken_where_there_is_one(apt: Apt, tmp_path: Path) -> None:
    apt({"bookworm": ["linux-source-0.1"], "stable": ["linux-source-0.1"]})
    assert found(tmp_path, "0.1") == ("own", ["fetching Debian's linux-source-0.1"])


@pytest.mark.parametrize(
    ("suites", "expected"),
    [
        (("bookworm-backports", "stable", "trixie-backports"), "bookworm-backports"),
        (("stable", "trixie-backports", "unstable"), "stable"),
        (("trixie-backports", "unstable", "experimental"), "trixie-backports"),
        (("unstable", "experimental"), "unstable"),
        (("experimental",), "experimental"),
    ],
)
def test_else_the_first_suite_that_has_it(
    apt: Apt, tmp_path: Path, suites: Sequence[str], expected: str
) -> None:
    others = ("bookworm-backports", "stable", "trixie-backports", "unstable", "experimental")
    has = {suite: ["linux-source-0.2"] if suite in suites else [] for suite in others}
    apt(has)
    suite, said = found(tmp_path, "0.2")
    assert suite == expected
    looked = [f"looking for linux-source-0.2 in Debian's {other}" for other in others]
    assert said[1:] == looked[: others.index(expected) + 1]


def test_a_suite_that_the_mirror_lacks_is_passed_over(apt: Apt, tmp_path: Path) -> None:
    apt({"stable": [], "unstable": ["linux-source-0.3"]})
    assert found(tmp_path, "0.3")[0] == "unstable"


def test_the_systems_own_configuration_is_left_alone(apt: Apt, tmp_path: Path) -> None:
    asked = apt({"stable": ["linux-source-0.4"]}) / "asked"
    found(tmp_path, "0.4")
    changing = [line for line in asked.read_text().splitlines() if line.endswith("update")]
    assert changing
    for line in changing:
        for place in ("Etc::SourceList", "State::lists", "Cache"):
            assert f"Dir::{place}={tmp_path}/guests/0.4/.suites-" in line
    left = subprocess.run(["ls", "-A", tmp_path / "guests/0.4"], capture_output=True, check=True)
    assert left.stdout == b"package\n"


def test_where_none_has_it_those_that_are_there_are_named(apt: Apt, tmp_path: Path) -> None:
    versions = ["linux-source-0.11", "linux-source-0.9"]
    apt({"stable": versions[1:], "trixie-backports": versions[:1], "unstable": []})
    with pytest.raises(Fail) as failed:
        found(tmp_path, "0.5")
    assert failed.value.message == (
        "none of Debian's stable, trixie-backports, unstable has linux-source-0.5; "
        "they have 0.9, 0.11"
    )
    assert failed.value.code == MISSING


def test_a_mirror_that_does_not_answer_is_no_missing_package(apt: Apt, tmp_path: Path) -> None:
    apt({})
    with pytest.raises(Fail, match=r"cannot fetch linux-source-0\.6: E: no such suite; install"):
        found(tmp_path, "0.6")


def test_a_system_of_others_packages_is_told_so(apt: Apt, tmp_path: Path) -> None:
    apt({}, MIRROR[2:3])
    with pytest.raises(Fail, match="no package source of Debian's"):
        found(tmp_path, "0.7")
