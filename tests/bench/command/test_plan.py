# SPDX-License-Identifier: MIT
"""The plan of a measurement, against a stand-in for overlock-bench whose figures are known."""

import io
import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from overlock_tools.bench import rounds, server, throw_mutexes
from overlock_tools.cli import main
from overlock_tools.core.analyze import throw_count
from overlock_tools.core.model import paper_settings, plan, results
from overlock_tools.core.system import files
from tests.bench.command.fake_bench import WORKLOADS
from tests.command import COMMAND, Done, schema
from tests.processes import HANG_S, until

SCHEMA = schema("result")
RATES = {"tas": 1e6, "ticket": 1e6, "twa": 1e3, "pthread_mutex": 1e6}
LOCKS = ("--locks", "tas,ticket,pthread_mutex", "--threads", "2,4")


class World:
    """A folder with a native/ of its own, and what its overlock-bench was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.native = folder, folder / "native"
        self.world: dict[str, Any] = {"rates": RATES, "log": str(folder / "asked")}
        real = Path(os.environ["OVERLOCK_NATIVE"])
        self.native.mkdir()
        for file in real.iterdir():
            (self.native / file.name).symlink_to(file)
        bench = self.native / "overlock-bench"
        bench.unlink()
        shutil.copy(Path(__file__).with_name("fake_bench.py"), bench)
        bench.chmod(bench.stat().st_mode | stat.S_IXUSR)
        self.results = folder / "results"
        self.results.mkdir()

    def environment(self) -> dict[str, str]:
        (self.folder / "world.json").write_text(json.dumps(self.world))
        told = {"OVERLOCK_NATIVE": self.native, "FAKE_WORLD": self.folder / "world.json"}
        return {**os.environ, **{name: str(path) for name, path in told.items()}}

    def run(self, *args: str) -> Done:
        """In this process, which is ten times as fast as one of its own."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.results)
            for name, value in self.environment().items():
                patch.setenv(name, value)
            code = main.run(["bench", *args])
        return Done(args, code, out.getvalue(), err.getvalue())

    def start(self, *args: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*COMMAND, "bench", *args],
            cwd=self.results,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def asked(self) -> list[dict[str, str]]:
        log = self.folder / "asked"
        lines = log.read_text().splitlines() if log.exists() else []
        return [dict(word.split("=", 1) for word in line.split()) for line in lines]

    def order(self) -> list[tuple[str, str]]:
        return [(cell["variant"], cell["threads"]) for cell in self.asked()]

    def forget(self) -> None:
        (self.folder / "asked").unlink(missing_ok=True)

    def read(self, name: str = "r.json") -> dict[str, Any]:
        body: dict[str, Any] = json.loads((self.results / name).read_text())
        jsonschema.validate(body, SCHEMA)
        return body

    def change(self, **fields: Any) -> None:
        body = self.read()
        for key, value in fields.items():
            body[key] = {**body[key], **value} if isinstance(value, dict) else value
        (self.results / "r.json").write_text(json.dumps(body))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def fails(done: Done, code: int, line: str) -> None:
    assert (done.returncode, done.stderr) == (code, f"overlock: {line}\n")


# Order


def test_every_round_has_every_cell_in_an_order_of_its_own(world: World) -> None:
    assert world.run("sections", *LOCKS, "--rounds", "3", "--seed", "7").returncode == 0
    order = world.order()
    rounds = [order[i : i + 6] for i in (0, 6, 12)]
    assert len(order) == 18
    assert sorted(rounds[0]) == sorted(rounds[1]) == sorted(rounds[2])
    assert len({tuple(one) for one in rounds}) > 1


def test_seed_decides_the_order_and_is_kept(world: World) -> None:
    orders = []
    for seed in ("7", "7", "8"):
        world.forget()
        done = world.run("sections", *LOCKS, "--rounds", "2", "--seed", seed, "--json", "r.json")
        assert done.returncode == 0, done.stderr
        assert world.read()["settings"]["seed"] == int(seed)
        orders.append(world.order())
    assert orders[0] == orders[1] != orders[2]


def test_command_of_the_result_measures_the_same_again(world: World) -> None:
    args = ("--rounds", "2", "--cs-ns", "90", "--shape", "uniform", "--lock-count", "3")
    world.run("sections", *LOCKS, *args, "--seconds", "0.5", "--no-latency", "--json", "r.json")
    first = world.asked()
    assert {(cell["cs"], cell["shape"], cell["locks"]) for cell in first} == {
        ("90.0", "uniform", "3")
    }
    assert {(cell["measure"], cell["seconds"]) for cell in first} == {("0", "0.5")}
    world.forget()
    words = shlex.split(world.read()["command"])
    assert words[:2] == ["overlock", "bench"]
    assert world.run(*words[2:]).returncode == 0
    assert world.asked() == first


