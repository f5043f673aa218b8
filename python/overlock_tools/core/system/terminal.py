# SPDX-License-Identifier: MIT
"""The terminal, or what stands in for one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.live import Live

# A log or a pipe has no width of its own; nothing is cut off or wrapped there.
PLAIN_WIDTH = 100_000


def console() -> Console:
    """Shows text as it is: names have brackets, too."""
    found = Console(highlight=False, markup=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, width=PLAIN_WIDTH)


class Running:
    """A table that is kept up to date on a terminal; elsewhere now and then a line.

    It is drawn by update() alone: nothing of ours is to run while something is measured.
    """

    def __init__(
        self, out: Console, table: Callable[[], RenderableType], line: Callable[[], str]
    ) -> None:
        self.out, self.table, self.line = out, table, line
        self.live: Live | None = None

    def update(self) -> None:
        if self.live:
            self.live.update(self.table(), refresh=True)
        elif text := self.line():
            self.out.print(text, soft_wrap=True)

    @contextmanager
    def shown(self) -> Iterator[None]:
        if not self.out.is_terminal:
            yield
            return
        with Live(self.table(), console=self.out, auto_refresh=False, transient=True) as self.live:
            yield
        self.live = None
