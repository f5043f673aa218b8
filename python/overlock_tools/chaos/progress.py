# SPDX-License-Identifier: MIT
"""How far a series of runs has come."""

import sys
import time
from dataclasses import dataclass, field

import click

TELL_S = 10.0  # how often progress is told where there is no terminal


@dataclass
class Progress:
    """One line on a terminal; elsewhere now and then one."""

    last: float = field(default_factory=time.monotonic)

    def tell(self, text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        elif time.monotonic() - self.last > TELL_S:
            self.last = time.monotonic()
            click.echo(f"overlock: {text}", err=True)

    def done(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
