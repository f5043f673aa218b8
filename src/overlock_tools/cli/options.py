# SPDX-License-Identifier: MIT
"""Kinds of options that more than one command has."""

import math
from typing import Any

import click


class Within(click.FloatRange):
    """click's own lets nan pass."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"nan is not in the range from {self.min:g} to {self.max:g}.", param, ctx)
        return number
