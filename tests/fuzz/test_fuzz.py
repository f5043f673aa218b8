# SPDX-License-Identifier: MIT
"""Every target: its seeds, and as many inputs as the list says, the same in each run. Faults are
planted, too: each has to be found in as many."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mutant import changed, source

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
SOURCES = ("include", "lib", "profile", "lab", "run", "chaos", "python")
NAMES = [
    line.split()[0] for line in (HERE / "targets").read_text().splitlines() if line[:1].isalpha()
]
needs_clang = pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")


def needs_atheris(name: str) -> None:
    if (HERE / f"{name}.py").exists() and not find_spec("atheris"):
        pytest.skip("atheris is not installed: it has no wheel for Python 3.14 and later")


Done = subprocess.CompletedProcess[str]


def run(build: Path, *words: str | Path) -> Done:
    command = [sys.executable, HERE / "run", "--build", build, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_clang
@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_is_read_does_harm(name: str, tmp_path: Path) -> None:
    needs_atheris(name)
    done = run(tmp_path, "--only", name)
    assert done.returncode == 0, done.stdout
    assert f"{name}: fine; " in done.stdout
    assert (HERE / "seeds" / name).is_dir()


class Fault(NamedTuple):
    target: str
    file: str
    old: str
    new: str
    report: str  # the words in which it is reported


PAGE, THREAD = "lab/hostd/page.c", "lab/slices/thread.c"
SLICES = "include/overlock/slice_reader.h"
FAULTS = {
    "segments beyond their file": Fault(
        "loops",
        "lib/loops/image.c",
        "s->p_filesz > file_size - s->p_offset ||",
        "",
        "AddressSanitizer: BUS",
    ),
    "what is no segment is mapped": Fault(
        "loops",
        "lib/loops/image.c",
        "if (s->p_type == PT_LOAD && s->p_filesz &&",
        "if (s->p_type != PT_NULL && s->p_filesz &&",
        "addition of unsigned offset",
    ),
    "entries beyond the file": Fault(
        "agent",
        PAGE,
        "head.entries <= (size - sizeof(head)) / sizeof(struct ol_slice_entry)",
        "head.entries",
        "a file was taken that is neither zeros nor a page",
    ),
    "a quote in a name": Fault(
        "debuginfo",
        "profile/agent/words.c",
        "c == '\"' || c == '\\\\'",
        "c == '\\\\'",
        "an answer ",
    ),
    "a function without a name": Fault(
        "debuginfo",
        "profile/symbolizer.c",
        'return name ? name : "";',
        "return name;",
        "null pointer",
    ),
    "bytes that are alike": Fault(
        "agent",
        PAGE,
        "(!bytes[0] && !memcmp",
        "(!memcmp",
        "a file was taken that is neither zeros nor a page",
    ),
    "a short file": Fault(
        "agent", PAGE, "if (size < sizeof(head))\n\t\treturn false;", "", "AddressSanitizer"
    ),
    "half an entry": Fault(
        "agent", PAGE, "if (seq & 1 || seq == *last)", "if (!seq)", "half an entry was copied"
    ),
    "an entry beyond the page": Fault(
        "agent",
        SLICES,
        "map->first + (uint64_t)map->stride * map->entries <= told",
        "map->first <= told",
        "AddressSanitizer",
    ),
    "an end of a thread off its CPU": Fault(
        "agent",
        SLICES,
        "if (e->running != OL_SLICE_ON) {",
        "if (0) {",
        "a thread off its CPU has an end",
    ),
    "a name's parenthesis": Fault(
        "agent",
        THREAD,
        "strrchr(text, ')')",
        "strchr(text, ')')",
        "a thread's name was taken for its start",
    ),
    "a name's line": Fault(
        "agent", THREAD, '"\\nTgid:"', '"Tgid:"', "a thread's name was taken for its process"
    ),
    "names of any size": Fault(
        "program",
        "run/program.c",
        "is_within_file(f, size)",
        "is_within_file(f, 0)",
        "AddressSanitizer",
    ),
    "a name outside its table": Fault(
        "program", "run/program.c", "e.d_un.d_val < size &&", "", "AddressSanitizer"
    ),
    "a symbol without a name": Fault(
        "sites", "run/diag/symbols.c", "*found.name && ", "", "AddressSanitizer"
    ),
    "strings beyond the file": Fault(
        "sites",
        "run/diag/symbols.c",
        "names.at = bytes_at(f, strings->sh_offset, strings->sh_size, 1);",
        "names.at = f->bytes + strings->sh_offset;",
        "",
    ),
    "a number that wraps": Fault(
        "options",
        "lib/tunable.c",
        "|| v > t->most)",
        ")",
        "a number is another",
    ),
    "a result's types": Fault(
        "results",
        "system/reading.py",
        "if type(raw) is not int or not -MOST < raw < MOST:",
        "if False:",
        "TypeError",
    ),
    "a result's time": Fault(
        "results",
        "model/results.py",
        "cell.seconds < LEAST_SECONDS or ",
        "",
        "ZeroDivision",
    ),
    "names as markup": Fault(
        "results",
        "system/terminal.py",
        "markup=False, width",
        "markup=True, width",
        "MarkupError",
    ),
    "names as elements": Fault(
        "report",
        "render/report.py",
        'return "".join(f"<p{mark}>{escape(line)}</p>"',
        'return "".join(f"<p{mark}>{line}</p>"',
        "the page has an element img",
    ),
    "names as colours": Fault(
        "report",
        "system/text.py",
        '("Cc", "Cs")',
        '("Cs",)',
        "the terminal is told to do something",
    ),
    "a guest's time": Fault(
        "guest", "guest/loads.py", "answer.seconds <= 0 or ", "", "ZeroDivision"
    ),
    "a frame in no module": Fault(
        "stacks",
        "run/profiling.py",
        ' or (module is not None and module >= len(raw["modules"]))',
        "",
        "IndexError",
    ),
    "a number without end": Fault(
        "config", "run/config.py", "(ValueError, RecursionError)", "()", "FAILED"
    ),
    "a damaged trace": Fault(
        "trace",
        "trace/format.py",
        "(EOFError, gzip.BadGzipFile, zlib.error)",
        "EOFError",
        "FAILED",
    ),
    "half a name": Fault("symbolizer", "run/live.py", 'errors="replace"', "", "UnicodeDecodeError"),
    "a look without end": Fault(
        "unwind",
        "profile/scan.c",
        "return !(step % STEPS) && monotonic_ns() >= looks.until;",
        "return step < 0;",
        "a look goes on and on",
    ),
    "more frames than there is room": Fault(
        "unwind", "profile/unwind.c", "now.n == MOST_FRAMES || ", "", "AddressSanitizer"
    ),
    "a record that ends early": Fault(
        "raw", "trace/raw.py", "head.most_chunks, there", "head.most_chunks", "error: "
    ),
    "a lock of no kind": Fault(
        "raw",
        "trace/raw.py",
        'raw.locks["kind"] >= len',
        'raw.locks["kind"] < -len',
        "IndexError",
    ),
    "an execution without steps": Fault(
        "check",
        "check/steps.py",
        "not (found and found[-1].fails)",
        "not found[-1].fails",
        "IndexError",
    ),
}


@needs_clang
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, tmp_path: Path) -> None:
    needs_atheris(FAULTS[name].target)
    fault = FAULTS[name]
    for folder in SOURCES:
        shutil.copytree(TOP / folder, tmp_path / folder)
    file = tmp_path / source(fault.file).relative_to(TOP)
    file.write_text(changed(file.read_text(), (fault.old, fault.new), name=fault.file))
    done = run(tmp_path / "build", "--only", fault.target, "--top", tmp_path)
    assert done.returncode == 1, done.stdout
    assert fault.report in done.stdout, done.stdout
    assert list((tmp_path / "build/fuzz" / fault.target).glob("crash-*")), "no input is kept"
