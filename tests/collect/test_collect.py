# SPDX-License-Identifier: MIT
"""A machine in one file: every part or why not, whatever ends it; and files that somebody sent."""

import io
import json
import lzma
import os
import signal
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from overlock_tools.collect import parts, run
from overlock_tools.collect.parts import Part
from overlock_tools.core.model import collected
from overlock_tools.core.render import outputs
from overlock_tools.core.system import archive
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail
from tests.processes import children, until


def doctor(name: str, seconds: float, **more: object) -> Part:
    words = ["doctor", "--json", "--seconds", str(seconds)]
    return Part(name, f"{name}.json", 0.1, lambda *_: words, prints=True, **more)  # type: ignore[arg-type]


QUICK, ENDLESS = doctor("quick", 0.1), doctor("endless", 3000)
BENCH = Part("sections", "bench-sections.json", 0.1, parts._sections("--rounds", "1"))


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def those(*chosen: Part) -> None:
        monkeypatch.setattr(parts, "PARTS", chosen)
        monkeypatch.setattr(parts, "LOCKS", "ticket,tas")
        monkeypatch.setattr(parts.Around, "threads", lambda _: [1, 2])
        monkeypatch.setattr(parts, "MEASURED_S", 0.02)

    return those


def listed(path: Path) -> dict[str, str]:
    """Of each part why it is not whole."""
    return {done.part: done.why for done in collected.read(path).about.parts}


def test_two_machines_on_a_page(plan: Callable[..., None], tmp_path: Path) -> None:
    plan(QUICK, BENCH)
    files = [tmp_path / f"{name}.tar.xz" for name in ("here", "there")]
    for path in files:
        assert run.run(path.name.partition(".")[0], 1, None, (), path) == 0
    found = collected.read(files[0])
    assert json.loads(found.files["quick.json"])["facts"]
    assert [result.title.endswith(", here") for result in found.results()] == [True]
    page = tmp_path / "both.html"
    outputs.write(files, None, {"output": page})
    assert all(f", {name}" in page.read_text() for name in ("here", "there"))


def test_a_part_that_cannot_be_is_listed_with_the_reason(
    plan: Callable[..., None], tmp_path: Path
) -> None:
    wrong = Part("wrong", "wrong.json", 0.1, lambda *_: ["doctor", "--pid", "0"])
    plan(
        QUICK,
        doctor("unbuilt", 1, needs=("overlock-nothing",)),
        doctor("long", 1, least_s=99),
        wrong,
    )
    path = tmp_path / "x.tar.xz"
    assert run.run("x", 0.1, None, (), path) == FAILED
    why = listed(path)
    assert why["quick"] == ""
    assert "overlock-nothing" in why["unbuilt"]
    assert why["long"].startswith("it needs 99 s")
    assert "--pid" in why["wrong"]


def test_what_takes_too_long_is_ended(
    plan: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(ENDLESS)
    monkeypatch.setattr(run, "LEAST_S", 1.0)
    path = tmp_path / "x.tar.xz"
    assert run.run("x", 0.01, None, (), path) == FAILED
    assert listed(path) == {"endless": "ended after 1 s, not whole"}


def test_an_interrupt_keeps_what_is_done(plan: Callable[..., None], tmp_path: Path) -> None:
    plan(QUICK, ENDLESS)
    path = tmp_path / "x.tar.xz"

    def interrupt() -> None:
        until(
            lambda: any(b"3000" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in started())
        )
        os.kill(os.getpid(), signal.SIGINT)

    def started() -> list[int]:
        return [pid for pid in children(os.getpid()) if Path(f"/proc/{pid}/cmdline").exists()]

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert run.run("x", 10, None, (), path) == INTERRUPTED
    thread.join()
    assert listed(path) == {"quick": ""}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("Mine!", None, "x.tar.xz"), "expected small letters, digits"),
        (("x", "nothing", "x.tar.xz"), "there is no part nothing; the parts are quick"),
        (("x", None, "x.zip"), "ends in .tar.xz"),
        (("x", None, "no/x.tar.xz"), "the folder .*no does not exist"),
    ],
)
def test_bad_usage(
    plan: Callable[..., None], tmp_path: Path, asked: tuple[str, str | None, str], said: str
) -> None:
    plan(QUICK)
    name, only, path = asked
    with pytest.raises(Fail, match=said):
        run.run(name, 1, only, (), tmp_path / path)


def sent(*entries: tarfile.TarInfo) -> bytes:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as made:
        for entry in entries:
            made.addfile(entry, io.BytesIO(b"x" * entry.size))
    return lzma.compress(tar.getvalue())


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, size: int = 1, link: str = ""
) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    made.size = size if kind == tarfile.REGTYPE else 0
    return made


HOSTILE = {
    "above": sent(entry("../x")),
    "absolute": sent(entry("/etc/x")),
    "folder": sent(entry("a", tarfile.DIRTYPE)),
    "link": sent(entry("a", tarfile.SYMTYPE, link="/etc/passwd")),
    "device": sent(entry("a", tarfile.CHRTYPE)),
    "twice": sent(entry("a"), entry("a")),
    "many": sent(*(entry(f"a{i}") for i in range(archive.MOST_FILES + 1))),
    "zeros": lzma.compress(bytes(archive.MOST_BYTES + 1)),
    "cut": sent(entry("a", size=5000))[:-20],
    "cut inside": lzma.compress(lzma.decompress(sent(entry("a", size=5000)))[:1024]),
    "text": b"nothing of the kind",
    "empty": b"",
    "no list": sent(entry("a")),
    "list": sent(entry(collected.LIST)),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_no_result_is_refused_in_a_line(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x.tar.xz"
    path.write_bytes(HOSTILE[what])
    with pytest.raises(Fail) as refused:
        collected.read(path)
    assert "is not an archive of `overlock collect`" in refused.value.message
    assert len(refused.value.message.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.tar.xz"]


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    members = {"b.json": b"1", "a.json": b"2" * 100_000}
    for name in ("one", "two"):
        archive.pack(tmp_path / name, dict(sorted(members.items(), reverse=name == "two")))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert archive.unpack(tmp_path / "one") == members
