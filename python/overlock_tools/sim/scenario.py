# SPDX-License-Identifier: MIT
"""A scenario: what its file and the command line say, checked, before it becomes runs."""

import copy
import itertools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from overlock_tools.core.model import defs
from overlock_tools.core.system.errors import Fail
from overlock_tools.sim import schema, toml
from overlock_tools.sim.toml import Lines, Path_

EACH, NONE, ALL = "each", "none", "all"
MIX = "mix"  # the workload
SCENARIOS = Path(__file__).with_name("scenarios")
Values = dict[str, Any]
Point = dict[str, Any]  # of a sweep: values by path


@dataclass
class Scenario:
    file: Path
    values: Values
    lines: Lines
    given: dict[Path_, str] = field(default_factory=dict)  # by which option

    # What is wrong

    def where(self, at: Path_) -> str:
        """The option, or the file with the line, that is nearest."""
        for end in range(len(at), 0, -1):
            if at[:end] in self.given:
                return self.given[at[:end]]
            if at[:end] in self.lines:
                return f"{self.file}:{self.lines[at[:end]]}"
        return str(self.file)

    def refuse(self, at: Path_, why: str) -> NoReturn:
        raise Fail(f"{self.where(at)}: {self.shown(at)}: {why}" if at else f"{self.file}: {why}")

    def shown(self, at: Path_) -> str:
        """As --set and [sweep] name it: guest.vm.contexts."""
        words = list(map(str, at))
        guests = self.values.get("guest")
        if len(at) > 1 and at[0] == "guest" and isinstance(at[1], int) and guests:
            words[1] = str(guests[at[1]].get("name", at[1]))
        return ".".join(words)

    # What it says

    @property
    def name(self) -> str:
        return self.file.stem

    @property
    def title(self) -> str:
        return str(self.values.get("title", self.name))

    @property
    def seeds(self) -> list[int]:
        seeds = self.values.get("seeds", 1)
        return list(seeds) if isinstance(seeds, list) else list(range(1, seeds + 1))

    @property
    def locks(self) -> list[str]:
        said = self.values.get("locks", ALL)
        found: dict[str, None] = {}
        for name in [said] if isinstance(said, str) else said:
            listed = subjects(self.values) if name == ALL else [self._checked(name)]
            found |= dict.fromkeys(listed)
        return list(found)

    def _checked(self, variant: str) -> str:
        try:
            where = "`overlock locks` lists them"
            return defs.checked_variant(variant, subjects(self.values), where)
        except Fail as error:
            self.refuse(("locks",), error.message)

    @property
    def measured(self) -> list[int]:
        """The guests whose locks are compared; else all that take one."""
        guests = list(enumerate(self.values["guest"]))
        compared = [i for i, guest in guests if lock_of(guest) == EACH]
        return compared or [i for i, guest in guests if lock_of(guest) != NONE]

    @property
    def compares(self) -> bool:
        return any(lock_of(guest) == EACH for guest in self.values["guest"])

    @property
    def contexts_path(self) -> str:
        return f"guest.{self.values['guest'][self.measured[0]]['name']}.contexts"

    @cached_property
    def points(self) -> list[Point]:
        """Every point of the grid; one without values if nothing is swept."""
        sweep = self.values.get("sweep", {})
        choices = [list(axis.values()) for axis in self.axes.values()]
        choices += [[{path: value} for value in values] for path, values in sweep.items()]
        return [dict(_settings(found)) for found in itertools.product(*choices)]

    @property
    def axes(self) -> dict[str, dict[str, Point]]:
        """By the axis and the name of its value, what that sets."""
        found: dict[str, dict[str, Point]] = self.values.get("axes", {})
        return found

    def at(self, point: Point) -> "Scenario":
        """The scenario at one point of its grid."""
        found = Scenario(self.file, copy.deepcopy(self.values), self.lines, dict(self.given))
        for path, value in point.items():
            found.set(path, value, self._swept(path, value))
        return found

    def _swept(self, path: str, value: Any) -> str:
        """Where a value of the grid stands."""
        for name, axis in self.axes.items():
            for label, settings in axis.items():
                if path in settings and settings[path] == value:
                    return self.where(("axes", name, label, path))
        return self.where(("sweep", path))

    def set(self, path: str, value: Any, by: str) -> None:
        """A value that an option or a sweep gives; `by` is what an error says."""
        words: list[str | int] = list(filter(None, path.split(".")))
        if not words:
            raise Fail(f"{by}: expected the dotted path of a parameter, as in host.scheduler")
        if words == ["machine"] and isinstance(value, str):
            value = {"base": value}
        if words[0] == "sweep":
            words = ["sweep", ".".join(map(str, words[1:]))]
        if words[0] == "guest" and len(words) > 1:
            words[1] = self._guest(str(words[1]), by)
        table: Any = self.values
        for word in words[:-1]:
            table = table[word] if isinstance(word, int) else table.setdefault(word, {})
            if not isinstance(table, (dict, list)):
                raise Fail(f"{by}: {path}: {word} is a value, not a table")
        if not isinstance(table, dict):
            raise Fail(f"{by}: {path}: expected guest.NAME.PARAMETER")
        table[words[-1]] = copy.deepcopy(value)  # other points of the grid have it, too
        self.given[tuple(words)] = by

    def _guest(self, name: str, by: str) -> int:
        names = [str(guest["name"]) for guest in self.values.get("guest", [])]
        if name in names:
            return names.index(name)
        raise Fail(f"{by}: there is no guest {name}{schema.suggestion(name, names)}")


