# SPDX-License-Identifier: MIT
"""`overlock run --spins`: threads in waiting loops yield, and all else stays as it was."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from overlock_tools.run import spins
from tests.command import Overlock
from tests.conftest import TOP
from tests.mutant import changed
from tests.processes import HANG_S
from tests.run.conftest import X86_64

pytestmark = pytest.mark.skipif(not X86_64, reason="the stubs are x86-64's")

HERE = Path(__file__).resolve().parent
SPINS = TOP / "run/spins"
LOOP = "spins+0x{:x}"
TIMES = 30  # as in spins.c
HOGS = str(3 * (os.cpu_count() or 1))
Run = Callable[..., "Ended"]


class Ended:
    """A program, and what its library says of its loops."""

    def __init__(self, done: "subprocess.CompletedProcess[str]", folder: Path) -> None:
        self.code, self.said = done.returncode, done.stdout + done.stderr
        processes = spins.read(folder)
        self.why_not = {process.why_not for process in processes}
        self.loops = [loop for process in processes for loop in process.loops]

    def of(self, name: str) -> spins.Loop:
        """In the process that waited in it most, if one did."""
        found = [loop for loop in self.loops if loop.name == name]
        return max(found, key=lambda loop: (loop.waited, loop.yields))


@pytest.fixture(scope="module", params=[False, True], ids=["near", "far"])
def is_far(request: pytest.FixtureRequest) -> bool:
    """Whether jumps back have displacements of four bytes, not of one."""
    return bool(request.param)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, is_far: bool) -> Path:
    made = tmp_path_factory.mktemp("spins") / "spins"
    flags = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-no-pie"]
    flags += ["-DFAR"] if is_far else []
    subprocess.run(["gcc", *flags, HERE / "spins.c", HERE / "kept.S", "-o", made], check=True)
    return made


def function(program: Path, name: str) -> int:
    done = subprocess.run(["nm", program], capture_output=True, text=True, check=True)
    (at,) = re.findall(rf"^(\w+) \w {name}$", done.stdout, re.MULTILINE)
    return int(at, 16)


@pytest.fixture
def run(program: Path, tmp_path: Path) -> Run:
    """Each thread yields at each look, so that it yields at all: a wait is short here."""

    def start(
        *words: str | Path,
        before: tuple[str | Path, ...] = (),
        library: Path | None = None,
        hangs_s: float = HANG_S,
        **more: str,
    ) -> Ended:
        folder = tmp_path / "found"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        env = os.environ | {
            "LD_PRELOAD": str(library or native.file(spins.LIBRARY)),
            "OVERLOCK_SPINS": "auto",
            "OVERLOCK_SPINS_NS": "0",
            "OVERLOCK_SPINS_OUTPUT": str(folder),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        }
        command = [*before, program, *words]
        done = subprocess.run(
            command, env=env | more, capture_output=True, text=True, timeout=hangs_s, check=False
        )
        return Ended(done, folder)

    return start


def test_a_stub_keeps_everything(program: Path, run: Run) -> None:
    ended = run("kept")
    assert (ended.code, ended.said) == (0, "")
    assert ended.of(LOOP.format(function(program, "kept_loop"))).yields > 0


def test_a_program_whose_loops_cannot_be_read_is_told_so(run: Run, tmp_path: Path) -> None:
    """By a decoder that is another one, as on a release that has a newer Zydis only."""
    other = tmp_path / "libZydis.so.4.0"
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", other], check=True)
    ended = run("kept", LD_LIBRARY_PATH=str(tmp_path))
    why = "libZydis.so.4.0 is another one than Overlock was made for"
    assert ended.code == 0
    what = "loops are not looked for in new code"
    assert ended.said == f"overlock: OVERLOCK_SPINS=auto: {what}: {why}\n"
    assert ended.why_not == {why}
    tried = run("kept", LD_LIBRARY_PATH=str(tmp_path), OVERLOCK_SPINS="dry-run")
    assert (tried.said, tried.why_not) == ("", {why})  # its report is what was asked for


def test_a_stack_is_unwound_at_each_instruction(run: Run) -> None:
    """From within the stub, and from what it calls: `main` is reached."""
    ended = run("stepped", OVERLOCK_SPINS_FRAMES="1")
    assert (ended.code, ended.said) == (0, "1 0 0\n")


def test_loops_that_begin_near_each_other_have_a_pad_each(
    program: Path, run: Run, is_far: bool
) -> None:
    """In memory of our own, pads are as far apart as the loops are: one stays as it was."""
    ended = run("both")
    assert (ended.code, ended.said) == (0, "")
    begins = (function(program, "await_both"), function(program, "await_inner"))
    refused = {loop.refused for loop in ended.loops if loop.begin in begins}
    assert refused == {"", *(["another loop begins less than a jump away"] if is_far else [])}


def test_children_wait_too(program: Path, run: Run) -> None:
    ended = run("forked")
    assert (ended.code, ended.said) == (0, "")
    assert ended.of(LOOP.format(function(program, "await"))).yields > 0


def test_a_barrier_of_more_threads_than_cpus_finds_others(program: Path, run: Run) -> None:
    ended = run("crowd", str(4 * (os.cpu_count() or 1)), "500")
    assert (ended.code, ended.said) == (0, "")
    assert ended.of(LOOP.format(function(program, "await"))).found > 0


IMPATIENT = {
    "others are forgotten at once": ("w->times = 0;", "w->times = 1;"),
    "others are remembered for ever": ("!w->times ? 1 :", ""),
    "each jump of a loop is another wait": ("w->site->loop != s->loop", "w->site != s"),
    "a wait that counts yields as any other": ("return is_counted(s) &&", "return false &&"),
    "the first step counts for good": ("if (is_in_time && difference", "if (!step && difference"),
}


def waits(folder: Path, change: Callable[[str], str]) -> int:
    """The number of the wait that is not as it is to be; 0: none."""
    (folder / "waiting.c").write_text(change((SPINS / "waiting.c").read_text()))
    include = [f"-I{TOP / part}" for part in ("include", "lib", "lib/loops", "run", "run/spins")]
    defined = ["-D_GNU_SOURCE", f'-DWAITING="{folder / "waiting.c"}"']
    made, library = folder / "patience", native.folder().parent / "lib/liboverlock.a"
    command: list[str | Path] = [
        "gcc",
        "-std=gnu11",
        "-O0",
        *include,
        *defined,
        HERE / "patience.c",
        library,
    ]
    subprocess.run([*command, "-pthread", "-o", made], check=True)
    return subprocess.run([made], check=False, timeout=HANG_S).returncode


def test_who_shares_a_cpu_hardly_spins(tmp_path: Path) -> None:
    """Once others ran in a yield; until nobody does."""
    assert waits(tmp_path, str) == 0


@pytest.mark.parametrize("name", IMPATIENT)
def test_a_mutant_of_the_patience_is_caught(tmp_path: Path, name: str) -> None:
    assert waits(tmp_path, lambda text: changed(text, IMPATIENT[name])) > 0


def test_a_wait_that_counts_ends_when_it_has_counted(program: Path, run: Run) -> None:
    """A yield for each of its looks would take time slices, and it thousands of them."""
    ended = run("counted", HOGS)
    assert (ended.code, ended.said) == (0, "")
    assert ended.of(LOOP.format(function(program, "await_so_long"))).found > 0


def test_a_wait_that_counts_from_the_least_number_ends(program: Path, run: Run) -> None:
    """What is left to count has no negative, and a division of it would end the process."""
    ended = run("endless")
    assert (ended.code, ended.said) == (0, "")
    assert ended.of(LOOP.format(function(program, "await_so_long"))).yields > 0


def toggled(run: Run, times: int) -> None:
    ended = run("toggled", str(2 * (os.cpu_count() or 1)), str(times))
    assert (ended.code, ended.said) == (0, "")


def test_a_jump_is_retargeted_and_taken_back_while_threads_are_in_the_loop(run: Run) -> None:
    """A hundred thousand times in tests/run/spins/toggled_at_size.py."""
    toggled(run, 3000)


def waiting_library(made: Path, filling: int, build_id: str = "sha1") -> Path:
    source = made.with_suffix(".S")
    source.write_text(
        ".text\n.globl waits_there\n.p2align 6\nfirst: .cfi_startproc\n"
        f".rept {filling}\nnop\n.endr\nret\n.cfi_endproc\n.p2align 6\n"
        "waits_there: .cfi_startproc\n1: mov (%rdi), %eax\ntest %eax, %eax\nje 1b\nret\n"
        ".cfi_endproc\n.p2align 6\nlast: .cfi_startproc\nret\n.cfi_endproc\n"
        '.section .note.GNU-stack, "", @progbits\n'
    )
    flags = ["-shared", "-nostdlib", f"-Wl,--build-id={build_id}"]
    subprocess.run(["gcc", *flags, source, "-o", made], check=True)
    return made


def test_libraries_come_and_go(run: Run, tmp_path: Path) -> None:
    """At the same addresses, with loops at other places."""
    fillings = {"one": 0, "two": 24, "three": 160}
    paths = [waiting_library(tmp_path / f"{name}.so", n) for name, n in fillings.items()]
    ended = run("loaded", *paths)
    assert (ended.code, ended.said) == (0, "")
    for path in paths:
        yielded = [loop for loop in ended.loops if loop.object == path.name and loop.yields]
        assert yielded, path


def test_a_library_that_comes_again_waits_as_before(run: Run, tmp_path: Path) -> None:
    """At the same address, with the code of its file: what was changed there is gone."""
    path = waiting_library(tmp_path / "one.so", 0)
    ended = run("loaded", path)
    assert (ended.code, ended.said) == (0, "")
    assert sum(loop.retargeted for loop in ended.loops if loop.object == path.name) == TIMES


def test_a_filter_that_is_installed_later_ends_nobody(run: Run) -> None:
    ended = run("filtered")
    assert (ended.code, ended.said) == (0, "")


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("yields", "a filter of system calls forbids sched_yield()"),
        ("writes", "/proc/self/mem does not let code be changed"),
    ],
)
def test_behind_a_filter_nothing_is_changed(program: Path, run: Run, what: str, why: str) -> None:
    ended = run("forked", before=(program, "behind", what))
    assert ended.code == 0
    assert ended.said == f"overlock: OVERLOCK_SPINS=auto: no loop was changed: {why}\n"
    assert ended.why_not == {why}
    assert not any(loop.yields for loop in ended.loops)


def test_a_kernel_that_lets_only_debuggers_write_code_is_no_obstacle(
    program: Path, run: Run
) -> None:
    """CONFIG_PROC_MEM_FORCE_PTRACE. Afterwards no code is writable."""
    ended = run("forked", before=(program, "behind", "force"))
    assert (ended.code, ended.said) == (0, "")
    assert ended.why_not == {""}
    assert ended.of(LOOP.format(function(program, "await"))).yields > 0


def test_a_realtime_thread_does_not_yield(program: Path, run: Run) -> None:
    trial = subprocess.run(["chrt", "-r", "1", "true"], capture_output=True, check=False)
    if trial.returncode:
        pytest.skip("no realtime priority may be had here")
    ended = run("forked", before=("chrt", "-r", "1"))
    assert (ended.code, ended.said) == (0, "")
    loop = ended.of(LOOP.format(function(program, "await")))
    assert loop.waited
    assert loop.yields == 0


def test_what_disables_overlock_disables_this(run: Run) -> None:
    assert not run("forked", OVERLOCK_DISABLE="1").loops


@pytest.mark.parametrize("words", ["", "dry-run", "other+0x10"])
def test_only_what_is_asked_for_is_changed(run: Run, words: str) -> None:
    ended = run("forked", OVERLOCK_SPINS=words)
    assert ended.code == 0
    assert not any(loop.waited for loop in ended.loops)
    assert {loop.refused for loop in ended.loops} <= {
        "only asked for",
        "not named",
        "only if it is named",
        "no dead bytes are in its jump's reach",
    }


def test_a_loop_is_changed_by_its_name_alone(program: Path, run: Run) -> None:
    name = LOOP.format(function(program, "await"))
    ended = run("forked", OVERLOCK_SPINS=name)
    assert {loop.name for loop in ended.loops if not loop.refused} == {name}
    assert ended.of(name).yields > 0


# What is kept of an object.


def kept(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (folder / "cache/overlock/loops").iterdir()}


def test_what_is_kept_is_used_again(program: Path, run: Run, tmp_path: Path) -> None:
    """The second time with what was found, which a loop was taken out of."""
    name = LOOP.format(function(program, "await"))
    assert run("forked").of(name)
    first = kept(tmp_path)
    (mine,) = [path for path, text in first.items() if name.partition("+0x")[2] in text]
    path = tmp_path / "cache/overlock/loops" / mine
    path.write_text(first[mine].splitlines()[0] + "\nend\n")
    assert name not in {loop.name for loop in run("forked").loops}


def test_a_loop_stays_as_it_is_if_one_of_its_jumps_is_another(
    program: Path, run: Run, tmp_path: Path
) -> None:
    """What is kept has another target for the first of two jumps."""
    begin = f"{function(program, 'await_either'):x}"
    assert run("forked").of(f"spins+0x{begin}").refused == ""
    for name in kept(tmp_path):
        path = tmp_path / "cache/overlock/loops" / name
        before, found, after = path.read_text().partition(f"loop {begin} ")
        if found:
            loop, first, rest = after.split("\n", 2)
            words = first.split()
            words[3] = f"{int(words[3], 16) + 1:x}"
            path.write_text("\n".join([before + found + loop, " ".join(words), rest]))
    ended = run("forked")
    assert (ended.code, ended.said) == (0, "")
    assert ended.of(f"spins+0x{begin}").refused == "its code cannot be changed"


def retargeted(ended: Ended, path: Path) -> bool:
    return any(loop.retargeted for loop in ended.loops if loop.object == path.name)


def test_without_a_build_id_an_object_is_kept_by_what_it_has(run: Run, tmp_path: Path) -> None:
    """As rustc's 150 MB: they were decoded at each start. A changed file is another one."""
    path = waiting_library(tmp_path / "one.so", 0, "none")
    assert retargeted(run("loaded", path), path)
    (name,) = [name for name in kept(tmp_path) if name.startswith("digest-")]
    file = tmp_path / "cache/overlock/loops" / name
    file.write_text(file.read_text().splitlines()[0] + "\nend\n")
    assert not retargeted(run("loaded", path), path)
    waiting_library(path, 24, "none")
    assert retargeted(run("loaded", path), path)


