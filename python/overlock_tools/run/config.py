# SPDX-License-Identifier: MIT
"""Which lock a program's mutexes get: sites, tunables, and the file that keeps them."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.core.model import defs
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail

GLIBC = "glibc"  # the mutex as it was
PRESET = "tas_yield"
OPENMP_PRESET = "paced"  # of OpenMP's locks, where no lock is named


@dataclass(frozen=True)
class Site:
    """Mutexes that the pattern fits get that lock; run/diag/choice.c says what fits."""

    pattern: str
    lock: str


@dataclass
class Choices:
    lock: str | None = None
    tunables: dict[str, str] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)


def checked_site(pattern: str, lock: str, where: str) -> Site:
    if not pattern or pattern != pattern.strip() or "\n" in pattern:
        raise Fail(f"{where}: expected a pattern of one line, as in --site 'leveldb*Mutex=pv_byte'")
    if pattern.lstrip("&").endswith(":"):
        raise Fail(
            f"{where}: a pattern for a whole object must end with `:*`, as in 'libfoo.so:*=mcs'"
        )
    if lock == GLIBC:
        return Site(pattern, lock)
    known = defs.known(
        defs.load().locks, lock, "lock", f"`overlock locks` lists them, and {GLIBC} keeps the mutex"
    )
    if "elides" in known.traits:
        raise Fail(
            f"{where}: {lock} must be released by the thread that acquired it, and programs do not "
            "guarantee that for mutexes; choose another lock"
        )
    return Site(pattern, known.id)


def parse_site(text: str) -> Site:
    """`PATTERN=LOCK`; the pattern may have a `=`, as in operator==."""
    pattern, equals, lock = text.rpartition("=")
    if not equals:
        raise Fail(f"--site {text}: expected PATTERN=LOCK, as in --site 'leveldb*Mutex=pv_byte'")
    return checked_site(pattern, lock, f"--site {text}")


def _only(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise Fail(f"{where}: unknown key {key!r}; expected {', '.join(known)}")


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    if not isinstance(table.get(key), str):
        raise Fail(f'{where}: {key} must be a string, as in {key} = "…"')
    return str(table[key])


def _tunable(name: str, value: Any) -> tuple[str, str]:
    tunable = defs.load().tunable(name)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Fail(f'{name} must be a whole number or "inf"')
    return tunable.name, tunable.check(str(value))


def _from_text(text: str) -> Choices:
    raw = tomllib.loads(text)
    _only(raw, ("lock", "tunables", "site"), "the file")
    if not isinstance(raw.get("tunables", {}), dict) or not isinstance(raw.get("site", []), list):
        raise Fail("expected a table [tunables] and an array of tables [[site]]")
    choices = Choices()
    if "lock" in raw:
        choices.lock = _text(raw, "lock", "the file")
    choices.tunables = dict(_tunable(k, v) for k, v in raw.get("tunables", {}).items())
    for i, site in enumerate(raw.get("site", []), 1):
        here = f"site {i}"
        if not isinstance(site, dict):
            raise Fail(f"{here}: expected a table, [[site]]")
        _only(site, ("pattern", "lock"), here)
        pattern, lock = _text(site, "pattern", here), _text(site, "lock", here)
        choices.sites.append(checked_site(pattern, lock, here))
    return choices


def from_file(path: Path) -> Choices:
    try:
        return _from_text(files.read_text(path))
    except (ValueError, RecursionError) as error:  # a number may be too long, too
        raise Fail(f"{path} is not TOML: {error}") from error
    except Fail as error:
        if str(path) in error.message:
            raise
        raise Fail(f"{path}: {error.message}", error.code) from error


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    return '"' + re.sub(r'[\\"\x00-\x1f\x7f]', lambda m: f"\\u{ord(m[0]):04x}", text) + '"'


def to_text(choices: Choices, comment: str = "") -> str:
    """What from_file() reads."""
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    if choices.lock:
        lines.append(f"lock = {_quoted(choices.lock)}")
    if choices.tunables:
        lines += ["", "[tunables]"]
        lines += [
            f"{name} = {value if value.isdigit() else _quoted(value)}"
            for name, value in choices.tunables.items()
        ]
    for site in choices.sites:
        lines += ["", "[[site]]"]
        lines += [f"pattern = {_quoted(site.pattern)}", f"lock = {_quoted(site.lock)}"]
    return "\n".join(lines) + "\n"


def variables(sites: list[Site]) -> dict[str, str]:
    """As the preloaded library reads them: a line per rule."""
    if not sites:
        return {}
    return {"OVERLOCK_SITES": "\n".join(f"{site.lock} {site.pattern}" for site in sites)}