# Collapse


def pilot(world: World, locks: str, *args: str) -> dict[str, Any]:
    args = ("--locks", locks, "--threads", "2,4", "--rounds", "3", *args, "--json", "r.json")
    done = world.run("sections", *args, "--baseline", "tas")
    assert done.returncode == 0, done.stderr
    world.said = done.stdout  # type: ignore[attr-defined]
    return world.read()


def test_what_collapses_in_the_pilot_is_not_repeated_and_called_so(world: World) -> None:
    body = pilot(world, "tas,twa,pthread_mutex", "--pilot")
    assert world.order().count(("twa", "4")) == 1
    assert world.order().count(("tas", "4")) == 3
    why = "less than a tenth of pthread_mutex's rate"
    assert body["collapsed"] == [
        {"variant": "twa", "threads": n, "why": why}
        for n in [int(n) for variant, n in world.order() if variant == "twa"]
    ]
    rows = {(row["variant"], row["threads"]): row for row in body["summary"]}
    assert (rows["twa", 4]["collapsed"], rows["twa", 4]["rounds"]) == (True, 1)
    assert (rows["tas", 4]["collapsed"], rows["tas", 4]["rounds"]) == (False, 3)
    said = " ".join(world.said.split())  # type: ignore[attr-defined]
    assert f"Collapsed in the first round, {why}, and measured only once" in said
    assert "collapsed" in said
    assert body["complete"]


def test_without_pilot_everything_is_repeated(world: World) -> None:
    assert pilot(world, "tas,twa,pthread_mutex")["collapsed"] == []
    assert world.order().count(("twa", "4")) == 3


def test_judge_is_the_native_lock_even_if_others_are_faster(world: World) -> None:
    world.world["rates"] = {"tas": 1e7, "twa": 1e5, "pthread_mutex": 5e5}
    assert pilot(world, "tas,twa,pthread_mutex", "--pilot")["collapsed"] == []


def test_judge_is_the_best_where_there_is_no_native_lock(world: World) -> None:
    body = pilot(world, "tas,twa", "--pilot")
    assert {entry["why"] for entry in body["collapsed"]} == {"less than a tenth of tas's rate"}


def test_the_field_is_chosen_in_the_first_round(world: World) -> None:
    """The best rivals of the baseline stay, which itself stays whatever its rate."""
    world.world["rates"] = {"tas": 1e5, "twa": 3e5, "ttas": 2e5, "pthread_mutex": 4e5}
    body = pilot(world, "tas,twa,ttas,pthread_mutex", "--field", "2")
    rounds = {v: [n for n, _ in world.order()].count(v) for v in world.world["rates"]}
    assert rounds == {"tas": 6, "twa": 6, "ttas": 2, "pthread_mutex": 6}
    assert {(e["variant"], e["why"]) for e in body["outside"]} == {("ttas", "not among the 2 best")}
    assert body["settings"]["field"] == 2
    assert "--field 2" in body["command"]
    said = " ".join(world.said.split())  # type: ignore[attr-defined]
    assert "Measured once, not among the 2 best in the first round: ttas." in said


def test_fixed_work_is_cut_at_ten_times_the_native_time(world: World) -> None:
    body = pilot(world, "tas,twa,pthread_mutex", "--turns", "250000")
    first = world.asked()[:2]
    assert [cell["variant"] for cell in first] == ["pthread_mutex"] * 2  # they set the limits
    assert {cell["turns"] for cell in world.asked()} == {"250000"}
    limits = {
        (cell["threads"], cell["seconds"])
        for cell in world.asked()
        if cell["variant"] != "pthread_mutex"
    }
    assert limits == {("2", "5"), ("4", "10")}  # natively 0.5 and 1 s
    assert {(c["variant"], c["why"]) for c in body["collapsed"]} == {
        ("twa", "cut after 5 s, unfinished"),
        ("twa", "cut after 10 s, unfinished"),
    }
    rows = {(row["variant"], row["threads"]): row["measures"] for row in body["summary"]}
    assert rows["tas", 4]["run_time"] == pytest.approx(1.0)
    assert "run_time" not in rows["twa", 4]


# What goes wrong


def test_impossible_cell_is_named_and_not_tried_again(world: World) -> None:
    world.world["impossible"] = ["twa"]
    args = ("--locks", "tas,twa", "--threads", "2", "--rounds", "3", "--json", "r.json")
    done = world.run("sections", *args, "--baseline", "tas")
    assert done.returncode == 1
    assert "Not measured: twa with 2 threads: no memory for it." in done.stdout
    assert world.order().count(("twa", "2")) == 1
    body = world.read()
    assert body["impossible"] == [{"variant": "twa", "threads": 2, "why": "no memory for it"}]
    assert len(body["cells"]) == 3


