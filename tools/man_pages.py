#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a man page for the overlock command and each of its commands, from their help.

tools/man_pages.py FOLDER. `make install` and `make deb` call it.
"""

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from overlock_tools import __version__
from overlock_tools.cli.main import TASKS, cli

VERBATIM = "\b"  # click's mark of a paragraph that keeps its lines


def escaped(text: str) -> str:
    """Text that means itself: no requests, no escapes, and hyphens that can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def paragraphs(text: str) -> str:
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith(VERBATIM):
            found.append(
                f".PP\n.nf\n{escaped(paragraph.removeprefix(VERBATIM).strip(chr(10)))}\n.fi"
            )
        else:
            found.append(f".PP\n{escaped(' '.join(paragraph.split()))}")
    return "\n".join(found) + "\n"


def name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def summary(command: click.Command) -> str:
    return escaped(command.get_short_help_str(200).rstrip("."))


def options(context: click.Context) -> str:
    records = [p.get_help_record(context) for p in context.command.get_params(context)]
    return "".join(
        f".TP\n\\fB{escaped(spelling)}\\fR\n{escaped(' '.join(what.split()))}\n"
        for spelling, what in filter(None, records)
        if what  # an argument stands in the synopsis
    )


def commands(context: click.Context) -> str:
    """By task, as in the help, where there are tasks."""
    listed = {
        str(one.info_name): f".TP\n\\fB{escaped(name(one))}\\fR(1)\n{summary(one.command)}\n"
        for one in below(context)
    }
    if context.parent:
        return "".join(listed.values())
    return "".join(
        f".SS {escaped(task)}\n{''.join(listed[one] for one in names)}"
        for task, names in TASKS.items()
    )


def below(context: click.Context) -> Iterator[click.Context]:
    group = context.command
    if isinstance(group, click.Group):
        for one in group.list_commands(context):
            command = group.get_command(context, one)
            if command and not command.hidden:
                yield click.Context(command, context, one)


def page(context: click.Context) -> str:
    command = context.command
    version = f"overlock {__version__}"
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [
        f'.TH "{escaped(name(context).upper())}" 1 "" "{version}" "User Commands"\n',
        f".SH NAME\n{escaped(name(context))} \\- {summary(command)}\n",
        f".SH SYNOPSIS\n\\fB{escaped(context.command_path)}\\fR {escaped(usage)}\n",
        f".SH DESCRIPTION\n{paragraphs(cleandoc(command.help or ''))}",
        f".SH OPTIONS\n{options(context)}",
    ]
    if listed := commands(context):
        parts.append(f".SH COMMANDS\n{listed}")
    if command.epilog:
        parts.append(f".SH NOTES\n{paragraphs(cleandoc(command.epilog))}")
    if context.parent:
        parts.append(f".SH SEE ALSO\n\\fB{escaped(name(context.parent))}\\fR(1)\n")
    return "".join(parts)


def pages(context: click.Context) -> dict[str, str]:
    """The text of each page by the name of its command."""
    found = {name(context): page(context)}
    for one in below(context):
        found |= pages(one)
    return found


def every_page() -> dict[str, str]:
    return pages(click.Context(cli, info_name="overlock", **cli.context_settings))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for command, text in every_page().items():
        (folder / f"{command}.1").write_text(text)


if __name__ == "__main__":
    main()
