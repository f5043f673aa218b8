# SPDX-License-Identifier: MIT
"""Answers a line for each line of standard input: `version`, or the value of each expression.

probe.py SETUP VERSION EXPRESSION...: Python's text. Functions of C libraries are called by ctypes.
"""

import sys


def main() -> None:
    setup, version, *calls = sys.argv[1:]
    names: dict[str, object] = {}
    exec(setup, names)  # noqa: S102
    for line in sys.stdin:
        if line == "version\n":
            print(eval(version, names), flush=True)  # noqa: S307
        else:
            print(*(eval(call, names) for call in calls), flush=True)  # noqa: S307


main()