def test_hung_lock_is_wrong_and_not_tried_again(world: World) -> None:
    world.world["hung"] = ["twa"]
    args = ("--locks", "tas,twa", "--threads", "2", "--rounds", "3", "--json", "r.json")
    done = world.run("sections", *args, "--baseline", "tas")
    assert done.returncode == 1
    wrong = "WRONG: twa with 2 threads hung in round 1."
    assert wrong in done.stdout
    assert "Not measured" not in done.stdout
    assert world.order().count(("twa", "2")) == 1
    body = world.read()
    assert body["verdict"][0] == wrong
    assert body["hung"] == [{"variant": "twa", "threads": 2, "why": "hung in round 1"}]
    again = world.run("sections", *args, "--baseline", "tas", "--resume")
    assert (again.returncode, wrong in again.stdout) == (1, True)


def test_hung_in_the_first_cell_is_kept(world: World) -> None:
    world.world["hung"] = ["tas"]
    args = ("--locks", "tas", "--baseline", "tas", "--threads", "2", "--json", "r.json")
    assert world.run("sections", *args).returncode == 1
    assert world.read()["verdict"][0] == "WRONG: tas with 2 threads hung in round 1."


def test_waiters_left_in_line_are_told_once(world: World) -> None:
    world.world["undrained"] = ["tas"]
    args = ("--locks", "tas,twa", "--baseline", "tas", "--threads", "2", "--rounds", "3")
    world.run("sections", *args, "--json", "r.json")
    world.run("sections", *args, "--json", "r.json", "--resume")
    (said,) = [line for line in world.read()["warnings"] if "drain" in line]
    assert said == "3 cells did not drain: waiters remained in the queue"


@pytest.mark.parametrize("deaf", [{"deaf": True}, {"deaf": True, "stays": True}])
def test_bench_that_heeds_no_signal_is_ended(
    world: World, deaf: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.world |= deaf
    monkeypatch.setattr(server, "ENDS_WITHIN_SECONDS", 0.5 if "stays" in deaf else 30)
    assert world.run("sections", *LOCKS, "--rounds", "1").returncode == 0


def test_bench_that_dies_is_quoted_and_what_it_did_is_not_lost(world: World) -> None:
    world.world["die_at"] = 5
    done = world.run("sections", *LOCKS, "--rounds", "2", "--json", "r.json")
    fails(done, 1, "the sky fell")
    assert len(world.read()["cells"]) == 4


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            ("sections", "--turns", "10", "--phases", "2"),
            "--turns and --phases exclude each other: phases divide the measured time",
        ),
        (
            ("sections", "--as-in", "005"),
            "Invalid value for '--as-in': '005' is not one of 'ouyang2013', 'rao2012', "
            "'teabe2017', 'long', 'dice2019'; "
            "see `overlock bench sections --help`",
        ),
        (
            ("sections", "--shape", "square"),
            "Invalid value for '--shape': 'square' is not one of 'fixed', 'uniform'; see "
            "`overlock bench sections --help`",
        ),
        (
            ("sections", "--csv", "nowhere/r.csv"),
            "nowhere/r.csv cannot be written: the folder nowhere does not exist; create it first",
        ),
        (
            ("matrix", "--rounds", "1"),
            "Missing option '-o' / '--output'; see `overlock bench matrix --help`",
        ),
        (
            ("matrix", "-o", "nowhere/m"),
            "-o nowhere/m: cannot create the folder: No such file or directory",
        ),
    ],
)
def test_bad_usage(world: World, args: tuple[str, ...], line: str) -> None:
    fails(world.run(*args), 2, line)
    assert world.asked() == []
    assert list(world.results.iterdir()) == []


# Taking up again


def interrupted(world: World, *args: str, after: int = 4) -> None:
    world.world["seconds"] = 0.05
    child = world.start("sections", *LOCKS, "--rounds", "3", *args, "--json", "r.json")
    until(lambda: len(world.asked()) >= after)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=HANG_S)
    assert (child.returncode, err) == (130, "")
    assert "; repeat the command with --resume to complete them" in out
    world.world["seconds"] = 0


