# SPDX-License-Identifier: MIT
"""Documents that others wrote: each field of its type, each number one to count with."""

import json
import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, NewType, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from overlock_tools.core.system.text import printable

T = TypeVar("T")
Count = NewType("Count", int)  # not below 0
MOST = 2**64  # of the numbers that C has; any sum and ratio of such numbers is finite


def parsed(text: str) -> dict[str, Any]:
    """A JSON object; a ValueError says why not."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def made(kind: Callable[..., T], raw: Any, where: str) -> T:
    """A dataclass of the fields that `raw` has; a ValueError names the one that is wrong."""
    if not isinstance(raw, dict):
        raise ValueError(f"{where} is not an object")
    hints = _hints(kind)
    if unknown := [name for name in raw if name not in hints]:
        raise ValueError(f"{where} has an unknown field {printable(unknown[0])[:40]}")
    if missing := [name for name in _needed(kind) if name not in raw]:
        raise ValueError(f"{where} has no {missing[0]}")
    return kind(**{name: _value(hints[name], of, f"{where}: {name}") for name, of in raw.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _needed(kind: Any) -> list[str]:
    return [f.name for f in fields(kind) if f.default is f.default_factory is MISSING]


def checked(kind: Any, raw: Any, where: str) -> Any:
    """`raw`, if it is of that type: a class, a list or dictionary of one, or a TypedDict."""
    return _value(kind, raw, where)


def _value(kind: Any, raw: Any, where: str) -> Any:
    if kind in _PLAIN:
        return _PLAIN[kind](raw, where)
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = (one for one in get_args(kind) if one is not type(None))
        return None if raw is None else _value(kind, raw, where)
    if get_origin(kind) is list:
        return _list(get_args(kind)[0], raw, where)
    if is_typeddict(kind):
        return _table(Any, raw, where) | _known(kind, raw, where)
    if is_dataclass(kind):
        return made(kind, raw, where)  # type: ignore[arg-type]
    return _table(get_args(kind)[1], raw, where)


def _list(kind: Any, raw: Any, where: str) -> list[Any]:
    if not isinstance(raw, list):
        raise ValueError(f"{where} is not a list")
    return [_value(kind, one, where) for one in raw]


def _table(kind: Any, raw: Any, where: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise ValueError(f"{where} is not an object")
    return {printable(name): _value(kind, one, where) for name, one in raw.items()}


def _known(kind: Any, raw: dict[str, Any], where: str) -> dict[str, Any]:
    """Of a TypedDict, the keys that it names."""
    if missing := [name for name in kind.__required_keys__ if name not in raw]:
        raise ValueError(f"{where} has no {min(missing)}")
    hints = _hints(kind)
    return {
        name: _value(hints[name], raw[name], f"{where}: {name}") for name in hints if name in raw
    }


def _whole(raw: Any, where: str) -> int:
    if type(raw) is not int or not -MOST < raw < MOST:
        raise ValueError(f"{where} is not a whole number of 64 bits")
    return raw


def _count(raw: Any, where: str) -> int:
    if _whole(raw, where) < 0:
        raise ValueError(f"{where} is below 0")
    return int(raw)


def _number(raw: Any, where: str) -> float:
    if type(raw) not in (int, float) or not abs(raw) < MOST:
        raise ValueError(f"{where} is not a number of 64 bits")
    return raw  # type: ignore[no-any-return]


def _switch(raw: Any, where: str) -> bool:
    if type(raw) is not bool:
        raise ValueError(f"{where} is not true or false")
    return raw


def _text(raw: Any, where: str) -> str:
    if type(raw) is not str:
        raise ValueError(f"{where} is not a string")
    return printable(raw)


def _any(raw: Any, where: str) -> Any:
    """Whatever it is, what is within is fit to be shown."""
    if isinstance(raw, dict):
        return _table(Any, raw, where)
    if isinstance(raw, list):
        return _list(Any, raw, where)
    if isinstance(raw, str):
        return printable(raw)
    return raw if raw is None or isinstance(raw, bool) else _number(raw, where)


_PLAIN = {int: _whole, Count: _count, float: _number, bool: _switch, str: _text, Any: _any}
