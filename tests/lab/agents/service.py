# SPDX-License-Identifier: MIT
"""overlock-monitord as it is, or with a fault; and a client that speaks to it as it likes."""

import json
import mmap
import os
import re
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import BUILD, NATIVE, TOP
from tests.mutant import changed
from tests.processes import HANG_S, until

MONITORD = NATIVE / "overlock-monitord"
STRIDE, ENTRIES = 128, 1024
GONE = 0x40000000
OFF, ON = 0, 1
FOLDERS = [TOP / part for part in ("profile/agent", "lab/slices", "lab/monitord")]
SOURCES = ["main", "ending", "options", "programs", "refusal", "service", "thread", "times"]


def mutant(folder: Path, name: str, old: str, new: str) -> Path:
    """The service with that fault in one of its files."""
    copy = folder / "monitor"
    for part in FOLDERS:
        shutil.copytree(part, copy, dirs_exist_ok=True)
    source = copy / name
    source.write_text(changed(source.read_text(), (old, new)))
    if name.endswith((".bpf.c", ".bpf.h")):
        _skeleton(copy)
    program = folder / "overlock-monitord"
    flags = ["-std=gnu17", "-O1", f"-I{TOP}/include", f"-I{copy}", f"-I{BUILD}/lab/monitord"]
    files = [copy / f"{part}.c" for part in SOURCES]
    subprocess.run(["cc", *flags, *files, "-lbpf", "-o", program], check=True)
    return program


def _skeleton(copy: Path) -> None:
    """With the command that compiles the proper one, which the build may leave out."""
    compiled = "lab/monitord/threads.bpf.o"
    made = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "commands", compiled],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    there = re.sub("|".join(map(re.escape, map(str, FOLDERS))), str(copy), made)
    there = re.sub(rf"({re.escape(str(BUILD))}/|(?<=\s))lab/monitord/", f"{copy}/", there)
    bpftool = shutil.which("bpftool", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    skeleton = (
        f"{bpftool} gen skeleton {copy}/threads.bpf.o name threads_bpf >{copy}/threads.skel.h"
    )
    subprocess.run(
        ["sh", "-ec", f"{there}\ncd {copy}; {skeleton}"], cwd=BUILD, check=True, capture_output=True
    )


@dataclass
class Client:
    """One connection, and the page that came through it."""

    path: str
    wire: socket.socket = field(init=False)
    page: mmap.mmap | None = None

    def __post_init__(self) -> None:
        self.wire = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.wire.settimeout(HANG_S)
        self.wire.connect(self.path.replace("@", "\0", 1))
        try:
            _, fds, _, _ = socket.recv_fds(self.wire, 1, 1)
        except ConnectionResetError:
            fds = []
        if fds:
            self.page = mmap.mmap(fds[0], os.fstat(fds[0]).st_size)
            os.close(fds[0])

    def name(self, thread: int, entry: int) -> None:
        self.wire.send(struct.pack("<II", thread, entry))

    def _word(self, at: int) -> int:
        assert self.page
        return int(struct.unpack_from("<I", self.page, at)[0])

    def entry(self, at: int) -> dict[str, int]:
        assert self.page
        names = ("seq", "running", "id", "begin", "end", "sure", "published", "thread")
        found = struct.unpack_from("<IIQQQQQI", self.page, STRIDE * (1 + at))
        return dict(zip(names, found, strict=True))

    def known(self, at: int) -> bool:
        return bool(self.entry(at)["id"])

    def learnt(self) -> list[int]:
        """The entries of which anything is told."""
        return [at for at in range(ENTRIES) if any(self.entry(at).values())]

    def told(self) -> bool:
        return not self._word(56) & GONE

    def closed(self, *, now: bool = False) -> bool:
        """By the service; at last, or now."""
        self.wire.settimeout(0 if now else HANG_S)
        try:
            return not self.wire.recv(1)
        except ConnectionResetError:
            return True
        except BlockingIOError:
            return False

    def close(self) -> None:
        self.wire.close()


@dataclass
class Service:
    child: "subprocess.Popen[str]"
    socket: str

    @property
    def pid(self) -> int:
        return self.child.pid

    def fds(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def client(self) -> Client:
        return Client(self.socket)

    def serves(self) -> bool:
        """A thread of ours, which sleeps and wakes until it is known; it has heard all before."""
        client = self.client()
        if not client.page:
            return False
        client.name(threading.get_native_id(), 7)
        until(lambda: client.known(7))
        client.close()
        return True

    def ended(self) -> dict[str, Any]:
        self.child.send_signal(signal.SIGTERM)
        said, _ = self.child.communicate(timeout=HANG_S)
        found: dict[str, Any] = json.loads(said)
        return found


@contextmanager
def serving(program: Path | tuple[str | Path, ...] = MONITORD, path: str = "") -> Iterator[Service]:
    path = path or f"@overlock-test-{secrets.token_hex(8)}"
    child = subprocess.Popen(
        [*(program if isinstance(program, tuple) else (program,)), f"--socket={path}", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr
    said = child.stderr.readline()
    try:
        assert "serving" in said, said
        yield Service(child, path)
    finally:
        child.kill()
        child.communicate()