def test_resumed_result_is_the_one_that_would_have_been(world: World) -> None:
    world.run("sections", *LOCKS, "--rounds", "3", "--seed", "7", "--json", "whole.json")
    whole = world.order()
    world.forget()
    interrupted(world, "--seed", "7", after=8)
    cells = world.read()["cells"]
    assert 7 <= len(cells) < 18
    world.forget()
    done = world.run("sections", *LOCKS, "--rounds", "3", "--json", "r.json", "--resume")
    assert done.returncode == 0, done.stderr
    assert world.order() == whole[len(cells) :]
    body = world.read()
    assert body["complete"]
    assert [(c["variant"], str(c["threads"])) for c in body["cells"]] == whole
    assert body["settings"]["seed"] == 7


def test_complete_result_is_only_shown(world: World) -> None:
    world.run("sections", *LOCKS, "--rounds", "1", "--json", "r.json")
    world.forget()
    done = world.run("sections", *LOCKS, "--rounds", "1", "--json", "r.json", "--resume")
    assert done.returncode == 0
    assert "complete: nothing is left to measure" in done.stdout
    assert world.asked() == []


def test_result_killed_before_it_was_called_complete_is_finished(world: World) -> None:
    args = (*LOCKS, "--rounds", "1", "--json", "r.json")
    world.run("sections", *args)
    world.change(complete=False, summary=[], verdict=[])
    world.forget()
    assert world.run("sections", *args, "--resume").returncode == 0
    body = world.read()
    assert (body["complete"], world.asked()) == (True, [])
    assert body["summary"]
    assert body["verdict"]


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("--rounds", "4"), "--rounds 3, not 4"),
        (("--seconds", "0.2"), f"--seconds {plan.SECONDS:g}, not 0.2"),
        (("--seed", "8"), "--seed 7, not 8"),
        (("--threads", "2"), "--threads 2,4, not 2"),
        (
            ("--locks", "twa"),
            "--locks tas,ticket,pthread_mutex, not tas,ticket,pthread_mutex,twa",
        ),
        (("--baseline", "tas"), "--baseline ticket, not tas"),
        (("--cs-ns", "90"), "parameter cs 70, not 90"),
        (("--pilot",), "--pilot off, not on"),
        (("--field", "1"), "--field none, not 1"),
        (("--no-latency",), "--no-latency off, not on"),
        (("--turns", "100"), "--turns none, not 100"),
        (("--background", "1:hogs"), "--background none, not 1:hogs"),
        (("--cflags=-DX",), "--cflags none, not -DX"),
    ],
)
def test_other_options_are_refused(world: World, args: tuple[str, ...], what: str) -> None:
    interrupted(world, "--seed", "7", after=3)
    options = ("--rounds", "3", "--json", "r.json", "--resume")
    fails(
        world.run("sections", *LOCKS, *options, *args),
        2,
        f"r.json was measured with {what}; resume it with its own options, or give another file",
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"machine": {"kernel": "5.4"}},
            "r.json was measured on another machine or kernel (kernel 5.4, here "
            f"{os.uname().release}); start a new measurement in another file",
        ),
        (
            {"settings": {"build": "0"}},
            "r.json was measured with another build of overlock-bench; start a new measurement in "
            "another file",
        ),
        (
            {"native": {"tunables": {"tau": "77"}}},
            "r.json was measured with tunable tau 77, not 400; resume it with its own options, or "
            "give another file",
        ),
        (
            {"kind": "mutexbench"},
            "r.json was measured with workload mutexbench, not sections; resume it with its own "
            "options, or give another file",
        ),
    ],
)
def test_another_world_is_refused(world: World, change: dict[str, Any], why: str) -> None:
    world.world["tunables"] = {"tau": "400"}
    interrupted(world, after=3)
    world.change(**change)
    options = ("--rounds", "3", "--json", "r.json", "--resume")
    fails(world.run("sections", *LOCKS, *options), 2, why)


def test_rebuilt_peers_are_refused(world: World) -> None:
    plugin = world.native / "overlock-peers-ck.so"
    plugin.unlink(missing_ok=True)
    plugin.write_text("what the stand-in does not load")
    world.world["rates"] = {"tas": 1e6, "ck_mcs": 1e6}
    args = ("--locks", "tas,ck_mcs", "--baseline", "tas", "--threads", "2", "--json", "r.json")
    world.run("sections", *args, "--rounds", "1")
    assert set(world.read()["settings"]["plugins"]) == {"ck"}
    plugin.write_text("compiled anew")
    fails(
        world.run("sections", *args, "--rounds", "1", "--resume"),
        2,
        "r.json was measured with another build of ck's locks; start a new measurement in another "
        "file",
    )


def test_command_has_the_variables_that_were_set(world: World) -> None:
    world.world["tunables"] = {"tau": "77", "spin": "2000"}
    world.run("sections", *LOCKS, "--rounds", "1", "--json", "r.json")
    assert world.read()["command"].startswith("OVERLOCK_TAU_NS=77 overlock bench sections ")


