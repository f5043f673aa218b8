# SPDX-License-Identifier: MIT
"""`overlock run`: a program with another lock in place, and the reports of its waits."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

from overlock_tools.core.model import defs
from overlock_tools.core.system import files, monitord
from overlock_tools.core.system.errors import Fail
from overlock_tools.run import fit, interpose, killed, live, profiling, recording, settings, spins
from overlock_tools.run.starting import CANNOT_START, starting


def behind() -> list[str]:
    """What holds the values of flags that may have one behind `=`."""
    every = defs.load().options.values()
    return [f"{option.name}_what" for option in every if option.kind == "FLAG" and option.argument]


def nothing() -> dict[str, Any]:
    """The options of a run that asks for nothing."""
    unset = {name: option.unset for name, option in defs.load().options.items()}
    return unset | dict.fromkeys([*behind(), *defs.load().tunables])


ASIDE = "report"  # beside the records, until it goes to standard output


def stacks_wanted(options: dict[str, Any]) -> bool:
    return any(options[name] for name in ("stacks", "folded", "weight"))


def stays_for(options: dict[str, Any]) -> str:
    """The option for which we stay while the program runs; empty if there is none."""
    if options["counters_what"]:
        return "--counters=1s"
    return "--stacks" if stacks_wanted(options) else ""


def check_reporting(options: dict[str, Any]) -> None:
    if options["json"] and not options["counters_what"]:
        raise Fail("--json needs --counters=1s; the final report in --output FILE is always JSON")
    checks = options["check"] or options["deadlock_timeout"]
    one_file = stays_for(options)
    if one_file and settings.PID in (options["output"] or ""):
        raise Fail(f"{one_file} writes a single file; remove %p from its name")
    if options["counters_what"]:
        live.parse_interval(options["counters_what"])
        if checks:
            raise Fail(
                "--counters=1s cannot be combined with --check or --deadlock-timeout; remove one"
            )
        if stacks_wanted(options):
            raise Fail(
                "stacks are reported only at the end; remove --counters=1s, or remove --stacks "
                "and --folded"
            )
    if options["counters_signal"]:
        profiling.parse_signal(options["counters_signal"])
        if options["counters_what"] or checks:
            raise Fail(
                "--counters-signal cannot be combined with --counters=1s, --check or "
                "--deadlock-timeout; remove one"
            )
    if options["folded"]:
        files.check_writable(Path(options["folded"]))


def report_variables(output: str | None) -> dict[str, str]:
    """The counted library's report; the program's process is this one, after execve()."""
    where = {"OVERLOCK_PID": str(os.getpid())}
    if output is not None:
        files.check_writable(Path(output))
        where["OVERLOCK_OUTPUT"] = str(Path(output).absolute())
    return where


def reporting_variables(options: dict[str, Any]) -> dict[str, str]:
    """What the report is to have, and when it is written."""
    ours = interpose.told(options, "top")
    if options["histograms"] or options["weight"] == "hold":
        ours["OVERLOCK_HISTOGRAMS"] = "1"
    if stacks_wanted(options):
        ours["OVERLOCK_STACKS"] = options["weight"] or profiling.WEIGHTS[0]
    if options["counters_signal"]:
        ours["OVERLOCK_SIGNAL"] = str(profiling.parse_signal(options["counters_signal"]))
    return ours


def execute(program: str, args: tuple[str, ...], variables: dict[str, str]) -> NoReturn:
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; it is not the program's wish
        signal.signal(ignored, signal.SIG_DFL)
    with starting(program):
        os.execve(program, args, variables)  # noqa: S606 - it is what this command is for


def follow(
    program: str, args: tuple[str, ...], variables: dict[str, str], options: dict[str, Any]
) -> NoReturn:
    """Stays, and reports while the program runs."""
    interval = live.parse_interval(options["counters_what"])

    def start(records: Path) -> "subprocess.Popen[bytes]":
        env = variables | {"OVERLOCK_LIVE": str(records)}
        return subprocess.Popen(args, executable=Path(program).absolute(), env=env)

    def listening(reader: live.Reader, _: int) -> live.Listener:
        return live.Follower(reader, out, options["json"], options["top"] or live.ROWS)

    where = options["output"]
    with files.opened(Path(where)) if where else live.terminal() as out, starting(program):
        code = live.run(start, interval, listening)
    sys.exit(code)


def witness(
    program: str, args: tuple[str, ...], variables: dict[str, str], options: dict[str, Any]
) -> NoReturn:
    """Stays, for a program that is killed, or calls _exit(), writes no report."""

    def be_the_program(records: Path) -> None:
        os.environ.clear()
        own = {"OVERLOCK_LIVE": str(records), "OVERLOCK_PID": str(os.getpid())}
        if options["output"] == str(files.STDOUT):  # which is the program's own until it ends
            own["OVERLOCK_OUTPUT"] = str(records / ASIDE)
        os.environ.update(variables | own)

    def start(records: Path) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            args,
            executable=Path(program).absolute(),
            preexec_fn=lambda: be_the_program(records),  # noqa: PLW1509 - we have no threads
        )

    def listening(reader: live.Reader, pid: int) -> live.Listener:
        output = Path(options["output"]) if options["output"] else None
        if output == files.STDOUT:
            output = reader.folder / ASIDE
        lock, rows = variables["OVERLOCK_LOCK"], options["top"] or live.ROWS
        is_off = variables.get("OVERLOCK_DISABLE", "0") not in ("", "0")
        return killed.Witness(reader, pid, Path(program).name, lock, output, rows, is_off)

    with starting(program):
        code = live.run(start, killed.LOOK_S, listening, *live.asking_signal(variables))
    sys.exit(code)


def profile(
    program: str, args: tuple[str, ...], variables: dict[str, str], options: dict[str, Any]
) -> NoReturn:
    """Stays, and names the stacks when the program reports."""
    to = profiling.To(
        Path(program).name,
        Path(options["output"]) if options["output"] else None,
        Path(options["folded"]) if options["folded"] else None,
        options["top"] or live.ROWS,
    )
    with starting(program):
        ended = profiling.run(Path(program), args, variables, to.write)
    if not ended.last:
        profiling.tell(f"{Path(program).name} {ended.how} and wrote no final report")
    sys.exit(live.end_as(ended.code))


def wants_counters(options: dict[str, Any]) -> bool:
    asking = ("counters", "counters_what", "histograms", "counters_signal", "output")
    return any(options[name] for name in asking) or stacks_wanted(options)


def is_witnessed(options: dict[str, Any]) -> bool:
    """Not what the checked library writes at once."""
    checks = options["check"] or options["deadlock_timeout"]
    return wants_counters(options) and not checks


def asked(options: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The flavour of the library, and the variables that it is to have."""
    output: str | None = options["output"]
    check_reporting(options)
    counters = wants_counters(options)
    checks = interpose.checks(options)
    flavour = "-checked" if checks else "-counted" if counters else ""
    if options["print"]:
        settings.check(stays_for(options), bool(flavour), output)
        if options["monitor"]:
            raise Fail(
                "--monitor cannot be printed; start the service: systemctl start overlock-monitord"
            )
    ours = interpose.chosen(
        options["lock"], options["site"], options["config"], options, counters=bool(flavour)
    )
    ours |= interpose.other_kinds(options)
    ours |= checks
    if flavour:
        ours |= report_variables(output or options["folded"]) | reporting_variables(options)
    if options["knowledge"]:
        ours["OVERLOCK_KNOWLEDGE"] = options["knowledge"]
    if not counters:
        ours["OVERLOCK_QUIET"] = "1"
    if not options["children"]:
        ours["OVERLOCK_CHILDREN"] = "0"
    return flavour, ours