def checked(path: Path, kind: str) -> Values:
    """A file's values, by the definition `kind` of the schema."""
    values, lines = toml.read(path)
    for at, why in sorted(schema.errors(values, kind), key=lambda error: error[1]):
        raise Fail(f"{Scenario(path, values, lines).where(at)}: {'.'.join(map(str, at))}: {why}")
    return values


def _settings(points: Iterable[Point]) -> Iterable[tuple[str, Any]]:
    return itertools.chain.from_iterable(point.items() for point in points)


def lock_of(guest: Mapping[str, Any]) -> str:
    usual = NONE if guest.get("workload") == "burn" else EACH
    return str(guest.get("lock", usual))


def load(name: str, options: Iterable[tuple[str, Any, str]]) -> Scenario:
    """Of a file or a ready scenario, changed by options: path, value, and the option in words."""
    file = _file(name)
    values, lines = toml.read(file)
    scenario = Scenario(file, values, lines)
    _normalise(scenario)
    for path, value, by in options:
        scenario.set(path, value, by)
    check(scenario)
    return scenario


def ready() -> dict[str, Path]:
    return {path.stem: path for path in sorted(SCENARIOS.glob("*.toml"))}


def _file(name: str) -> Path:
    path = Path(name)
    if path.suffix == ".toml" or "/" in name:
        return path
    if name in ready():
        return ready()[name]
    raise Fail(
        f"there is no ready scenario {name}{schema.suggestion(name, list(ready()))}; "
        "a file's name ends in .toml"
    )


def _normalise(scenario: Scenario) -> None:
    """So that every value has a path."""
    values = scenario.values
    if isinstance(machine := values.get("machine"), str):
        values["machine"] = {"base": machine}
        scenario.lines["machine", "base"] = scenario.lines["machine",]
    guests = values.get("guest")
    if isinstance(guests, list) and all(isinstance(guest, dict) for guest in guests):
        for number, guest in enumerate(guests, 1):
            guest.setdefault("name", f"guest{number}")
    elif guests is not None:
        scenario.refuse(("guest",), "expected tables that begin with [[guest]]")
    if isinstance(sweep := values.get("sweep"), dict):
        values["sweep"] = dict(_flat(sweep, (), scenario.lines))


def _flat(table: Values, at: tuple[str, ...], lines: Lines) -> Iterable[tuple[str, Any]]:
    for word, value in table.items():
        path = (*at, word)
        if isinstance(value, dict):
            yield from _flat(value, path, lines)
        else:
            lines["sweep", ".".join(path)] = lines["sweep", *path]
            yield ".".join(path), value


