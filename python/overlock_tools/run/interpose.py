# SPDX-License-Identifier: MIT
"""What a program is started with to have another lock: a library before its own, and variables."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from overlock_tools.bench import header_locks
from overlock_tools.core.model import defs
from overlock_tools.core.system import files, native
from overlock_tools.core.system.errors import Fail
from overlock_tools.run import config, live

# No lock of ours: glibc's own mutexes, of the kind that spins a little before it sleeps.
ADAPTIVE = "pthread_adaptive"


def compiled(header: Path) -> Path:
    """The lock of a header from outside the tree, kept where programs started later find it too."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "overlock"
    name = hashlib.sha256(os.fsencode(header.resolve())).hexdigest()[:16]
    try:
        files.make_folder(cache / name)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            made = header_locks.compile_lock(header, Path(folder))
            return made.replace(cache / name / made.name)
    except OSError as error:
        raise Fail(f"{error.filename} cannot be written: {error.strerror}") from error


def lock_variables(name: str, counters: bool) -> dict[str, str]:
    if name == ADAPTIVE:
        if counters:
            raise Fail(
                f"--counters and --check do not work with {name}, glibc's own mutex; choose "
                "another lock"
            )
        return {"OVERLOCK_LOCK": name}
    if not header_locks.is_header(name):
        return {"OVERLOCK_LOCK": defs.load().lock(name).id}
    if counters:
        raise Fail(
            f"--counters and --check work only with built-in locks, not with {name}; remove one of "
            "the options"
        )
    header = Path(name)
    return {
        "OVERLOCK_LOCK": header_locks.lock_id(header),
        "OVERLOCK_LOCK_SO": str(compiled(header)),
    }


def lock_settings(lock: str, tunables: Mapping[str, str | None], counters: bool) -> dict[str, str]:
    """The lock and, by name, the tunables that are set."""
    ours = lock_variables(lock, counters)
    for tunable in defs.load().tunables.values():
        if (text := tunables.get(tunable.name)) is not None:
            ours[tunable.variable] = tunable.check(text)
    return ours


def chosen(
    lock: str | None,
    sites: Iterable[str],
    config_file: str | None,
    tunables: Mapping[str, str | None],
    counters: bool,
) -> dict[str, str]:
    """Lock, tunables and sites: what is named before what the file has."""
    kept = config.from_file(Path(config_file)) if config_file else config.Choices()
    rules = [config.parse_site(text) for text in sites] + kept.sites
    if rules and (lock or kept.lock) == ADAPTIVE:
        raise Fail(f"{ADAPTIVE} applies to all mutexes of a program; remove the sites")
    named = {name: text for name, text in tunables.items() if text is not None}
    lock = lock or kept.lock
    settings = lock_settings(lock or config.PRESET, kept.tunables | named, counters)
    openmp = {} if lock else {"OVERLOCK_OPENMP_LOCK": config.OPENMP_PRESET}
    return settings | openmp | config.variables(rules)


def told(options: Mapping[str, Any], *names: str) -> dict[str, str]:
    """The variables that have these options' values, where they are given."""
    known = (defs.load().options[name] for name in names)
    return {
        option.variable: "1" if option.kind == "FLAG" else str(options[option.name])
        for option in known
        if options[option.name] != option.unset
    }


def checks(options: Mapping[str, Any]) -> dict[str, str]:
    """What the checked library is to look for; empty if it is not needed."""
    ours = told(options, "check")
    if options["deadlock_timeout"]:
        seconds = live.parse_interval(options["deadlock_timeout"], "--deadlock-timeout")
        ours["OVERLOCK_DEADLOCK_NS"] = str(round(seconds * 1e9))
    return ours


def built(flavour: str) -> Path:
    """The library that is preloaded: plain, "-counted" or "-checked"."""
    return native.file(f"liboverlock-run{flavour}.so")


class Prepared(NamedTuple):
    program: str  # its file, spelt as given: a script is told that name
    variables: dict[str, str]  # without what an outer `overlock run` set

    @property
    def preloaded(self) -> dict[str, str]:
        return {name: self.variables[name] for name in ("LD_PRELOAD",) if name in self.variables}

    def before(self, library: Path) -> "Prepared":
        """With that library preloaded before the others."""
        both = f"{library}:{self.variables['LD_PRELOAD']}"
        return self._replace(variables=self.variables | {"LD_PRELOAD": both})


def prepare(*library_and_program: Path | str) -> Prepared:
    """As the launcher starts a program, if one is given; it refuses what cannot be preloaded."""
    done = subprocess.run(
        [native.file("overlock"), "_prepare", *library_and_program],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        why = os.fsdecode(done.stderr).strip().removeprefix("overlock: ")
        raise Fail(why, done.returncode)
    program, *entries = os.fsdecode(done.stdout).split("\0")[:-1]
    variables = {name: value for name, _, value in (entry.partition("=") for entry in entries)}
    return Prepared(program, variables)


def spinlocks() -> list[str]:
    fit = [lock.id for lock in defs.load().locks.values() if not lock.no_spinlock]
    return [defs.load().options["spinlock"].preset, config.GLIBC, *fit]


def checked_spinlock(name: str) -> str:
    if name in spinlocks():
        return name
    lock = defs.load().lock(name)
    if lock.no_spinlock:
        raise Fail(
            f"--spinlock: {lock.id} {lock.no_spinlock}; choose one of {', '.join(spinlocks())}"
        )
    return lock.id


def other_kinds(options: Mapping[str, Any]) -> dict[str, str]:
    """What serves all but mutexes, and whether holders defer, where it is not the default."""
    known = {**options, "spinlock": checked_spinlock(options["spinlock"])}
    return told(known, "rwlock", "spinlock", "barrier", "openmp", "defer")


def names_a_lock(options: Mapping[str, Any]) -> bool:
    """Else the program keeps its own."""
    known = defs.load()
    table = ("lock", "site", "config", "rwlock", "spinlock", "barrier", "defer")
    given = (options[name] != known.options[name].unset for name in table)
    return any(given) or any(options[name] is not None for name in known.tunables)