def _beside_locks(options: dict[str, Any]) -> tuple[list[Path], dict[str, str]]:
    """What has nothing to do with locks: its libraries, and the variables that it is told."""
    libraries: list[Path] = []
    told: dict[str, str] = {}
    if words := spins.words(options):
        libraries.append(spins.library())
        told |= spins.variables(words)
    if words := fit.asked(options):
        libraries.append(fit.library())
        told |= fit.variables(words)
    return libraries, told


def _prepared(libraries: list[Path], program: str, options: dict[str, Any]) -> interpose.Prepared:
    try:
        return interpose.prepare(":".join(map(str, libraries)), program)
    except Fail as error:
        if not fit.asked(options):
            raise
        if libraries != [fit.library()] or not fit.heeds_variables(program):
            raise Fail(f"{error.message}; {fit.INSTEAD}", error.code) from error
        return interpose.prepare()._replace(program=fit.found(program))


def prepare(program: str, options: dict[str, Any]) -> tuple[interpose.Prepared, dict[str, str]]:
    """The program with its environment, and what of that is set for it."""
    try:
        flavour, ours = asked(options)
        beside, told = _beside_locks(options)
        keeps_locks = told and not flavour and not interpose.names_a_lock(options)
        libraries = beside + ([] if keeps_locks else [interpose.built(flavour)])
        ours = ({} if keeps_locks else ours) | told
        prepared = _prepared(libraries, program, options)
    except Fail as error:
        raise Fail(error.message, max(error.code, CANNOT_START)) from error
    ours |= prepared.preloaded
    return prepared._replace(variables=prepared.variables | ours), ours


def monitor() -> dict[str, str]:
    """For us, who become the program, or stay as long as it runs."""
    try:
        return monitord.begin_for(os.getpid())
    except Fail as error:
        raise Fail(f"--monitor: {error.message}", CANNOT_START) from error


def run(program: str, args: tuple[str, ...], options: dict[str, Any]) -> None:
    """Returns only if it was to print the environment."""
    if options["record"]:
        sys.exit(recording.run(program, args, options, prepare))
    (path, variables), ours = prepare(program, options)
    if words := fit.asked(options):
        fit.tell(words, ours)
    if options["print"]:
        try:
            text = settings.text(options["print"], ours)
        except Fail as error:
            raise Fail(error.message, CANNOT_START) from error
        print(text, end="", flush=True)
        return
    if spins.reports(spins.words(options)):
        sys.exit(spins.run(path, (program, *args), variables))
    stays = options["counters_what"] or stacks_wanted(options) or is_witnessed(options)
    if options["output"] == str(files.STDOUT) and not stays:
        raise Fail("--output - is written at the program's end, when overlock is gone; give a file")
    if options["monitor"]:
        variables |= monitor()
    if options["counters_what"]:
        follow(path, (program, *args), variables, options)
    if stacks_wanted(options):
        profile(path, (program, *args), variables, options)
    if is_witnessed(options):
        witness(path, (program, *args), variables, options)
    execute(path, (program, *args), variables)
