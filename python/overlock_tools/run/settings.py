# SPDX-License-Identifier: MIT
"""What `overlock run` would set, as text for whoever else starts the program."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence

from overlock_tools.core.system.errors import Fail

PID = "%p"  # in the name of a file: each process has one

Variables = Mapping[str, str]


def env(variables: Variables, _command: Sequence[str]) -> str:
    """Lines of a container's --env-file, which knows no quotes."""
    for name, value in variables.items():
        if "\n" in value:
            raise Fail(
                f"{name} has more than one line, which an --env-file cannot hold; use --print sh"
            )
    return "".join(f"{name}={value}\n" for name, value in variables.items())


def sh(variables: Variables, _command: Sequence[str]) -> str:
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


# systemd.syntax(7): quotes, C's escapes; and specifiers begin with %.
SYSTEMD = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "%": "%%"})


def systemd(variables: Variables, command: Sequence[str]) -> str:
    """A drop-in. A service starts without a library that is gone: the loader only warns."""
    lines = [
        f'Environment="{name}={value.translate(SYSTEMD)}"' for name, value in variables.items()
    ]
    return "\n".join(
        [
            "# For /etc/systemd/system/SERVICE.service.d/overlock.conf; made by",
            f"# {shlex.join(command).replace(chr(10), ' ')}",
            "# Then systemctl daemon-reload && systemctl restart SERVICE; remove it to undo.",
            "[Service]",
            *lines,
            "",
        ]
    )


FORMS: Mapping[str, Callable[[Variables, Sequence[str]], str]] = {
    "systemd": systemd,
    "env": env,
    "sh": sh,
}


def check(stays: str, reports: bool, output: str | None) -> None:
    """Whoever starts the program has no terminal for it, and may start it more than once.

    `stays`: the option for which `overlock run` would stay beside the program, if there is one.
    """
    if stays:
        raise Fail(
            f"--print: {stays} needs overlock to keep running; use --output FILE with %p in "
            "its name"
        )
    if reports and PID not in (output or ""):
        raise Fail("--print: give --output FILE with %p (the process id) in its name")


def text(form: str, variables: Variables) -> str:
    told = {name: value for name, value in variables.items() if name != "OVERLOCK_PID"}
    return FORMS[form](told, ["overlock", *sys.argv[1:]])