def test_command_has_the_knowledge_that_was_named(world: World) -> None:
    args = ("--rounds", "1", "--json", "r.json", "--knowledge", "usual,rusage")
    assert world.run("sections", *LOCKS, *args).returncode == 0
    assert "--knowledge usual,rusage" in world.read()["command"]


def test_command_has_the_flags_that_were_given(world: World) -> None:
    args = ("--rounds", "1", "--json", "r.json", "--cflags=-DX -I there")
    assert world.run("sections", *LOCKS, *args).returncode == 0
    assert "--cflags=-DX -I there" in shlex.split(world.read()["command"])


def test_resuming_needs_a_file(world: World) -> None:
    fails(
        world.run("sections", "--resume"), 2, "--resume needs the result's file; give --json FILE"
    )
    fails(
        world.run("sections", "--resume", "--json", "r.json"),
        2,
        "--resume: r.json does not exist; remove --resume to start a new result",
    )


# The papers' settings


@pytest.mark.parametrize(
    "setting", paper_settings.SETTINGS, ids=lambda s: f"{s.paper} {s.workload}"
)
def test_as_in_a_paper(world: World, setting: paper_settings.Setting) -> None:
    workload = "mutexbench" if setting.workload == paper_settings.ANY else setting.workload
    args = ("--locks", "tas", "--baseline", "tas", "--json", "r.json")
    done = world.run(workload, *args, "--as-in", setting.paper)
    assert done.returncode == 0, done.stderr
    body, asked = world.read(), world.asked()
    assert body["statistic"] == setting.statistic
    assert body["title"].endswith(f", made up, as in {paper_settings.CITED[setting.paper]}")
    assert body["settings"]["rounds"] == setting.rounds
    assert len(asked) == setting.rounds * len({cell["threads"] for cell in asked})
    if setting.turns:
        assert {cell["turns"] for cell in asked} == {str(setting.turns)}
    if setting.threads:
        assert ",".join(map(str, body["threads"])) == setting.threads
    if setting.seconds:
        assert {float(cell["seconds"]) for cell in asked} == {setting.seconds}
    if copies := setting.scenario.get("neighbours"):
        assert {cell["copies"] for cell in asked} == {copies}
        assert body["scenario"]["settings"] == {"neighbours": copies}


def test_papers_numbers_are_theirs() -> None:
    """As the papers print them, not as our table has them."""
    found = {(s.paper, s.workload): (s.rounds, s.seconds, s.turns) for s in paper_settings.SETTINGS}
    assert found["dice2019", "mutexbench"] == (5, 10, None)
    assert found["dice2019", "invalidation"] == (100, 10, None)
    assert found["long", "lockloop"][2] == 1_000_000
    assert paper_settings.setting("long", "lockloop").threads == "4,8,16,32"
    assert found["teabe2017", "fairness"][0] == 5
    assert found["rao2012", paper_settings.ANY][0] == 10
    assert found["ouyang2013", paper_settings.ANY][0] == 5


def test_shortened_says_so(world: World) -> None:
    args = ("--locks", "tas", "--baseline", "tas", "--json", "r.json", "--as-in", "dice2019")
    world.run("mutexbench", *args, "--seconds", "0.3", "--rounds", "3", "--threads", "2")
    body = world.read()
    assert body["title"].endswith(", as in Dice & Kogan 2019, but 0.3 s, 3 rounds")
    assert body["settings"]["otherwise"] == "0.3 s, 3 rounds"


def test_an_older_result_has_a_paper_by_its_number(world: World) -> None:
    args = ("--locks", "tas", "--baseline", "tas", "--json", "r.json", "--as-in", "dice2019")
    short = ("--seconds", "0.3", "--rounds", "1", "--threads", "2")
    world.run("mutexbench", *args, *short)
    body = world.read()
    body["settings"]["as_in"] = "004"
    file = world.results / "r.json"
    file.write_text(json.dumps(body))
    assert results.from_file(file).settings["as_in"] == "dice2019"
    done = world.run("mutexbench", *args, *short, "--resume")
    assert done.returncode == 0, done.stderr


def test_what_the_paper_does_not_have_is_said(world: World) -> None:
    args = ("--locks", "tas", "--baseline", "tas", "--json", "r.json", "--threads", "2")
    world.run("sections", *args, "--as-in", "ouyang2013", "--seconds", "0.3")
    assert world.read()["settings"]["otherwise"] == "0.3 s"
    world.run("mutexbench", *args, "--as-in", "dice2019", "--turns", "100")
    assert world.read()["settings"]["otherwise"] == "100 turns"


