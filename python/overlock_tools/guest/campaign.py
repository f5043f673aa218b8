# SPDX-License-Identifier: MIT
"""What `overlock guest` does: from what was asked to what is said."""

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from overlock_tools.bench import campaign
from overlock_tools.bench.conditions.base import ended_in_order
from overlock_tools.bench.rounds import Job
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.results import Result
from overlock_tools.core.system import files, machine
from overlock_tools.core.system.errors import INTERRUPTED, Fail
from overlock_tools.core.system.terminal import console as terminal
from overlock_tools.guest import instruction_counts, loads, locks, results, show, vm
from overlock_tools.guest.executor import Rig
from overlock_tools.guest.hosts import HostSetup, prepared
from overlock_tools.guest.results import Setting

MOST_GUESTS, MOST_VCPUS = 5, 16
# A boot, and turns before and after the counted time, as seen on two CPUs.
BOOT_AND_LEAD_SECONDS = 4.0


def pause_words(pause: str) -> str:
    return "PAUSE replaced by NOP" if pause == "nop" else "PAUSE kept"


def boot(options: dict[str, Any]) -> int:
    out = terminal()
    try:
        lock = locks.checked(options["lock"])
        with ended_in_order():
            on = prepared(options)
            spec = on.spec(lock, options["smp"])
            with on.boots() as booted, booted([spec], on.where, tell=out.print) as up:
                guest = up.guests[0]
                facts, seconds = guest.facts, guest.boot_seconds
                agent = guest.agent.begun if guest.agent else {}
    except KeyboardInterrupt:
        return INTERRUPTED
    out.print(f"lock in force: {show.in_force(facts)}", soft_wrap=True)
    out.print(
        f"Linux {facts['kernel']}, {facts['cpus']} vCPUs, up in {seconds:.1f} s; "
        f"{pause_words(options['pause'])}; {on.where.words}",
        soft_wrap=True,
    )
    out.print(on.accel.words, soft_wrap=True)
    if agent:
        out.print(f"slice ends: {facts['slices']}; published {agent['publisher']}", soft_wrap=True)
    return 0


def console(options: dict[str, Any]) -> int:
    lock = locks.checked(options["lock"])
    on = prepared(options)
    if not on.hypervisor.has_console:
        raise Fail("a nested guest has no console; use another --accel, or `guest run`")
    spec = on.spec(lock, options["smp"])
    spec = replace(spec, words=(*spec.words, "loglevel=6"))
    return vm.console(spec, "use `overlock guest run`")


@dataclass
class Session:
    """Guests to be measured, and what they stand on."""

    on: HostSetup
    rig: Rig

    @property
    def setting(self) -> Setting:
        return Setting(
            where=self.on.where,
            accel=self.on.accel,
            pause=self.on.options["pause"],
            words=self.on.options["append"],
            seen=self.on.is_seen,
            built=self.on.kernel.needed(),
            slice_page=self.on.options["slice_page"],
            host_slice_ms=self.on.slice_ms,
        )

    def job(self, load: loads.Load, plan: Plan, file: Path | None) -> Job:
        """Begun, or as far as its file had come; what is missing is reported before."""
        parameters = load.parameters(loads.given(self.on.options["parameters"]))
        for variant in plan.variants:
            self.on.spec(variant, plan.threads[0], load)
        self.rig.loads[load.name] = load
        self.rig.parameters[load.name] = parameters
        command = ["overlock", *sys.argv[1:]]

        def new_result(plan: Plan) -> Result:
            noted = {**parameters, **load.notes()}
            return results.new_result(plan, load, noted, self.setting, command)

        job = campaign.begun(plan, file, new_result)
        self.rig.results[load.name, results.vms_of(plan)] = job.result
        return job


@contextmanager
def opened(
    options: dict[str, Any], out: Console, wanted: Iterable[loads.Load]
) -> Iterator[Session]:
    with ended_in_order():
        on = prepared(options)

    def tell(text: str) -> None:
        out.print(text, soft_wrap=True)

    with on.boots(list(wanted)) as booted:
        yield Session(on, Rig(on.spec, on.where, tell, booted, on.hypervisor.tries))


def variants(texts: Sequence[str], baseline: str, load: loads.Load) -> list[str]:
    names = [name for text in texts for name in text.split(",") if name.strip()]
    listed: dict[str, None] = {load.checked(baseline): None}
    for name in names:
        listed.update(dict.fromkeys(load.every() if name == "all" else [load.checked(name)]))
    return list(listed)


@contextmanager
def _load(options: dict[str, Any], out: Console) -> Iterator[loads.Load]:
    if options["trace"]:
        from overlock_tools.guest import replaying  # with NumPy, which others do without

        with replaying.load(options["trace"], out) as load:
            options["seconds"] = options["seconds"] or load.seconds
            yield load
    else:
        yield loads.known(options["load"])


