# SPDX-License-Identifier: MIT
"""docs/throttled.md: its manifests word for word, its commands by podman's; the image."""

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.packaging.bare.podman import Podman, manifest
from tests.processes import HANG_S
from tests.profile.conftest import lacking

# The case of the page; test_pod.py has what else hurts.
PAGE, _, _ = (TOP / "docs/throttled.md").read_text().partition("\n## What else hurts")
LOOKED_AT, FIXED = (manifest(PAGE, number, "server") for number in (0, 1))
IMAGE = "localhost/overlock:0.1.0"
MOST_BYTES = 60_000_000
COMMANDS = [shlex.split(c) for c in re.findall(r"^    kubectl (.*)$", PAGE, re.MULTILINE)]


def command(*begin: str) -> list[str]:
    """What the page has behind `--` in the command that begins so, for fewer seconds."""
    (found,) = (words for words in COMMANDS if words[: len(begin)] == list(begin))
    return ["4" if word == "10" else word for word in found[found.index("--") + 1 :]]


def counts() -> list[str]:
    """With the other file where control groups are of version 1, as the page says."""
    words, version_1 = command("exec", "server", "--"), "/sys/fs/cgroup/cpu/cpu.stat"
    assert f"`{version_1}`" in PAGE
    return [words[0], version_1] if Path(version_1).exists() else words


def executed(podman: Podman, *begin: str, pid: str = "") -> str:
    words = [pid if word == "PID" else word for word in command(*begin)]
    return podman.tells("exec", "server-overlock", *words)


def started(podman: Podman) -> str:
    """What the server says first; `kubectl logs server -c server`."""
    assert ["logs", "server", "-c", "server"] in COMMANDS
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        if said := podman.says("logs", "server-server"):
            return said
        time.sleep(0.1)
    raise AssertionError("the server does not start")


def blames_the_count(said: str) -> bool:
    return "on 0.2 CPUs" in " ".join(said.split()) and "`overlock run --fit -- team`" in said


needs_two = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="a server with one thread has none too many"
)
ALL = f"threads: {len(os.sched_getaffinity(0))}\n"


@needs_two
def test_one_who_joins_the_container_sees_why(podman: Podman) -> None:
    """As an ephemeral container of `--profile=general` does."""
    with podman.pod(LOOKED_AT.replace("  shareProcessNamespace: true\n", "")):
        assert started(podman) == ALL
        deadline = time.monotonic() + HANG_S
        while not re.search("nr_throttled [1-9]", podman.says("exec", "server-server", *counts())):
            assert time.monotonic() < deadline
        joined = ("--pod", "server", "--pid", "container:server-server", "--cap-add", "SYS_PTRACE")
        words = command("debug", "server")
        assert words.pop(0) == "overlock"  # the image's entry point
        said = podman.tells("run", "--rm", *joined, IMAGE, *words)
    assert blames_the_count(said), said


@needs_two
def test_a_sidecar_sees_why(podman: Podman) -> None:
    beside = ("exec", "server", "-c", "overlock", "--")
    with podman.pod(LOOKED_AT):
        assert started(podman) == ALL
        pid = executed(podman, *beside, "pidof").strip()
        doctor = executed(podman, *beside, "overlock", "doctor", pid=pid)
        profile = executed(podman, *beside, "overlock", "profile", pid=pid)
    assert "`overlock run --fit -- team`" in doctor, doctor
    assert re.search(r"0\.2 CPUs, set on /proc/\d+/\w+/sys/fs/cgroup", doctor), doctor
    assert blames_the_count(profile), profile


@needs_two
@pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")
def test_the_node_sees_it_exactly(podman: Podman) -> None:
    with podman.pod(LOOKED_AT):
        assert started(podman) == ALL
        pid = podman.says("inspect", "-f", "{{.State.Pid}}", "server-server").strip()
        words = [pid if word == "PID" else word for word in command("debug", "node/NODE")[1:]]
        node = ("--pid", "host", "--privileged", "--network", "none")
        said = podman.tells("run", "--rm", *node, IMAGE, *words)
    assert "looking at /proc instead" not in said
    assert blames_the_count(said), said


def test_the_fix(podman: Podman) -> None:
    with podman.pod(FIXED):
        assert started(podman) == "threads: 1\n"


def test_without_the_init_containers_file_nothing_is_told(podman: Podman) -> None:
    with podman.pod(FIXED.replace("[cp, /usr/lib/overlock/liboverlock-run-fit.so", "[ls")):
        assert started(podman) == ALL


def test_every_command_is_run() -> None:
    """By podman's word for it; NODE and `make image` aside."""
    kinds = {" ".join(words[:2]) for words in COMMANDS}
    assert kinds == {"exec server", "debug server", "debug node/NODE", "logs server"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--version", "overlock, version 0.1.0"),
        ("locks", "tas_yield"),
        ("doctor --seconds 0.2", "Does preemption hurt"),
        (
            "run --print env -- /usr/bin/python3.11",
            "LD_PRELOAD=/usr/lib/overlock/liboverlock-run.so",
        ),
        ("run -- /usr/bin/python3.11 -c print(2*3)", "6\n"),
    ],
)
def test_a_command_of_the_image(podman: Podman, words: str, said: str) -> None:
    """Also as a user that is not root, on a file system that is read-only."""
    bare = ("--user", "65534", "--read-only", "--cap-drop", "all", "--network", "none")
    assert said in podman.says("run", "--rm", *bare, IMAGE, *words.split())


def test_the_image_is_small_and_made_the_same_twice(image: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tar"
    subprocess.run([sys.executable, TOP / "tools/image.py", again], check=True, timeout=HANG_S)
    assert again.read_bytes() == image.read_bytes()
    with tarfile.open(image) as archive:
        blobs = [
            json.load(file) for m in archive if (file := archive.extractfile(m)) and m.size < 9999
        ]
    (layers,) = (blob["layers"] for blob in blobs if "layers" in blob)
    assert image.stat().st_size < MOST_BYTES
    assert len(layers) == 1