def test_paper_that_has_no_such_workload(world: World) -> None:
    fails(
        world.run("sections", "--as-in", "dice2019"),
        2,
        "--as-in dice2019: Dice & Kogan 2019 measures mutexbench, throw, throw_locked, "
        "stress_latency, invalidation, not sections; for sections, give --as-in ouyang2013, "
        "rao2012",
    )


def test_ministat_is_what_rao_and_dunlap_print(world: World) -> None:
    world.world["rates"] = {"tas": 1e6, "ttas": 2e6}
    args = ("--locks", "tas,ttas", "--baseline", "tas", "--threads", "2", "--as-in", "rao2012")
    done = world.run("sections", *args)
    assert "x tas, 2 threads\n+ ttas\n" in done.stdout
    assert "Difference at 95.0% confidence" in done.stdout


# The matrix


def matrix(world: World, *args: str) -> Done:
    common = ("--locks", "tas,twa,pthread_mutex", "--baseline", "tas", "--threads", "2,4")
    return world.run("matrix", "-o", "m", *common, *args)


def test_matrix_writes_a_file_for_each_workload_and_is_complete(world: World) -> None:
    args = ("--workloads", "sections,mutexbench", "--rounds", "3")
    done = matrix(world, *args)
    assert done.returncode == 0, done.stderr
    assert "2 workloads, 3 contenders, 2, 4 threads; 36 cells of " in done.stdout
    assert " s in 3 rounds, at most about " in done.stdout
    assert "To see the results: overlock report m/*.json -o report.html" in done.stdout
    assert sorted(p.name for p in (world.results / "m").iterdir()) == [
        "mutexbench.json",
        "sections.json",
    ]
    for name in ("sections", "mutexbench"):
        body = world.read(f"m/{name}.json")
        assert body["complete"]
        assert body["kind"] == name
        assert {entry["variant"] for entry in body["collapsed"]} == {"twa"}  # the pilot is on
    world.forget()
    again = matrix(world, *args)
    assert (again.returncode, world.asked()) == (0, [])
    assert "complete already: sections.json, mutexbench.json" in again.stdout


def test_matrix_takes_all_workloads(world: World) -> None:
    assert matrix(world, "--rounds", "1").returncode == 0
    throw = set() if throw_mutexes.count().contends else {"throw"}
    assert {path.stem for path in (world.results / "m").iterdir()} == set(WORKLOADS) - throw
    assert {cell["workload"] for cell in world.asked()} == set(WORKLOADS) - throw


@pytest.mark.parametrize("asked", ["throw", "throw,throw_locked"])
def test_matrix_measures_the_mutant_of_a_throw_that_locks_nothing(
    world: World, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = throw_count.Count(1000, 1000, 0, 0, "glibc 2.36")
    monkeypatch.setattr(throw_mutexes, "count", lambda: counted)
    done = matrix(world, "--rounds", "1", "--workloads", asked)
    assert [path.name for path in (world.results / "m").iterdir()] == ["throw_locked.json"]
    assert done.stdout.count("throw takes no lock here") == 1


def test_matrix_of_fixed_work_leaves_out_what_has_none(world: World) -> None:
    done = matrix(world, "--rounds", "1", "--turns", "100")
    assert done.returncode == 0, done.stderr
    assert "skipped: invalidation, which counts the iterations of one thread only" in done.stdout
    assert not (world.results / "m/invalidation.json").exists()


def test_matrix_of_loads_judges_the_baseline(world: World) -> None:
    world.world["rates"] = {"tas": 2e6, "twa": 1e6, "pthread_mutex": 1e6}
    args = ("--loads", "A,C", "--rounds", "9")
    done = matrix(world, *args)
    assert done.returncode == 0, done.stderr
    assert sorted(path.stem for path in (world.results / "m").iterdir()) == ["A", "C"]
    assert world.read("m/A.json")["parameters"]["cs"] == 70
    assert world.read("m/C.json")["parameters"]["cs"] == 1000
    assert "tas beside the best other lock; each bound holds at 95 %" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line[:2] in ("A ", "C ")]
    assert [row[:2] for row in rows] == [[a, n] for a in "AC" for n in ("2", "4", "all")]
    assert rows[0][3:6] == ["2.00", "2.00", "2.00"]
    world.forget()
    assert matrix(world, *args).stdout.count("÷ it") == 1  # it judges what is complete, too
    assert world.asked() == []


