# SPDX-License-Identifier: MIT
"""`overlock guest run` on each host beside QEMU, from end to end: with a QEMU that is none."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from overlock_tools.guest import paths
from tests.command import Overlock
from tests.guest.command.conftest import Fake


def nested(guests: paths.Home) -> None:
    image = guests.folder / "host/image"
    image.mkdir(parents=True)
    (image / "vmlinux").write_text("kernel")
    (image / "built.json").write_text(json.dumps({"version": "6.1-host", "sources": "s"}))


def xen(guests: paths.Home) -> None:
    domain = guests.folder / "xen"
    domain.mkdir()
    image = domain / "image"
    image.mkdir()
    for path in guests.image.iterdir():
        (image / path.name).write_bytes(path.read_bytes())
    (image / "xen").write_text("hypervisor")
    (image / "xen.json").write_text(json.dumps({"version": "4.17", "tells_slices": True}))


HOSTS: dict[Callable[[paths.Home], None], str] = {
    nested: "KVM of Linux 6.1-host",
    xen: "Debian's Xen 4.17, which publishes slice ends,",
}


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.__name__)
def test_a_guest_is_measured(
    overlock: Overlock,
    fake: Fake,
    home: Path,
    tmp_path: Path,
    host: Callable[[paths.Home], None],
) -> None:
    fake("good")
    host(paths.home(home))
    asked = ("--accel", host.__name__, "--host-slice", "6", "--lock", "ticket", "--rounds", "1")
    done = overlock("guest", "run", "--dir", home, *asked, "--seconds", "0.1", "--json", "r.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert HOSTS[host] in done.stdout
    body = json.loads((tmp_path / "r.json").read_text())
    assert body["parameters"]["accelerator"] == host.__name__
    assert body["parameters"]["host_slice_ms"] == 6
    assert body["parameters"]["pause"] == "as-is"
    assert body["native"]["in_force"]["ticket"] == "ticket (spin)"
    assert all(cell["steal_seconds"] is not None for cell in body["cells"])
