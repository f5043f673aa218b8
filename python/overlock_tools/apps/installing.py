# SPDX-License-Identifier: MIT
"""`overlock apps install`: Debian's packages of a program through apt, Python's through pip, npm's
through npm, never silently."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence

from rich.console import Console

from overlock_tools.apps.app import App
from overlock_tools.core.system.errors import FAILED, MISSING, Fail


def needed(apps: Iterable[type[App]]) -> list[str]:
    """Packages of those programs of which something is missing."""
    names = (of_release(name) for app in apps if app.missing() for name in app.packages)
    return sorted(dict.fromkeys(names))


def of_release(package: str) -> str:
    """Of A|B, the one that this release has."""
    names = package.split("|")
    return next((name for name in names[1:] if _is_there(name)), names[0])


def _is_there(package: str) -> bool:
    words = ["apt-cache", "show", "--no-all-versions", package]
    try:
        return not subprocess.run(words, capture_output=True, check=False).returncode
    except FileNotFoundError:
        return False


def command(packages: Sequence[str]) -> list[str]:
    root = [] if os.getuid() == 0 else ["sudo"]
    return [*root, "apt-get", "-y", "install", "--no-install-recommends", *packages]


def venvs(apps: Iterable[type[App]]) -> list[list[str]]:
    """The commands that make those of which a Python package is missing."""
    kinds = {app.venv(): app for app in apps if app.wheels and app.missing()}
    return [
        words
        for folder, app in kinds.items()
        for words in (
            ["python3", "-m", "venv", str(folder)],
            [str(app.python()), "-m", "pip", "install", "-q", *app.wheels],
        )
    ]


def node_modules(apps: Iterable[type[App]]) -> list[list[str]]:
    """The commands that install npm's packages. None of them runs a script or builds anything."""
    lacking = {app.module_folder(): app for app in apps if app.modules and app.missing()}
    return [
        [
            str(app.node()),
            str(app.node().parents[1] / "lib/node_modules/npm/bin/npm-cli.js"),
            *("install", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"),
            *("--prefix", str(folder), *app.modules),
        ]
        for folder, app in lacking.items()
    ]


def install(apps: Sequence[type[App]], only_say: bool, out: Console) -> int:
    packages = needed(apps)
    if not packages:
        out.print("nothing is missing")
        return 0
    words = command(packages)
    out.print(f"Debian packages: {' '.join(packages)}", soft_wrap=True)
    for app in apps:
        if app.missing() and app.note:
            out.print(f"{app.name}: {app.note}", soft_wrap=True)
    for step in (words, *venvs(apps), *node_modules(apps)):
        out.print(shlex.join(step), highlight=False, soft_wrap=True)
    if only_say or os.environ.get("OVERLOCK_NO_INSTALL") == "1":
        return MISSING
    for tool in (words[0], "apt-get"):
        if not shutil.which(tool):
            raise Fail(f"{tool} is missing; install the equivalents of these packages", MISSING)
    if subprocess.run(words, check=False).returncode:
        raise Fail("apt failed, see above; try again after `apt-get update`", FAILED)
    for steps, where in ((venvs, "PyPI"), (node_modules, "npm")):  # in which Node.js then is
        for step in steps(apps):
            if subprocess.run(step, check=False).returncode:
                raise Fail(f"{step[0]} failed, see above; is there a way to {where}?", FAILED)
    if left := [name for app in apps for name in app.missing()]:
        raise Fail(f"still missing: {', '.join(left)}; is this Debian?", FAILED)
    return 0