SPOILED: dict[str, Callable[[str], str]] = {
    "cut": lambda text: text.removesuffix("end\n"),
    "of another version": lambda text: text.replace("loops 5", "loops 4"),
    "empty": lambda _: "",
}


@pytest.mark.parametrize("how", [*SPOILED, "writable by others"])
def test_what_cannot_be_trusted_is_found_anew(
    program: Path, run: Run, tmp_path: Path, how: str
) -> None:
    run("forked")
    first = kept(tmp_path)
    for name, text in first.items():
        path = tmp_path / "cache/overlock/loops" / name
        if how in SPOILED:
            path.write_text(SPOILED[how](text))
        else:
            path.write_text(text.splitlines()[0] + "\nend\n")
            path.chmod(0o666)
    assert run("forked").of(LOOP.format(function(program, "await"))).yields > 0
    assert kept(tmp_path) == first


def test_without_a_place_to_keep_it_all_works(program: Path, run: Run) -> None:
    ended = run("forked", XDG_CACHE_HOME="/proc/none", HOME="/proc/none")
    assert ended.of(LOOP.format(function(program, "await"))).yields > 0


# The command.


def test_the_command_says_what_it_gained(overlock: Overlock, program: Path) -> None:
    done = overlock("run", "--spins=report", "--", program, "crowd", "16", "300")
    assert done.returncode == 0
    (line,) = [
        line for line in done.stderr.splitlines() if line.startswith("overlock: spins, process")
    ]
    assert re.search(r"; [1-9]\d* yields", line)
    assert f"spins+{function(program, 'await'):#x}" in done.stderr