def run(options: dict[str, Any]) -> int:
    """One load in one rig."""
    out, file = terminal(), options["json_file"]
    if file:
        files.check_writable(file)
        if file.exists() and not options["resume"]:
            file = None  # it is replaced at the end, not gone on with
    options |= {"pilot": False, "seed": campaign.seed(options)}
    try:
        chosen = variants(options["locks"], options["baseline"], loads.known(options["load"]))
        with _load(options, out) as load, opened(options, out, [load]) as session:
            planned = results.planned(load, options["vms"], [options["smp"]], chosen, options)
            job = session.job(load, planned, file)
            _introduce(job.result, job.to_do, out)
            written = (options["json_file"], None)
            return campaign.run_one(session.rig, job, out, written, show_result)
    except KeyboardInterrupt:
        return INTERRUPTED


def _introduce(result: Result, to_do: int, out: Console) -> None:
    out.print(machine.headline(result.machine))
    out.print(result.title, highlight=False)
    seconds = result.settings["seconds"]
    cells = "1 cell" if to_do == 1 else f"{to_do} cells"
    out.print(f"{cells} of {seconds:g} s, each after a boot", highlight=False)


def show_result(result: Result, out: Console) -> None:
    campaign.print_result(result, out)
    for line in [*results.said(result), *results.beyond(result)]:
        out.print(line, soft_wrap=True, highlight=False)
    show.replays(result, out)


def rigs(text: str) -> dict[int, list[int]]:
    """`1x4,2x4` as numbers of vCPUs by numbers of guests."""
    found: dict[int, set[int]] = {}
    for word in filter(None, map(str.strip, text.split(","))):
        match = re.fullmatch(r"([1-9]\d?)[x×]([1-9]\d?)", word)
        if not match or int(match[1]) > MOST_GUESTS or int(match[2]) > MOST_VCPUS:
            raise Fail(
                f"--rigs {text}: {word!r} is not GUESTSxVCPUS, at most {MOST_GUESTS}x{MOST_VCPUS}, "
                "as in 1x4,2x4"
            )
        found.setdefault(int(match[1]), set()).add(int(match[2]))
    if not found:
        raise Fail("--rigs is empty; give rigs as in 1x4,2x4")
    return {vms: sorted(vcpus) for vms, vcpus in sorted(found.items())}


def run_matrix(options: dict[str, Any]) -> int:
    """A file for each load and number of guests; the same command completes them."""
    out, folder = terminal(), options["output"]
    options |= {"seed": campaign.seed(options), "json_file": None}
    asked = rigs(options["rigs"])
    names = [word.strip() for word in options["loads"].split(",") if word.strip()]
    chosen = variants(options["locks"] or ("all",), options["baseline"], loads.Load())
    wanted = [(_of_locks(loads.known(name)), vms) for name in names for vms in asked]
    if not wanted:
        raise Fail("--loads is empty; `overlock guest run --help` lists the loads")
    try:
        with opened(options, out, [load for load, _ in wanted]) as session:
            campaign.make(folder)
            parts = [_part(session, load, vms, asked[vms], chosen) for load, vms in wanted]
            introduce_all(parts, out)
            code = 0
            if any(part.job.to_do for part in parts):
                warnings = campaign.quiet_enough(options["if_busy"], out)
                code = campaign.run_all(session.rig, parts, out, warnings, None)
    except KeyboardInterrupt:
        code = INTERRUPTED
        parts = []
    for part in parts:
        show.rates(part.job.result, out)
    return campaign.close(code, shlex.quote(str(folder)), out)


def _of_locks(load: loads.Load) -> loads.Load:
    if isinstance(load, loads.Rounds):
        raise Fail(f"{load.name} measures barriers, not locks: `overlock guest run --load rounds`")
    return load


def _part(
    session: Session, load: loads.Load, vms: int, vcpus: Sequence[int], chosen: Sequence[str]
) -> campaign.Part:
    file = session.on.options["output"] / f"{load.name}-{vms}.json"
    planned = results.planned(load, vms, vcpus, chosen, session.on.options)
    return campaign.Part(session.job(load, planned, file), file, BOOT_AND_LEAD_SECONDS)


def introduce_all(parts: Sequence[campaign.Part], out: Console) -> None:
    campaign.introduce_all(parts, f"{len(parts)} files", out)
    for line in results.said(parts[0].job.result):
        out.print(line, soft_wrap=True, highlight=False)


# Instructions


def instructions(options: dict[str, Any]) -> int:
    """Of an uncontended pair, a guest for each lock; counted by QEMU."""
    out, file = terminal(), options["json_file"]
    if file:
        files.check_writable(file)
    options |= {"accel": vm.ICOUNT, "smp": 1}
    chosen = variants(options["locks"] or ("all",), options["baseline"], loads.Load())
    found: dict[str, instruction_counts.Pair] = {}
    try:
        with ended_in_order():
            on = prepared(options)
            for lock in chosen:
                spec = on.spec(lock, options["smp"])
                with vm.booted([spec], on.where, tell=out.print) as up:
                    found[lock] = instruction_counts.measured(up.guests[0])
                out.print(f"{lock}: {found[lock].both}", highlight=False)
    except KeyboardInterrupt:
        return INTERRUPTED
    show.pairs(found, options["baseline"], out)
    if file:
        files.write(file, instruction_counts.to_json(found))
    return 0
