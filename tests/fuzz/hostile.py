# SPDX-License-Identifier: MIT
"""What the targets in Python share: how they are run, and how a document is changed."""

import contextlib
import io
import json
import random
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

from overlock_tools.core.system.errors import Fail

# What a careless or hostile writer puts in place of something.
ODD: list[Any] = [
    *(None, True, False, 0, -1, 7, 2**31, 2**63, 2**64, 10**400, -(10**400)),
    *(1.5, -0.5, 1e308, 5e-324, float("inf"), float("-inf"), float("nan")),
    *("", "7", "1e999", "inf", "ticket", "a\nb", "mcs@tau=0", "\ud800", "\x00", "\u202eabc"),
    *("\x1b[2J\x1b]0;title\x07", "\x9b31m", "[/bold]", "[link=x]y", "$\\frac$", "{}", "{0}", "%s"),
    *("<script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>", "</style></title>", "&lt;"),
    *("../../x", "/dev/full", "javascript:alert(1)", "x" * 300, "-->", "]]>"),
    *([], {}, [[]], [7], ["x"], {"x": {}}, [None]),
]
DEEP = 3000  # beyond what Python's stack holds


def changed(value: Any, chance: random.Random) -> Any:
    """Something in it is another thing, is missing or is there twice."""
    if chance.random() < 0.1 or not isinstance(value, dict | list) or not value:
        return chance.choice(ODD)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        new = [changed(value[at], chance)] * chance.randrange(3)
        return value[:at] + new + value[at + 1 :]
    key = chance.choice(list(value))
    kept = {name: held for name, held in value.items() if name != key}
    draw = chance.random()
    if draw < 0.15:
        return kept
    if draw < 0.25:
        return kept | {str(chance.choice(ODD)): value[key]}
    return kept | {key: changed(value[key], chance)}


def _document(data: bytes, most: int, seed: int) -> bytes:
    """libFuzzer knows bytes; this knows JSON, and leaves one input in ten to libFuzzer."""
    chance = random.Random(seed)  # noqa: S311
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return bytes(atheris.Mutate(data, most))
    if chance.random() < 0.1:
        return bytes(atheris.Mutate(data, most))
    for _ in range(chance.choice((1, 1, 2, 5))):
        value = changed(value, chance)
    text = json.dumps(value, ensure_ascii=chance.random() < 0.9)
    if chance.random() < 0.01:
        text = text.replace("{}", "[" * DEEP + "]" * DEEP, 1)
    made = text.encode(errors="surrogatepass")
    return made if len(made) <= most else data


def decoded(data: bytes) -> str:
    return data.decode(errors="replace")


def fuzz(take: Callable[[bytes], None], documents: bool = False) -> None:
    """Gives it inputs as libFuzzer's options say; `documents`: these are JSON."""
    atheris.Setup(sys.argv, take, **({"custom_mutator": _document} if documents else {}))
    atheris.Fuzz()


def is_refused(take: Callable[[], object]) -> bool:
    """In words of one line; anything else that is raised is the fault that is looked for."""
    try:
        take()
    except Fail:
        return True
    return False


def is_plain(text: str) -> bool:
    """Nothing that a terminal acts upon, or shows other than it is."""
    return not any(c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cs") for c in text)


def commanded(*words: str | Path) -> str:
    """What `overlock` prints; it ends with 0 to 2, and says why in one line."""
    from overlock_tools.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.run([*map(str, words)])
    assert is_plain(out.getvalue()), "the terminal is told to do something"
    assert is_plain(err.getvalue()), "the terminal is told to do something by an error"
    if code:
        assert code in (1, 2), code
        assert err.getvalue().count("\n") == (1 if code == 2 else 0), err.getvalue()
    return out.getvalue()