def test_a_program_without_a_last_report_is_told(overlock: Overlock, program: Path) -> None:
    """It is killed: what its threads did since the last one was created is not known."""
    killed = (
        "import os, threading; t = threading.Thread(target=int); t.start(); os.kill(os.getpid(), 9)"
    )
    done = overlock("run", "--spins=report", "--", "python3", "-c", killed)
    assert "it wrote no last report" in done.stderr


def test_a_trial_lists_and_changes_nothing(overlock: Overlock, program: Path) -> None:
    done = overlock("run", "--spins=dry-run", "--", program, "forked")
    assert done.returncode == 0
    said = " ".join(done.stderr.split())
    assert "0 waiting loops yield" in said
    assert f"spins+{function(program, 'await'):#x} wait would yield" in said


@pytest.mark.parametrize("words", ["nothing", "auto,libx.so", "libx.so+12", ""])
def test_bad_usage(overlock: Overlock, words: str) -> None:
    done = overlock("run", f"--spins={words}", "--", "true")
    assert done.returncode == 125
    assert done.stderr.startswith(
        f"overlock: --spins={words.rsplit(',', maxsplit=1)[-1]}: expected auto, dry-run"
    )
    assert done.stderr.count("\n") == 1


def environment(overlock: Overlock, *words: str) -> dict[str, str]:
    done = overlock("run", *words, "--", "env")
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def test_the_program_keeps_its_locks_unless_one_is_named(overlock: Overlock) -> None:
    alone = environment(overlock, "--spins")
    assert [Path(path).name for path in alone["LD_PRELOAD"].split(":")] == [spins.LIBRARY]
    assert "OVERLOCK_LOCK" not in alone
    both = environment(overlock, "--spins", "--lock", "rota")
    names = [Path(path).name for path in both["LD_PRELOAD"].split(":")]
    assert names == [spins.LIBRARY, "liboverlock-run.so"]
    assert both["OVERLOCK_LOCK"] == "rota"
    assert both["OVERLOCK_SPINS"] == alone["OVERLOCK_SPINS"] == "auto"


