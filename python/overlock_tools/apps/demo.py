# SPDX-License-Identifier: MIT
"""The demo: lock collapse and its cure on this machine, in five minutes, and a report."""

import random
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from overlock_tools.apps import executor, openmp, results
from overlock_tools.apps.blas import Blis
from overlock_tools.apps.campaign import show
from overlock_tools.bench import programs, server, subjects
from overlock_tools.bench.campaign import Terms, conclude, measured
from overlock_tools.bench.conditions.base import deferred, ended_in_order
from overlock_tools.bench.programs import Pbzip2, Program, Runs, Sysbench
from overlock_tools.bench.rounds import Job
from overlock_tools.core.analyze import verdict, wording
from overlock_tools.core.model import advice
from overlock_tools.core.model import plan as plans
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.results import Result
from overlock_tools.core.model.stats import Ratio
from overlock_tools.core.model.workloads import Workload
from overlock_tools.core.render import report, tables
from overlock_tools.core.system import files, machine
from overlock_tools.core.system.called import typed
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, MISSING, Fail
from overlock_tools.core.system.terminal import Running, console

COLLAPSE = ["ticket", "mcs", "twa"]
CURE = ["preemptable_ticket", "pv_preemptable_ticket", "tas_yield"]
PEERS = ["pthread_mutex", "pthread_adaptive"]
OVERCOMMIT = (1, 2, 4, 8)
# The situations of advice.toml that the demo ends with.
CLOSING = (
    "openmp-threads",
    "openmp-nested",
    "fifo-threads",
    "kernel-queue",
    "spin-threads",
    "mutex-threads",
    "fits",
)
NEXT = (
    "Next: `overlock locks` lists the locks, `overlock doctor` tells whether preemption hurts "
    "here, `overlock bench sections --help` measures more; docs/choosing.md says which lock to "
    "take where, and has the measurements."
)
# Per second of --seconds; natively a run of either takes about twice that on two CPUs.
SYSBENCH_LOCKS = 4_000_000
PBZIP2_BYTES = 27_000_000
# Five minutes in all, on a machine that others use too: rounds are left out rather than that.
SYSBENCH_UNTIL_S = 220.0
PBZIP2_UNTIL_S = 270.0
# The stories that gain most come first, and are told within the first minute and a half.
SPINS_ROUNDS, SPINS_SECONDS = 3, 0.3
OPENMP_ITEMS = 1_000_000
OPENMP_UNTIL_S = 80.0
# The remedy that costs nothing, beside ours.
OPENMP_VARIANTS = ["paced", "KMP_LOCK_KIND=tas"]


class OpenMp(Program):
    """A loop whose threads share a critical section, as OpenMP programs do, with LLVM's runtime."""

    name = "openmp"
    title = "OpenMP: a loop with a critical section, on LLVM's runtime (libomp), unmodified"
    unit = "items"

    def __init__(self, items: int) -> None:
        if missing := openmp.Kernel.missing():
            packages = " ".join(openmp.PACKAGES)
            raise Fail(f"{missing[0]} is missing; `apt install {packages}` installs it", MISSING)
        self.items, self.program = items, openmp.DRIVER.built()

    def work(self) -> float:
        return self.items

    def command(self, threads: int) -> list[str]:
        return [self.program, "histogram", str(self.items), str(threads)]

    def seconds(self, said: str) -> float | None:
        return openmp.took(said)

    def wrong(self, folder: Path) -> str:
        return openmp.wrong((folder / "out").read_text(errors="replace"))