def check(scenario: Scenario) -> None:
    """Also every value of an axis or a sweep, by itself."""
    _check(scenario)
    for axis in scenario.axes.values():
        for settings in axis.values():
            _check(scenario.at(settings))
    for path, values in scenario.values.get("sweep", {}).items():
        for value in values:
            _check(scenario.at({path: value}))


def _check(scenario: Scenario) -> None:
    found = list(schema.errors(scenario.values))
    if found:
        scenario.refuse(*min(found, key=lambda error: (_order(scenario, error[0]), error)))
    names = [guest["name"] for guest in scenario.values["guest"]]
    for number, name in enumerate(names):
        if name in names[:number]:
            scenario.refuse(("guest", number, "name"), "another guest has this name; change it")
    for number, guest in enumerate(scenario.values["guest"]):
        _check_guest(scenario, number, guest)
    _check_locks(scenario)


def subjects(values: Values) -> Mapping[str, Any]:
    """What its guests may have: locks, or the barriers that can be simulated."""
    known = defs.load()
    if any(guest.get("workload") == defs.MEETS for guest in values["guest"]):
        return {name: barrier for name, barrier in known.barriers.items() if barrier.simulated}
    return known.locks


def _order(scenario: Scenario, at: Path_) -> int:
    """Options first, then from the top of the file."""
    for end in range(len(at), 0, -1):
        if at[:end] in scenario.given:
            return -1
        if at[:end] in scenario.lines:
            return scenario.lines[at[:end]]
    return 0


def _check_guest(scenario: Scenario, number: int, guest: Values) -> None:
    lock, burns = lock_of(guest), guest.get("workload") == "burn"
    users = guest.get("kind") == "users"
    if burns and lock != NONE:
        scenario.refuse(("guest", number, "lock"), 'the workload burn takes no lock; remove "lock"')
    if lock == NONE and not burns:
        scenario.refuse(("guest", number, "lock"), "only the workload burn takes no lock; add it")
    if lock not in (EACH, NONE):
        try:
            where = f"{EACH}, {NONE}, or one that `overlock locks` lists"
            guest["lock"] = defs.checked_variant(lock, subjects(scenario.values), where)
        except Fail as error:
            scenario.refuse(("guest", number, "lock"), error.message)
    if users and "vcpus" not in guest:
        scenario.refuse(("guest", number), "vcpus is missing; guests of kind users need it")
    if guest.get("workload") == MIX and "mix" not in guest:
        scenario.refuse(("guest", number), 'mix is missing; name one, as in mix = "hackbench"')
    if "mix" in guest and guest.get("workload") != MIX:
        scenario.refuse(
            ("guest", number, "mix"), 'only the workload mix has it; set workload = "mix"'
        )
    for name in ("vcpus", "scheduler", "settings"):
        if name in guest and not users:
            scenario.refuse(("guest", number, name), "only guests of kind users have it; remove it")


def _rename_locks(values: Values) -> None:
    """What scenarios call by a name that a lock had."""
    known = subjects(values)
    for key in ("locks", "baseline"):
        if isinstance(said := values.get(key), list):
            values[key] = [defs.now_called(name, known) for name in said]
        elif said is not None:
            values[key] = defs.now_called(said, known)


def _check_locks(scenario: Scenario) -> None:
    if not scenario.measured:
        raise Fail(f"{scenario.file}: no guest takes a lock; give one the workload sections")
    _rename_locks(scenario.values)
    locks, baseline = scenario.locks, scenario.values.get("baseline")
    fewer = ("locks",) in scenario.given and ("baseline",) not in scenario.given
    if baseline is not None and baseline not in locks and not fewer:
        scenario.refuse(
            ("baseline",), f"it is not among the locks{schema.suggestion(baseline, locks)}"
        )


def parsed(text: str) -> Any:
    """A value of the command line: as in TOML, or a string without its quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return text