def test_an_outer_run_is_forgotten(overlock: Overlock) -> None:
    done = overlock("run", "--spins", "--", native.file("overlock"), "run", "--", "env")
    assert "OVERLOCK_SPINS" not in done.stdout
    assert spins.LIBRARY not in done.stdout


# Mutants.

ENDLESS_S = 15.0
FINE = {"kept": "", "stepped": "1 0 0\n", "filtered": "", "both": ""}

MUTANTS: dict[str, tuple[str, str, str, str]] = {
    "the flags are lost": ("enter.S", "\tpopfq\n", "\taddq $8, %rsp\n", "kept"),
    "two registers are exchanged": (
        "enter.S",
        "register, rax, rcx, rdx, rbx\n",
        "register, rax, rdx, rcx, rbx\n",
        "kept",
    ),
    "no red zone": (
        "stub.c",
        "BYTES(to, 0x48, 0x8d, 0x64, 0x24, 0x80);",
        "BYTES(to, 0x48, 0x8d, 0x64, 0x24, 0x00);",
        "kept",
    ),
    "a counter changes the flags": (
        "stub.c",
        "BYTES(to, 0x8d, 0x49, 0xff);",
        "BYTES(to, 0x83, 0xe9, 0x01);",
        "kept",
    ),
    "a frame begins elsewhere": (
        "frames.c",
        "OL_STUB_IS_OVER, 136",
        "OL_STUB_IS_OVER, 128",
        "stepped",
    ),
    "the slow part's frame begins elsewhere": (
        "enter.S",
        ".cfi_def_cfa rsp, 152",
        ".cfi_def_cfa rsp, 144",
        "stepped",
    ),
    "a pad may lie over another one": (
        "objects.c",
        "return !site->is_far ||",
        "return true ||",
        "both",
    ),
    "a later filter is no matter": (
        "filter.c",
        "if (number == SYS_seccomp && operation != SECCOMP_GET_ACTION_AVAIL)",
        "if (0 && operation)",
        "filtered",
    ),
}