class Demo:
    def __init__(self, rounds: int, seconds: float) -> None:
        self.out, self.rounds, self.seconds = console(), rounds, seconds
        self.began = time.monotonic()
        self.results: list[Result] = []
        self.command = shlex.join(["overlock", *sys.argv[1:]])

    def say(self, text: str = "", style: str = "") -> None:
        self.out.print(text, style=style or None)

    def heading(self, text: str) -> None:
        self.say()
        self.say(text, "bold")

    def conclude(self, result: Result) -> None:
        conclude(result)
        for line in result.verdict:
            self.say(f"• {line}")
        for line in result.warnings:
            self.say(f"warning: {line}", "yellow")

    def machine(self) -> None:
        facts = machine.facts()
        self.heading("1. This machine")
        self.say(machine.headline(facts))
        pause = subjects.subjects().facts["relax_ns"]
        self.say(
            f"A spinning thread rereads the lock every {pause:.0f} ns. A preempted thread returns "
            "milliseconds later, and a FIFO lock makes all other waiters wait for it."
        )
        if warning := machine.busy_now(0.5):
            self.say(f"warning: {warning}", "yellow")

    def spins(self) -> None:
        self.heading(
            "2. BLIS, whose threads wait without a lock: natively, under `overlock run --spins`"
        )
        if Blis.missing():
            packages = " ".join(Blis.packages)
            raise Fail(f"BLIS is missing; `apt install {packages}` installs it", MISSING)
        threads = [machine.cpus() * factor for factor in (1, 4)]
        setting = executor.Setting(warm_up=0.1)
        plan = Plan(
            workload=Workload(Blis.name, Blis.what),
            variants=["native", executor.SPINS],
            threads=threads,
            baseline="native",
            seed=random.randrange(2**31),  # noqa: S311 - no secret
            rounds=min(self.rounds, SPINS_ROUNDS),
            seconds=min(self.seconds, SPINS_SECONDS),
        )
        with executor.ready(setting) as rig:
            rig.take(Blis, Blis.parameters({}), threads)
            app = rig.apps[Blis.name]
            app.set_up()
            result = results.new_result(plan, app, setting, [self.command])
            rig.results[Blis.name] = result
            self.results.append(result)
            interrupted = measured(rig, Job(plan, result), self.out, Terms())
        show(result, self.out)
        if interrupted:
            raise KeyboardInterrupt

    def openmp(self) -> None:
        self.heading("3. An OpenMP program, unmodified: natively, and under `overlock run`")
        what = OpenMp(round(OPENMP_ITEMS * self.seconds))
        threads = [1, *(machine.cpus() * factor for factor in (1, 4))]
        with programs.scratch() as folder:
            until = self.began + OPENMP_UNTIL_S
            self.one_program(what, OPENMP_VARIANTS, threads, folder, until)

    def sections(self) -> None:
        self.heading("4. The collapse and its cure: one lock, 1 to 8 times as many threads as CPUs")
        with server.started() as bench:
            known = subjects.known_to(bench)
            plan = self.plan(known.workloads["sections"])
            seconds = plan.cells * plans.cell_seconds(plan.seconds)
            self.say(f"{plan.cells} cells, about {plans.in_words(seconds)}")
            result = subjects.new_result(plan, known)
            self.results.append(result)
            interrupted = measured(bench, Job(plan, result), self.out, Terms())
        self.out.print(tables.matrix(result, len(result.cells), plan.cells))
        self.say()
        self.conclude(result)
        if interrupted:
            raise KeyboardInterrupt

    def plan(self, workload: Workload) -> Plan:
        return Plan(
            workload=workload,
            variants=COLLAPSE + CURE + PEERS,
            threads=[machine.cpus() * factor for factor in OVERCOMMIT],
            baseline="ticket",
            seed=random.randrange(2**31),  # noqa: S311 - no secret
            rounds=self.rounds,
            seconds=self.seconds,
            parameters=workload.values({}),
        )

    def programs(self) -> None:
        self.heading("5. The same locks under existing programs, through `overlock run`")
        programs.need("sysbench", "pbzip2")
        cpus = machine.cpus()
        with programs.scratch() as folder:
            until = self.began + SYSBENCH_UNTIL_S
            sysbench = Sysbench(round(SYSBENCH_LOCKS * self.seconds))
            self.one_program(sysbench, COLLAPSE + CURE, [cpus, 4 * cpus], folder, until)
            until = self.began + PBZIP2_UNTIL_S
            pbzip2 = Pbzip2(folder, round(PBZIP2_BYTES * self.seconds))
            self.one_program(pbzip2, COLLAPSE + CURE, [4 * cpus], folder, until)

    def one_program(
        self, what: Program, variants: list[str], threads: list[int], folder: Path, until: float
    ) -> None:
        self.say()
        self.say(what.title, "bold")
        example = programs.under("NAME", what.command(threads[-1]))[1:]
        example = ["FILE" if word == str(folder / "input") else word for word in example]
        result = programs.new_result(
            what, variants, threads, self.rounds, shlex.join(["overlock", *example])
        )
        self.results.append(result)
        then = machine.Load.now()
        try:
            run_all(self.out, Runs(what, result, folder), self.rounds, until)
            result.complete = True
        finally:
            if warning := machine.busy_warning(then, machine.Load.now()):
                result.warnings.append(warning)
            if result.cells:
                for n in threads:
                    self.out.print(tables.detail(result, n), "")
            self.conclude(result)


