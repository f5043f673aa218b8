# SPDX-License-Identifier: MIT
"""What overlock-hostd and readers of its page are given by others, fuzzed: files, pages and /proc
by fuzz.c, and QEMU's answers. Each fault that is planted has to be found in as many runs."""

import json
import random
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.kernel import channel
from overlock_tools.kernel.channel import Late
from overlock_tools.kernel.qmp import Monitor, parsed, threads_of
from tests.conftest import TOP

HERE = Path(__file__).parent
RUNS = 100_000

needs_clang = pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")
Fuzz = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def fuzz(tmp_path: Path) -> Fuzz:
    """Builds the target, from sources with a fault if one is given, and runs it."""

    def run(file: str = "", old: str = "", new: str = "") -> "subprocess.CompletedProcess[str]":
        for folder in ("monitor", "include"):
            shutil.copytree(TOP / folder, tmp_path / folder)
        if file:
            text = (tmp_path / file).read_text()
            assert text.count(old) == 1, f"{file} has no {old!r}; mend the mutant"
            (tmp_path / file).write_text(text.replace(old, new))
        program, found = tmp_path / "fuzz", tmp_path / "found"
        found.mkdir()
        subprocess.run([HERE / "build_fuzz", program, tmp_path], check=True)
        return subprocess.run(
            [program, f"-runs={RUNS}", "-seed=1", "-max_len=512", found, HERE / "seeds"],
            cwd=found,  # where it leaves the input that failed
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )

    return run


@needs_clang
def test_nothing_that_is_read_does_harm(fuzz: Fuzz) -> None:
    done = fuzz()
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"Done {RUNS} runs" in done.stderr


PAGE, THREAD = "monitor/page.c", "monitor/thread.c"
READER = "include/overlock/slice_reader.h"
# What is read, what is read instead, and the words in which the fuzzer reports it.
FAULTS = {
    "entries beyond the file": (
        PAGE,
        "head.entries <= (size - sizeof(head)) / sizeof(struct ol_slice_entry)",
        "head.entries",
        "a file was taken that is neither zeros nor a page",
    ),
    "bytes that are alike": (
        PAGE,
        "(!bytes[0] && !memcmp",
        "(!memcmp",
        "a file was taken that is neither zeros nor a page",
    ),
    "a short file": (
        PAGE,
        "if (size < sizeof(head))\n\t\treturn false;",
        "",
        "AddressSanitizer",
    ),
    "half an entry": (
        PAGE,
        "if (seq & 1 || seq == *last)",
        "if (!seq)",
        "half an entry was copied",
    ),
    "an entry beyond the page": (
        READER,
        "map->first + (uint64_t)map->stride * map->entries <= told",
        "map->first <= told",
        "AddressSanitizer",
    ),
    "an end of a thread off its CPU": (
        READER,
        "if (e->running != OL_SLICE_ON) {",
        "if (0) {",
        "a thread off its CPU has an end",
    ),
    "a name's parenthesis": (
        THREAD,
        "strrchr(text, ')')",
        "strchr(text, ')')",
        "a thread's name was taken for its start",
    ),
    "a name's line": (
        THREAD,
        '"\\nTgid:"',
        '"Tgid:"',
        "a thread's name was taken for its process",
    ),
}


@needs_clang
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fuzz: Fuzz, fault: str) -> None:
    file, old, new, report = FAULTS[fault]
    done = fuzz(file, old, new)
    assert done.returncode
    assert report in done.stderr


# QEMU, which a guest may have taken over.

ODD = [None, True, -1, 2**63, 1.5, float("inf"), "", "7", [], {}, [7], {"return": 1}]
ANSWER = [{"cpu-index": i, "thread-id": 70 + i, "props": {"core-id": i}} for i in (1, 0, 2)]


def changed(value: Any, chance: random.Random) -> Any:
    """Something in it is another thing, is missing or is there twice."""
    if chance.random() < 0.15 or not isinstance(value, dict | list) or not value:
        return chance.choice(ODD)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        new = [changed(value[at], chance)] * chance.randrange(3)
        return value[:at] + new + value[at + 1 :]
    key = chance.choice(list(value))
    kept = {name: held for name, held in value.items() if name != key}
    return kept if chance.random() < 0.3 else kept | {key: changed(value[key], chance)}


def test_an_answer_names_threads_or_is_refused() -> None:
    chance, taken, refused = random.Random(1), 0, 0  # noqa: S311
    for _ in range(20_000):
        line = json.dumps({"return": changed(ANSWER, chance)})
        if chance.random() < 0.3:
            at = chance.randrange(len(line))
            line = line[:at] + chance.choice('[]{}",:0\\\x00\ud800') + line[at + 1 :]
        try:
            threads = threads_of(parsed(line).get("return"))
        except ValueError:
            refused += 1
        else:
            taken += 1
            assert all(type(thread) is int for thread in threads)
    assert min(taken, refused) > 1000
    assert threads_of(ANSWER) == [70, 71, 72]


@pytest.mark.parametrize("line", ["[" * 100_000, "7", "null", "", "9" * 10_000], ids=len)
def test_what_is_no_answer_is_refused(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of json's, too
        parsed(line)


@contextmanager
def hostile(path: Path, text: bytes) -> Iterator[Path]:
    """Sends this for as long as it is read."""

    class Qemu(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                while True:
                    self.request.sendall(text)
            except OSError:
                return

    with socketserver.UnixStreamServer(str(path), Qemu) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield path
        server.shutdown()


def test_events_without_end_are_not_listened_to(tmp_path: Path) -> None:
    with (
        hostile(tmp_path / "qmp", b'{"event": "RESUME"}\n' * 100) as path,
        pytest.raises(Late, match="no line within"),
    ):
        Monitor(path, 0.5, path.exists)


def test_a_line_without_end_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "LINE_BYTES", 1 << 20)
    with (
        hostile(tmp_path / "qmp", b" " * 65536) as path,
        pytest.raises(Late, match="no end of a line within 1048576 bytes"),
    ):
        Monitor(path, 30, path.exists)
