# SPDX-License-Identifier: MIT
"""overlock run --site: which mutex gets which lock, and that it keeps it."""

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.system import native
from tests.run.conftest import Compile, environment, output, overlock

USED = 400  # times that sites.cpp uses each mutex
MEETINGS = 2000


@dataclass(frozen=True)
class Said:
    acquired: Counter[str]  # by lock
    rules: list[dict[str, Any]]
    left: dict[str, int]


@pytest.fixture(scope="session")
def sites(program: Compile) -> Path:
    return program("sites.cpp")


@pytest.fixture(scope="session")
def gadget(program: Compile, folder: Path) -> Path:
    """A library named as libraries are."""
    made = program("sites_library.c", "-shared", "-fPIC", name="sites_library.so")
    return Path(shutil.copy(made, folder / "libgadget.so.1.2"))


def under(command: list[str | Path], tmp_path: Path, *rules: str, lock: str = "ticket") -> Said:
    out = tmp_path / "report"
    library = native.file("liboverlock-run-counted.so")
    more = {"OVERLOCK_OUTPUT": str(out), "OVERLOCK_SITES": "\n".join(rules)}
    output(command, environment(lock, library, **more))
    report = json.loads(out.read_text())
    acquired: Counter[str] = Counter()
    for site in report["sites"]["sites"]:
        acquired[site["lock"]] += site["events"].get("ACQUIRE", 0)
    return Said(acquired, report["rules"], report["left"])


FITS = {
    # pattern: mutexes, and acquisitions beyond the 400 of each
    "leveldb::port::Mutex::Mutex": (1, 0),
    "leveldb*Mutex": (1, 0),
    "leveldb::port::Mutex::Mutex()": (1, 0),
    "sites:leveldb*": (2, 1),
    "_ZN7leveldb4port5MutexC?Ev": (1, 0),
    "leveldb::port::Box<int>::lock": (1, 1),
    "leveldb::port::Box<int>::lock(pthread_mutex_t*, int const&)": (1, 1),
    "opens_hidden": (1, 1),
    "plain_c_init": (1, 0),
    "recursive_init": (1, 1),
    "*_init": (2, 1),
    "turns": (4, 0),  # what no function before has locked
    "&global_one": (1, 0),
    "&hidden": (1, 1),
    "&sites:hid*": (1, 1),
    "&stock::shelf": (1, 0),
    "&stock::many": (2, 0),
    "&stock::*": (3, 0),
    "no such function": (0, 0),
    "&plain_c_init": (0, 0),
    "global_one": (0, 0),
    "libgadget.so:*": (0, 0),
    "gadget:plain_c_init": (0, 0),
}


@pytest.mark.parametrize("pattern", FITS)
def test_a_rule_fits_what_it_says(sites: Path, tmp_path: Path, pattern: str) -> None:
    mutexes, more = FITS[pattern]
    said = under([sites], tmp_path, f"mcs {pattern}")
    assert said.rules == [{"pattern": pattern, "lock": "mcs", "mutexes": mutexes}]
    assert said.acquired["mcs"] == USED * mutexes + more
    assert said.acquired["ticket"] > USED


@pytest.mark.parametrize("pattern", ["libgadget.so:*", "libgadget.so.1.2:by_library", "by_library"])
def test_a_library_loaded_later(sites: Path, gadget: Path, tmp_path: Path, pattern: str) -> None:
    said = under([sites, gadget], tmp_path, f"tas_yield {pattern}")
    assert (said.rules[0]["mutexes"], said.acquired["tas_yield"]) == (1, USED)


def test_the_whole_program(sites: Path, gadget: Path, tmp_path: Path) -> None:
    said = under([sites, gadget], tmp_path, "mcs sites:*")
    assert said.acquired["ticket"] == USED  # the library's own
    assert said.rules[0]["mutexes"] == 9 + MEETINGS


