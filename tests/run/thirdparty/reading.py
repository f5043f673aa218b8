# SPDX-License-Identifier: MIT
"""What a foreign suite says of its tests, in the form in which it says it."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

PASSED, SKIPPED, FAILED = "passed", "skipped", "failed"  # the worst last
XML = "results.xml"  # in the folder that a program is run in

Verdicts = dict[str, str]  # by test


def note(found: Verdicts, test: str, verdict: str) -> None:
    """Of tests with one name the worst verdict counts."""
    order = (PASSED, SKIPPED, FAILED)
    found[test] = max(found.get(test, PASSED), verdict, key=order.index)


TAP = re.compile(r"^\s*(not )?ok\b\s*(\d+)?\s*(?:-\s)?([^#]*?)\s*(?:#\s*(SKIP|TODO)\b.*)?$", re.I)


SEED = re.compile(r"\bseed:\d+")  # at random, in the names of GLib's tests


def tap(said: str, _folder: Path) -> Verdicts:
    """The Test Anything Protocol. A test that is still to do may fail."""
    found: Verdicts = {}
    for line in said.splitlines():
        if not (match := TAP.match(line)):
            continue
        failed, number, name, mark = match.groups()
        verdict = SKIPPED if mark else FAILED if failed else PASSED
        note(found, SEED.sub("seed", name) or f"test {number}", verdict)
    return found


def junit(_said: str, folder: Path) -> Verdicts:
    """JUnit's XML, as GoogleTest and Python's regrtest write it; nothing if they did not get to."""
    path = folder / XML
    if not path.exists():
        return {}
    try:
        # The suites are Debian's, and are run: their XML is no more to be feared.
        tree = ET.parse(path)  # noqa: S314
    except ET.ParseError:
        return {}
    found: Verdicts = {}
    for case in tree.iter("testcase"):
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        note(found, name, _judged(case))
    return found


def _judged(case: ET.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return FAILED
    not_run = case.get("status") == "notrun" or case.get("result") in ("skipped", "suppressed")
    return SKIPPED if not_run or case.find("skipped") is not None else PASSED


def ending(_said: str, _folder: Path) -> Verdicts:
    """Nothing but how the program ends."""
    return {}


READERS: dict[str, Callable[[str, Path], Verdicts]] = {"tap": tap, "junit": junit, "ending": ending}