def test_one_round_of_loads_judges_nothing(world: World) -> None:
    done = matrix(world, "--loads", "A", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    assert "There are too few rounds to judge tas: 9 are needed." in done.stdout


def test_matrix_of_what_loads(world: World) -> None:
    fails(
        matrix(world, "--loads", "A,Z"),
        2,
        "unknown load 'Z'; expected all, or some of A, B, C, D, E, M, V",
    )
    fails(
        matrix(world, "--loads", "A", "--workloads", "sections"),
        2,
        "--loads and --workloads exclude each other",
    )


def test_matrix_finishes_what_was_killed_before_it_was_called_complete(world: World) -> None:
    args = ("--workloads", "sections", "--rounds", "1")
    matrix(world, *args)
    file = world.results / "m/sections.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "complete": False, "summary": []}))
    assert matrix(world, *args).returncode == 0
    body = world.read("m/sections.json")
    assert body["complete"]
    assert body["summary"]


def interrupting(honest: Callable[[Path, str], None]) -> Callable[[Path, str], None]:
    def write(path: Path, text: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        honest(path, text)

    return write


def test_matrix_interrupted_while_it_writes_ends_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "write", interrupting(files.write))
    done = matrix(world, "--workloads", "sections,mutexbench", "--rounds", "1")
    assert done.returncode == 130
    assert "interrupted; repeat the command to complete the measurement" in done.stdout
    assert world.read("m/sections.json")["complete"]
    assert not (world.results / "m/mutexbench.json").exists()


def test_matrix_as_in_a_paper_takes_what_the_paper_has(world: World) -> None:
    assert matrix(world, "--as-in", "long").returncode == 0
    assert [path.name for path in (world.results / "m").iterdir()] == ["lockloop.json"]


def test_matrix_is_completed_by_the_same_command(world: World) -> None:
    args = ("--workloads", "sections,mutexbench", "--rounds", "3", "--seed", "7")
    assert matrix(world, *args).returncode == 0
    whole = world.asked()
    shutil.rmtree(world.results / "m")
    world.forget()
    world.world["seconds"] = 0.05
    child = world.start(
        "matrix",
        "-o",
        "m",
        "--locks",
        "tas,twa,pthread_mutex",
        "--baseline",
        "tas",
        "--threads",
        "2,4",
        *args,
    )
    until(lambda: len(world.asked()) >= 18)  # in the second workload
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=HANG_S)
    assert (child.returncode, err) == (130, "")
    assert "interrupted; repeat the command to complete the measurement" in out
    had = sum(len(world.read(f"m/{p.name}")["cells"]) for p in (world.results / "m").iterdir())
    world.forget()
    world.world["seconds"] = 0
    assert matrix(world, *args).returncode == 0
    assert world.asked() == whole[had:]
    assert all(world.read(f"m/{name}.json")["complete"] for name in ("sections", "mutexbench"))


def test_matrix_of_other_options_is_refused(world: World) -> None:
    matrix(world, "--workloads", "sections", "--rounds", "2")
    fails(
        matrix(world, "--workloads", "sections", "--rounds", "3"),
        2,
        "m/sections.json was measured with --rounds 2, not 3; resume it with its own options, or "
        "give another file",
    )


def test_budget_chooses_rounds_and_seconds(world: World) -> None:
    round_minutes = 6 * plan.cell_seconds(plan.SECONDS) / 60  # of 6 places
    ten = f"{10.5 * round_minutes:g}"
    done = matrix(world, "--workloads", "sections", "--budget", ten)
    assert done.returncode == 0, done.stderr
    settings = world.read("m/sections.json")["settings"]
    assert (settings["rounds"], settings["seconds"]) == (10, plan.SECONDS)
    shutil.rmtree(world.results / "m")
    world.forget()
    few = f"{plan.LEAST_ROUNDS * 0.9 * round_minutes:g}"
    assert matrix(world, "--workloads", "sections", "--budget", few).returncode == 0
    settings = world.read("m/sections.json")["settings"]
    assert settings["rounds"] == plan.LEAST_ROUNDS
    assert plan.LEAST_SECONDS <= settings["seconds"] < plan.SECONDS
    assert matrix(world, "--workloads", "sections", "--budget", "5").returncode == 0  # as it is


def test_budget_that_is_too_small(world: World) -> None:
    threads = ",".join(map(str, range(1, 301)))
    done = matrix(world, "--workloads", "sections", "--threads", threads, "--budget", "1")
    needed = 900 * plan.LEAST_ROUNDS * plan.cell_seconds(plan.LEAST_SECONDS) / 60
    fails(
        done,
        2,
        f"--budget 1: 900 cells per round need at least {needed:.0f} minutes; increase it, or "
        "give fewer --locks or --threads",
    )


def test_matrix_names_workloads(world: World) -> None:
    fails(
        matrix(world, "--workloads", "sectoins"),
        2,
        "unknown workload 'sectoins'; did you mean sections? expected one of sections, mutexbench, "
        "lockloop, fairness, invalidation, stress_latency, throw, throw_locked",
    )