def test_the_first_that_fits_decides(sites: Path, tmp_path: Path) -> None:
    names = ("&global_one", "&global_*", "*")
    locks = ("mcs", "tas", "tas_yield")
    said = under([sites], tmp_path, *(f"{a} {b}" for a, b in zip(locks, names, strict=True)))
    assert [rule["mutexes"] for rule in said.rules] == [1, 0, 8 + MEETINGS]
    assert said.acquired["mcs"] == USED
    assert said.acquired["ticket"] == 0
    said = under([sites], tmp_path, *(f"{a} {b}" for a, b in zip(locks, names[::-1], strict=True)))
    assert [rule["mutexes"] for rule in said.rules] == [9 + MEETINGS, 0, 0]


def test_two_who_meet_agree(sites: Path, tmp_path: Path) -> None:
    """One of them decides, and both use what it decided."""
    said = under([sites], tmp_path, "mcs *meet<1>", "ticket *meet<2>", lock="tas_yield")
    assert sum(rule["mutexes"] for rule in said.rules) == MEETINGS
    for rule in said.rules:
        assert said.acquired[rule["lock"]] == 2 * rule["mutexes"]


def test_left_to_glibc(sites: Path, tmp_path: Path) -> None:
    said = under([sites], tmp_path, "glibc leveldb*Mutex", "mcs &hidden")
    assert said.left["mutex_by_rule"] == USED
    assert said.acquired["mcs"] == USED + 1


# Locks that lie in the mutex, one that lies outside, two of those, glibc's, and one of each.
EVERYWHERE = {
    "in the mutex": ("tas_yield", "ticket *"),
    "outside": ("tas_yield", "partitioned_ticket *"),
    "both outside": ("anderson", "partitioned_ticket *"),
    "glibc": ("ticket", "glibc *"),
    "some": ("ticket", "mcs *1*\nglibc *2*\npartitioned_ticket *3*\ntas_yield &*a*"),
    "none": ("mcs", "ticket nothing"),
}


@pytest.mark.parametrize("name", EVERYWHERE)
def test_every_call_answers_as_glibc(program: Compile, name: str) -> None:
    lock, rules = EVERYWHERE[name]
    conformance = program("conformance.c")
    expected = output([conformance], environment(None))
    assert output([conformance], environment(lock, OVERLOCK_SITES=rules)) == expected


@pytest.mark.parametrize("name", EVERYWHERE)
def test_fork_conditions_and_cancellation(program: Compile, name: str) -> None:
    lock, rules = EVERYWHERE[name]
    env = environment(lock, OVERLOCK_SITES=rules)
    cancel = program("cancel.c")
    assert output([program("conditions.c"), "15"], env) == "fine\n"
    assert output([cancel], env) == output([cancel], environment(None))
    if "glibc" not in rules:  # whose mutex leaves the ghosts' to the child
        said = output([program("fork.c"), "3", "destroy"], env)
        assert said.startswith("children that returned: 60 of 60\n")


def test_early_mutexes_too(program: Compile, folder: Path) -> None:
    library = program("early.c", "-shared", "-fPIC", name="libearly.so")
    again = program("early.c", "-shared", "-fPIC", name="again.so")
    main = program("early.c", "-DMAIN", str(library), f"-Wl,-rpath,{folder}", name="early")
    said = output([main, again], environment("tas_yield", OVERLOCK_SITES="mcs *"))
    assert said == "early: 1\nforked: 0\nloaded: 1\n"


def test_deciding_waits_for_nobody(program: Compile) -> None:
    library = program("loading.c", "-DLIBRARY", "-shared", "-fPIC", name="loading.so")
    main = program("loading.c", "-rdynamic", name="loading")
    env = environment("tas_yield", OVERLOCK_SITES="mcs *any*")
    assert output(["timeout", "20", main, library], env) == "loaded\n"


def test_deciding_allocates_nothing(program: Compile) -> None:
    allocator = program("allocator.c", "-fno-builtin")
    env = environment("tas_yield", OVERLOCK_SITES="mcs allocate\nticket *lloc*\nmcs &*")
    assert output([allocator], env) == "fine\n"


def test_a_stripped_program_has_what_it_exports(program: Compile, tmp_path: Path) -> None:
    stripped = program("sites.cpp", "-s", "-rdynamic", name="stripped")
    said = under([stripped], tmp_path, "mcs plain_c_init", "tas opens_hidden", "tas_yield &hidden")
    assert [rule["mutexes"] for rule in said.rules] == [1, 0, 0]


