# SPDX-License-Identifier: MIT
"""What a scenario is: something that is set up around a measurement, and proves that it was."""

import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, ClassVar, Self

from overlock_tools.core.system.errors import Fail


@dataclass(frozen=True)
class Measured:
    """The process that measures, its children included, and the CPUs it may use."""

    pid: int
    cpus: frozenset[int]


@dataclass(frozen=True)
class Proof:
    """What was asked for, what was seen of it from outside, and whether they agree."""

    asked: dict[str, Any]
    seen: dict[str, Any]
    held: bool
    words: str


class Scenario(ABC):
    """One setting of one scenario, as the option `--NAME` gave it."""

    name: ClassVar[str]
    metavar: ClassVar[str]
    help: ClassVar[str]

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """The option's value; errors.Fail if it is impossible anywhere."""

    def cell_options(self) -> dict[str, str]:
        """What overlock-bench itself does about it: keys of a cell's line."""
        return {}

    @abstractmethod
    def applied(self, measured: Measured) -> AbstractContextManager[Callable[[], Proof]]:
        """Holds while the context lasts; what it yields is called before it ends."""


# Signals that end a command. A terminal's Ctrl-C is one.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """Signals that would end us wait until what is half set up, torn down or written is whole.

    Then they end us as Ctrl-C does. Inside, ended_in_order() lets them through for its time; what
    is yielded tells whether one came.
    """
    came = False

    def remember(_number: int, _frame: FrameType | None) -> None:
        nonlocal came
        came = True

    with _handled_by(remember):
        yield lambda: came
    if came:
        raise KeyboardInterrupt


@contextmanager
def ended_in_order() -> Iterator[None]:
    """All of those signals end us as Ctrl-C does: by an exception, so that things are undone."""
    with _handled_by(signal.default_int_handler):
        yield


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = [(number, signal.getsignal(number)) for number in ENDING]
    for number, old in before:
        if old is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before:
            signal.signal(number, old)


def number(option: str, text: str, least: float, most: float, example: str) -> float:
    """A number within its range, or one line that says which."""
    try:
        value = float(text) if text.isascii() else float("nan")
    except ValueError:
        value = float("nan")
    if not least <= value <= most:  # nan is not
        raise Fail(
            f"--{option}: {text!r} is not a number from {least:g} to {most:g}, as in {example}"
        )
    return value


def whole(option: str, text: str, least: int, most: int, example: str) -> int:
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise Fail(
            f"--{option}: {text!r} is not a whole number from {least} to {most}, as in {example}"
        )
    return int(text)