def run_all(out: Console, runs: Runs, rounds: int, until: float) -> None:
    result = runs.result
    total = len(result.variants) * len(result.threads) * rounds
    done = 0

    def line() -> str:
        complete, rest = divmod(done * rounds, total)
        return "" if rest else f"round {complete} of {rounds} done"

    running = Running(out, lambda: tables.matrix(result, done, total), line)

    def each() -> None:
        nonlocal done
        done += 1
        running.update()

    with running.shown():
        runs.all(rounds, until, each)


def conclusions(results: list[Result]) -> list[str]:
    """The verdict over everything: each result's own sentences stay with it."""
    said = []
    for result in results:
        if result.kind == "program" or not result.cells:
            continue
        over = verdict.overcommitted(result)
        ratios = {cure: result.ratio(cure, result.baseline, over) for cure in CURE}
        words = [f"{cure} {wording.times(ratio)}" for cure, ratio in ratios.items() if ratio]
        if words:
            stopped = all(ratio.above_one for ratio in ratios.values() if ratio)
            said.append(
                "When threads outnumber the CPUs, a FIFO spinlock "
                f"{'collapses' if stopped else 'can collapse; this run does not prove it'}. "
                f"Rates relative to {result.baseline} here: {wording.listed(words)}."
            )
        cure = verdict.best(result, CURE, over)
        native = verdict.best(result, result.peers, over)
        beside = result.ratio(cure, native, over) if cure and native else None
        if cure and native and beside:
            said.append(_beside_native(cure, native, beside))
    return [*said, "Which lock to take:", *(f"- {line}" for line in advice.say(*CLOSING))]


def _beside_native(cure: str, native: str, beside: Ratio) -> str:
    if beside.above_one:
        return f"{cure} is also faster than {native}: {wording.times(beside)}."
    if beside.below_one:
        return (
            f"The native {native} is the better choice in such a program: the best cure, {cure}, "
            f"reaches {wording.times(beside)} its rate."
        )
    if not beside.known:
        return f"{cure} reached {wording.times(beside)} the rate of {native}, {wording.TOO_FEW}."
    return f"No significant difference between {cure} and {native}: {wording.times(beside)}."


def attempt(step: Callable[[], None], out: Console) -> int:
    """0, or the exit code of the failure; the report is still written."""
    try:
        with ended_in_order():
            step()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Fail as error:
        out.print(f"failed: {error.message}", style="red")
        return error.code
    return 0


def run(output: Path, rounds: int, seconds: float, keep: Path | None) -> int:
    output = output.absolute()
    files.check_writable(output)
    if keep and not keep.is_dir():
        raise Fail(f"--keep {keep}: the folder does not exist; create it first")
    demo = Demo(rounds, seconds)
    code = 0
    with deferred():
        for step in (demo.machine, demo.spins, demo.openmp, demo.sections, demo.programs):
            failed = attempt(step, demo.out)
            code = code or failed
            if failed == INTERRUPTED:
                code = failed
                break
        return finish(demo, output, keep, code)


def finish(demo: Demo, output: Path, keep: Path | None, code: int) -> int:
    measured_results = [result for result in demo.results if result.cells]
    if not measured_results:
        demo.say("No cell was complete, so no report is written.")
        return code
    said = conclusions(measured_results)
    demo.heading("6. Verdict")
    for line in said:
        demo.say(line)
    files.write(output, report.html(measured_results, demo.command, said))
    for result in measured_results if keep else []:
        assert keep is not None
        name = (
            result.kind if result.kind != "program" else result.title.split()[0].strip(",:").lower()
        )
        files.write(keep / f"{name}.json", result.to_json())
    if code == INTERRUPTED:
        demo.heading("Interrupted: the complete cells are kept.")
    demo.heading(f"Report: {output}")
    demo.say(typed(NEXT))
    return code or (FAILED if any(any(r.wrong()) for r in measured_results) else 0)
