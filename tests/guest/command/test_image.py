# SPDX-License-Identifier: MIT
"""PAUSE made a NOP in an ELF file, and what the kernel is to unpack."""

import gzip
import os
import stat
import subprocess
from pathlib import Path

import pytest

from overlock_tools.guest import initramfs, packages, pause, programs

# The bytes of a PAUSE are also inside of the constant; the program says whether that is whole.
PROGRAM = """
static int constant(void) { int v; __asm__ volatile("movl $0x1190f311, %0" : "=r"(v)); return v; }
int main(void)
{
	for (int i = 0; i < 3; i++)
		__asm__ volatile("pause");
	__asm__ volatile("pause");
	return (constant() >> 8 & 0xff) != 0xf3;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elf")
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O0", "-o", folder / "p", folder / "p.c"], check=True)
    return folder / "p"


def test_every_pause_and_nothing_else_becomes_a_nop(program: Path) -> None:
    before = program.read_bytes()
    after, count = pause.as_nop(program)
    assert count == 2
    changed = [i for i in range(len(before)) if before[i] != after[i]]
    assert len(changed) == 2
    assert all(
        before[i : i + 2] == b"\xf3\x90" and after[i : i + 2] == b"\x66\x90" for i in changed
    )
    other = program.with_name("nop")
    other.write_bytes(after)
    other.chmod(0o755)
    assert subprocess.run([other], check=False).returncode == 0
    assert not pause.offsets_in(other)


def test_replacing_the_bytes_everywhere_would_be_noticed(program: Path) -> None:
    wrong = program.with_name("wrong")
    wrong.write_bytes(program.read_bytes().replace(b"\xf3\x90", b"\x66\x90"))
    wrong.chmod(0o755)
    assert subprocess.run([wrong], check=False).returncode == 1


def test_modules_are_patched_too(tmp_path: Path) -> None:
    """Their sections all begin at 0."""
    (tmp_path / "m.c").write_text(
        'void a(void) { __asm__("pause"); }\n'
        '__attribute__((section(".text.b"))) void b(void) { __asm__("nop; pause"); }\n'
    )
    subprocess.run(["gcc", "-c", "m.c"], cwd=tmp_path, check=True)
    data, count = pause.as_nop(tmp_path / "m.o")
    assert count == 2
    assert b"\xf3\x90" not in data


def unpacked(data: bytes) -> dict[str, tuple[int, bytes]]:
    """As the kernel's buffer-format.rst describes it."""
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, length = fields[1], fields[6], fields[11]
        name = data[at + 110 : at + 110 + length - 1].decode()
        at += (110 + length + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        found[name] = (mode, data[at : at + size])
        at += (size + 3) // 4 * 4


def test_the_archive_has_every_file_after_its_folders() -> None:
    contents = {"init": (0o755, b"#!/bin/sh\n"), "a/b/c": (0o644, b"12345"), "e": (0o600, b"")}
    packed = initramfs.archive(contents)
    found = unpacked(packed)
    names = list(found)
    assert names.index("a") < names.index("a/b") < names.index("a/b/c")
    assert stat.S_ISDIR(found["a/b"][0])
    for name, (mode, data) in contents.items():
        assert found[name] == (stat.S_IFREG | mode, data)
    assert gzip.decompress(initramfs.compressed(packed)) == packed
    assert initramfs.compressed(packed) == initramfs.compressed(packed)


def test_who_is_not_root_gets_a_copy_of_what_root_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL does not run as root, and root's cache is root's."""
    cache, top = tmp_path / "cache", tmp_path / "top"
    server = cache / f"postgresql-{programs.POSTGRES}" / programs.Postgres.bin_name / "postgres"
    client = cache / f"postgresql-client-{programs.POSTGRES}" / programs.Postgres.bin_name / "psql"
    for program in (server, client):
        program.parent.mkdir(parents=True)
        program.write_text("a program")
    found = {program.name: program for program in (server, client)}
    monkeypatch.setattr(packages.Packages, "file", lambda _, __, name: found[Path(name).name])
    monkeypatch.setattr(packages, "fetch", lambda _, target: target.mkdir())
    postgres = programs.Postgres(packages.Packages(cache, lambda _: None))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert postgres.for_nobody(top) is postgres
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    lent = postgres.for_nobody(top)
    for folder in (lent.bin, lent.client_bin, *lent.roots):
        assert folder.is_relative_to(top)
        assert folder.is_dir()
    assert (lent.bin / "postgres").read_text() == "a program"
