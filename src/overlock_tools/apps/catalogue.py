# SPDX-License-Identifier: MIT
"""The programs there are: one line each."""

from overlock_tools import defs
from overlock_tools.apps.app import App
from overlock_tools.apps.pbzip2 import Pbzip2

APPS: dict[str, type[App]] = {app.name: app for app in (Pbzip2,)}


def known(name: str) -> type[App]:
    return defs.known(APPS, name, "program", "`overlock apps list` has them")
