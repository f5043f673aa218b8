# SPDX-License-Identifier: MIT
"""A machine in one file: every part or why not, whatever ends it; and files that somebody sent."""

import io
import json
import lzma
import os
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from overlock_tools.collect import parts, run
from overlock_tools.collect.parts import Part
from overlock_tools.core.model import collected
from overlock_tools.core.render import outputs
from overlock_tools.core.system import archive
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, USAGE, Fail
from tests.command import COMMAND, Overlock
from tests.processes import HANG_S, children, descendants, gone, until


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
    nothing = Part("nothing", "n.json", 0.1, lambda *_: ["locks"])
    plan(
        QUICK,
        doctor("unbuilt", 1, needs=("overlock-nothing",)),
        doctor("long", 1, least_s=99),
        wrong,
        nothing,
    )
    path = tmp_path / "x.tar.xz"
    assert run.run("x", 0.1, None, (), path) == FAILED
    why = listed(path)
    assert why["quick"] == ""
    assert "overlock-nothing" in why["unbuilt"]
    assert why["long"].startswith("it needs 99 s")
    assert why["wrong"].startswith("exit code 2: ")
    assert "--pid" in why["wrong"]
    assert why["nothing"] == "it left no n.json"


def test_a_failure_is_not_whole_though_it_left_a_file(
    plan: Callable[..., None], tmp_path: Path
) -> None:
    """As a bench does whose lock excluded nobody: 1. Of a validation, 1 is its verdict."""
    code = "import sys; open(sys.argv[1], 'w').write('{}'); sys.exit(1)"
    words = ["run", "--", sys.executable, "-c", code, "{file}"]
    one = Part("bench", "bench.json", 0.1, lambda *_: words)
    plan(one, replace(one, name="verdict", file="verdict.json", codes=(0, FAILED)))
    path = tmp_path / "x.tar.xz"
    assert run.run("x", 1, None, (), path) == FAILED
    assert listed(path) == {"bench": "exit code 1: no reason given", "verdict": ""}
    assert "bench.json" in collected.read(path).files


def test_an_archive_without_measurements_is_no_page(
    plan: Callable[..., None], tmp_path: Path
) -> None:
    plan(QUICK)
    path = tmp_path / "x.tar.xz"
    assert run.run("x", 1, None, (), path) == 0
    with pytest.raises(Fail, match="has no measurements to show; its parts are quick"):
        outputs.write([path], None, {"output": tmp_path / "page.html"})
    assert not (tmp_path / "page.html").exists()


def test_a_program_that_is_asked_for_is_a_part_beside_others() -> None:
    names = [part.name for part in parts.chosen("doctor", ("pbzip2",))]
    assert names == ["doctor", "pbzip2"]


def test_a_closed_terminal_ends_what_is_measured(tmp_path: Path) -> None:
    words = ["collect", "--only", "validate,calibrate", "--minutes", "30", "-o", "x.tar.xz"]
    with subprocess.Popen([*COMMAND, *words], cwd=tmp_path, stdout=subprocess.PIPE) as child:
        until(lambda: descendants(child.pid))
        found = descendants(child.pid)
        child.send_signal(signal.SIGHUP)
        assert child.wait(HANG_S) == INTERRUPTED
    until(lambda: all(map(gone, found)))
    assert set(listed(tmp_path / "x.tar.xz").values()) == {"interrupted"}


def test_an_unknown_program_is_refused(overlock: Overlock) -> None:
    done = overlock("collect", "--app", "nothing", "--minutes", "0.1")
    assert done.returncode == USAGE
    assert "nothing" in done.stderr
    assert done.stderr.count("\n") == 1


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
    assert listed(path) == {"quick": "", "endless": "interrupted"}


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


def listing(text: bytes) -> bytes:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as made:
        made.addfile(entry(collected.LIST, size=len(text)), io.BytesIO(text))
    return lzma.compress(tar.getvalue())


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, size: int = 1, link: str = ""
) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    made.size = size if kind == tarfile.REGTYPE else 0
    return made


NOT_PLAIN = "which is no plain file of a result"
TWICE = "it has a file twice, or too many"
HOSTILE = {
    "above": (sent(entry("../x")), NOT_PLAIN),
    "absolute": (sent(entry("/etc/x")), NOT_PLAIN),
    "folder": (sent(entry("a", tarfile.DIRTYPE)), NOT_PLAIN),
    "link": (sent(entry("a", tarfile.SYMTYPE, link="/etc/passwd")), NOT_PLAIN),
    "device": (sent(entry("a", tarfile.CHRTYPE)), NOT_PLAIN),
    "twice": (sent(entry("a"), entry("a")), TWICE),
    "many": (sent(*(entry(f"a{i}") for i in range(archive.MOST_FILES + 1))), TWICE),
    "zeros": (lzma.compress(bytes(archive.MOST_BYTES + 1)), "it has more than 256 MiB"),
    "cut": (sent(entry("a", size=5000))[:-20], "it is cut off"),
    "cut inside": (
        lzma.compress(lzma.decompress(sent(entry("a", size=5000)))[:1024]),
        "unexpected end of data",
    ),
    "text": (b"nothing of the kind", "format not supported"),
    "empty": (b"", "it is cut off"),
    "no list": (sent(entry("a")), "it has no list"),
    "list": (sent(entry(collected.LIST)), "Expecting value"),
    "other list": (listing(b'{"format": "other"}'), f"its format is not {collected.FORMAT}"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_no_result_is_refused_in_a_line(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x.tar.xz"
    content, why = HOSTILE[what]
    path.write_bytes(content)
    with pytest.raises(Fail) as refused:
        collected.read(path)
    assert "is not an archive of `overlock collect`: " in refused.value.message
    assert why in refused.value.message
    assert len(refused.value.message.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.tar.xz"]


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    members = {"b.json": b"1", "a.json": b"2" * 100_000}
    for name in ("one", "two"):
        archive.pack(tmp_path / name, dict(sorted(members.items(), reverse=name == "two")))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert archive.unpack(tmp_path / "one") == members