OF_FAR_ONES = ("a pad may lie over another one",)
# A pad that lies over another one does not show in every run; why was not looked for.
TRIES = 10


def commands() -> dict[str, list[str]]:
    """How the library's sources are compiled, by their names."""
    listed = json.loads((native.folder().parent / "compile_commands.json").read_text())
    ours = [one for one in listed if "overlock-run-spins.dir" in one["command"]]
    return {Path(one["file"]).name: shlex.split(one["command"]) for one in ours}


def built(folder: Path, source: str, change: Callable[[str], str]) -> Path:
    """The library with one source changed."""
    folder.mkdir()
    build = native.folder().parent
    objects = []
    for name, command in commands().items():
        at = command.index("-o") + 1
        made = build / command[at]
        if name == source:
            mutant, made = folder / name, folder / f"{name}.o"
            mutant.write_text(change((SPINS / name).read_text()))
            own = ["-DNDEBUG", f"-I{SPINS}", f"-I{TOP / 'run'}", "-o", str(made), "-c", str(mutant)]
            subprocess.run([*command[: at - 1], *own], cwd=build, check=True)
        objects.append(made)
    library = folder / spins.LIBRARY
    archives = [build / "lib/loops/liboverlock_loops.a", build / "lib/liboverlock.a"]
    flags = ["-shared", "-Wl,--exclude-libs,ALL", f"-Wl,-rpath,{native.folder()}"]
    subprocess.run(["gcc", *flags, *objects, *archives, "-ldl", "-o", library], check=True)
    return library


@pytest.mark.parametrize(
    ("is_far", "name"), [(name in OF_FAR_ONES, name) for name in MUTANTS], indirect=["is_far"]
)
def test_a_mutant_is_caught(run: Run, tmp_path: Path, name: str) -> None:
    source, old, new, what = MUTANTS[name]

    def change(text: str) -> str:
        if not source.endswith(".S"):
            return changed(text, (old, new))
        assert old in text
        return text.replace(old, new)

    library = built(tmp_path / "made", source, change)
    words = (what, HOGS)
    for _ in range(TRIES):
        try:
            ended = run(*words, library=library, hangs_s=ENDLESS_S, OVERLOCK_SPINS_FRAMES="1")
        except subprocess.TimeoutExpired:
            return
        if (ended.code, ended.said) != (0, FINE[what]):
            return
    pytest.fail("not caught")


def test_without_a_change_it_is_no_mutant(run: Run, tmp_path: Path) -> None:
    library = built(tmp_path / "made", "objects.c", lambda text: text)
    for what, fine in FINE.items():
        ended = run(what, HOGS, library=library, OVERLOCK_SPINS_FRAMES="1")
        assert (ended.code, ended.said) == (0, fine)