def test_damaged_files_tell_nothing(sites: Path, gadget: Path, tmp_path: Path) -> None:
    """A library's file is cut while it is in use: its functions have no names any more."""
    cut = tmp_path / "libgadget.so"
    for size in (0, 3, 40, 64, 200):
        whole = gadget.read_bytes()
        cut.write_bytes(whole)
        code = (
            "import ctypes, os, sys; lib = ctypes.CDLL(sys.argv[1]); "
            "os.replace(sys.argv[1] + '.cut', sys.argv[1]); lib.by_library()"
        )
        Path(f"{cut}.cut").write_bytes(whole[:size])
        env = environment("tas_yield", OVERLOCK_SITES="mcs by_library")
        output(["python3", "-c", code, cut], env)


def test_by_the_command(sites: Path, tmp_path: Path) -> None:
    out, config = tmp_path / "report", tmp_path / "locks.toml"
    config.write_text(
        'lock = "ticket"\n[tunables]\nspin = 500\ntau = "inf"\n'
        '[[site]]\npattern = "&hidden"\nlock = "tas"\n[[site]]\npattern = "*"\nlock = "glibc"\n'
    )
    options = ("--site", "leveldb*=mcs", "--site", "&hidden=tas_yield", "--config", config)
    done = overlock(*options, "--output", out, sites)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(out.read_text())
    assert report["lock"] == "ticket"
    assert [(r["lock"], r["mutexes"]) for r in report["rules"][:3]] == [
        ("mcs", 2),
        ("tas_yield", 1),
        ("tas", 0),
    ]
    show = "import os; print(*(os.environ[f'OVERLOCK_{n}'] for n in ('LOCK', 'SPIN_NS', 'TAU_NS')))"
    said = overlock("--config", config, "--tau-ns", "7", "--", "python3", "-c", show)
    assert said.stdout == "ticket 500 7\n"
    said = overlock("--config", config, "--lock", "mcs", "--", "python3", "-c", show)
    assert said.stdout == "mcs 500 inf\n"


WRONG = {
    "lock = 3": 'lock = "…"',
    "lok = 'mcs'": "unknown key 'lok'",
    "lock = ": "not TOML",
    "[tunables]\ntua = 1": "did you mean tau",
    "[tunables]\ntau = -1": "from 0 to",
    "[tunables]\ntau = 1.5": "whole number",
    "site = 3": "[[site]]",
    "[[site]]\npattern = 'x'": 'lock = "…"',
    "[[site]]\npattern = 'x'\nlock = 'tickt'": "did you mean ticket",
    "[[site]]\npattern = 'x'\nlock = 'tx'": "choose another lock",
    "[[site]]\npattern = 'libx.so:'\nlock = 'mcs'": ":*",
    "[[site]]\npattern = 'x'\nlock = 'mcs'\nfor = 1": "unknown key 'for'",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_files_are_refused(tmp_path: Path, text: str) -> None:
    config = tmp_path / "locks.toml"
    config.write_text(text)
    refused(overlock("--config", config, "true"), str(config), text)


def refused(done: subprocess.CompletedProcess[str], where: str, text: str) -> None:
    assert (done.returncode, done.stdout) == (125, ""), done
    assert done.stderr.count("\n") == 1
    assert where in done.stderr
    assert WRONG.get(text, text) in done.stderr


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    refused(overlock("--site", "mcs", "true"), "--site mcs", "PATTERN=LOCK")
    refused(overlock("--site", "x=tickt", "true"), "", "did you mean ticket")
    refused(overlock("--site", "=mcs", "true"), "", "expected a pattern")
    refused(overlock("--config", tmp_path / "no", "true"), "no", "cannot be read")


def test_reports_name_functions_that_are_not_exported(sites: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    assert overlock("--output", out, sites).returncode == 0
    found = json.loads(out.read_text())["sites"]["sites"]
    names = {site.get("function", "") for site in found if site["events"].get("ACQUIRE")}
    assert {"opens_hidden()", "turns(pthread_mutex_t*)", "void meet<1>()"} <= names