# Around it


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_ending_keeps_what_is_complete_and_leaves_no_process(
    world: World, number: signal.Signals
) -> None:
    world.world["seconds"] = 0.05
    child = world.start("sections", *LOCKS, "--rounds", "100", "--json", "r.json")
    until(lambda: len(world.asked()) >= 3)
    below = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    assert len(below) == 1
    child.send_signal(number)
    _, err = child.communicate(timeout=HANG_S)
    assert (child.returncode, err) == (130, "")
    assert len(world.read()["cells"]) >= 2
    assert not Path(f"/proc/{below[0]}").exists()
    assert [path.name for path in world.results.iterdir()] == ["r.json"]


def test_what_is_not_written_is_not_called_kept(world: World) -> None:
    world.world["seconds"] = 0.05
    child = world.start("sections", *LOCKS, "--rounds", "3")
    until(lambda: len(world.asked()) >= 3)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=HANG_S)
    assert re.search(r"^interrupted: \d of 18 cells are complete$", out, re.MULTILINE)


def test_proof_is_of_all_sessions(world: World) -> None:
    args = ("--background", "1:hogs", "--rounds", "3", "--json", "r.json")
    interrupted(world, "--background", "1:hogs")
    first = world.read()["scenario"]["proof"]["background"]
    first |= {"held": False, "words": "1 CPU hog that slept"}
    world.change(scenario={"proof": {"background": first}})
    world.run("sections", *LOCKS, *args, "--resume")
    proof = world.read()["scenario"]["proof"]["background"]
    assert not proof["held"]
    assert proof["words"].startswith("1 CPU hog that slept; resumed: 1 background CPU hog")


def test_session_without_a_proof_proves_nothing(world: World) -> None:
    interrupted(world, "--background", "1:hogs")
    body = world.read()
    del body["scenario"]["proof"]
    (world.results / "r.json").write_text(json.dumps(body))
    args = ("--background", "1:hogs", "--rounds", "3", "--json", "r.json", "--resume")
    world.run("sections", *LOCKS, *args)
    proof = world.read()["scenario"]["proof"]["background"]
    assert not proof["held"]
    assert proof["words"].startswith("not verified; resumed: 1 background CPU hog")


def test_what_is_saved_on_the_way_has_the_proof(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[dict[str, Any]] = []
    monkeypatch.setattr(rounds, "SAVE_EVERY_SECONDS", 0)
    monkeypatch.setattr(files, "write", lambda _, text: saved.append(json.loads(text)))
    args = ("--background", "1:hogs", "--rounds", "1", "--json", "r.json")
    world.run("sections", *LOCKS, *args)
    assert len(saved) == 7
    assert all(set(body["scenario"]["proof"]) == {"background"} for body in saved)


def test_signal_while_the_result_is_written_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "write", interrupting(files.write))
    done = world.run("sections", *LOCKS, "--rounds", "1", "--json", "r.json")
    assert done.returncode == 130
    assert world.read()["complete"]


def test_scenario_is_in_force_and_proven(world: World) -> None:
    world.world["seconds"] = 0.1
    args = ("--locks", "tas", "--baseline", "tas", "--threads", "2", "--rounds", "3")
    done = world.run("sections", *args, "--background", "1:hogs", "--json", "r.json")
    assert done.returncode == 0, done.stderr
    scenario = world.read()["scenario"]
    assert scenario["settings"] == {"background": "1:hogs"}
    assert scenario["proof"]["background"]["seen"]["running"] == 1
    assert "Scenario: 1 background CPU hog" in done.stdout
    assert "--background 1:hogs" in world.read()["command"]


def test_missing_peer_is_named(world: World) -> None:
    (world.native / "overlock-peers-ck.so").unlink(missing_ok=True)
    done = world.run("sections", "--locks", "ck_mcs")
    assert done.returncode == 3
    assert done.stderr.startswith("overlock: ck_mcs is not available: libck-dev was not installed")
    done = world.run("sections", *LOCKS, "--rounds", "1", "--json", "r.json")
    assert "Not available: " in done.stdout
    assert "ck_mcs" in world.read()["missing"]


def test_csv_has_a_line_for_each_cell(world: World) -> None:
    world.run("sections", *LOCKS, "--rounds", "2", "--csv", "r.csv")
    head, *lines = (world.results / "r.csv").read_text().splitlines()
    assert len(lines) == 12
    fields = dict(zip(head.split(","), lines[0].split(","), strict=True))
    assert float(fields["rate_per_second"]) == pytest.approx(1e6, rel=0.01)
    assert float(fields["p50_ns"]) == 100
    assert float(fields["queue"]) == 1.5
