# SPDX-License-Identifier: MIT
"""Each artefact of `make release`, in roots that have nothing but apt, make and git."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.packaging.bare.debian import Debian, copy_to
from tests.packaging.bare.podman import Podman, why_not

RELEASES = ("bookworm", "trixie", "sid")
FOLDER = Path(os.environ.get("OVERLOCK_RELEASE", "/nowhere"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="`make release` runs this")
APT = "apt-get update -qq; apt-get install -y -qq --no-install-recommends"
FIRST = """cat >/tmp/first.c <<'END'
#include <overlock/overlock.h>
#include <stdio.h>
static ol_mutex_t lock = OL_MUTEX_INIT;
int main(void)
{
	ol_mutex_lock(&lock);
	ol_mutex_unlock(&lock);
	puts("locked");
	return 0;
}
END
"""


def found(pattern: str) -> list[Path]:
    files = sorted(FOLDER.glob(pattern))
    if not files:
        pytest.skip(f"there is no {pattern} in this release")
    return files


@pytest.fixture(scope="module", params=RELEASES)
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Debian:
    return copy_to(tmp_path_factory.mktemp(request.param), request.param)


def given(root: Debian, pattern: str) -> None:
    for file in found(pattern):
        shutil.copy(file, root.root / "tmp")


def test_the_bundle(root: Debian) -> None:
    """Needs nothing, so it comes first."""
    given(root, "*-bundle-*.tar.xz")
    root.says(f"{APT} xz-utils; tar -C /tmp -xf /tmp/*-bundle-*.tar.xz")
    overlock = "cd /tmp/overlock-bundle; bin/overlock"
    assert "Does preemption hurt" in root.says(f"{overlock} doctor --seconds 0.2")
    assert "tas" in root.says(f"{overlock} locks")


def test_the_packages(root: Debian) -> None:
    given(root, "*.deb")
    root.says(f"{APT} gcc libc6-dev pkg-config $(ls /tmp/*.deb | grep -v dbgsym)")
    assert "locked" in root.says(
        f"{FIRST} cd /tmp; cc first.c $(pkg-config --cflags --libs overlock) -o first; ./first"
    )
    assert root.says("overlock run -- echo fine") == "fine\n"
    assert "Does preemption hurt" in root.says("overlock doctor --seconds 0.2")
    assert "holds" in root.says("overlock check mcs --size 2x1 --no-cache || [ $? = 4 ]")


def test_the_wheel(root: Debian) -> None:
    given(root, "*.whl")
    root.says(f"{APT} python3 python3-venv; python3 -m venv ~/v; ~/v/bin/pip install -q /tmp/*.whl")
    assert root.says("~/v/bin/overlock run -- echo fine") == "fine\n"
    assert "Does preemption hurt" in root.says("~/v/bin/overlock doctor --seconds 0.2")
    assert "ol_ttas_lock" in root.says("~/v/bin/overlock locks --header ttas")


def test_the_source(root: Debian) -> None:
    """The library, as another project fetches it."""
    given(root, "overlock-*.tar.gz")
    root.says(f"{APT} cmake gcc libc6-dev make; tar -C /tmp -xf /tmp/overlock-*.tar.gz")
    lists = """cmake_minimum_required(VERSION 3.25)
project(first LANGUAGES C)
include(FetchContent)
file(GLOB archive /tmp/overlock-*.tar.gz)
FetchContent_Declare(overlock URL ${archive})
FetchContent_MakeAvailable(overlock)
add_executable(first first.c)
target_link_libraries(first PRIVATE overlock::static)
"""
    (root.root / "tmp/CMakeLists.txt").write_text(lists)
    made = "cmake -S /tmp -B /tmp/b >/dev/null; cmake --build /tmp/b -j2 --target first >/dev/null"
    assert root.says(f"{FIRST} {made}; /tmp/b/first") == "locked\n"


def test_the_image(tmp_path: Path) -> None:
    (archive,) = found("*-image-*.tar")
    if why := why_not():
        pytest.skip(why)
    podman = Podman(tmp_path)
    podman.says("load", "--quiet", "--input", str(archive))
    ran = ("run", "--rm", "--network", "none", "localhost/overlock:0.1.0")
    assert "Does preemption hurt" in podman.says(*ran, "doctor", "--seconds", "0.2")


def test_the_crates(root: Debian) -> None:
    """The one that needs no other."""
    given(root, "overlock-sys-*.crate")
    root.says(f"{APT} cargo gcc libc6-dev cmake make; cd /tmp; tar -xf overlock-sys-*.crate")
    root.says("cd /tmp/overlock-sys-*/; cargo build --offline --quiet")


def test_the_sums() -> None:
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=FOLDER, check=True)
    named = {line.split()[1] for line in (FOLDER / "SHA256SUMS").read_text().splitlines()}
    assert named == {path.name for path in FOLDER.iterdir()} - {"SHA256SUMS"}


def test_the_bill_of_materials() -> None:
    (file,) = found("*.cdx.json")
    bom = json.loads(file.read_text())
    names = {part["name"] for part in bom["components"]}
    assert {"click", "libbpf-dev", "libzydis4.0", "busybox-static"} <= names
    assert str(TOP) not in file.read_text()
