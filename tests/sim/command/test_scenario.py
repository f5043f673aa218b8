# SPDX-License-Identifier: MIT
"""What a scenario becomes, and how a bad one is refused: in one line, with its place."""

import pytest

from overlock_tools.sim import resolve, scenario, toml
from tests.sim.command.conftest import SCENARIO, Simulating


def test_every_value_is_told(real: Simulating) -> None:
    ticket, mcs = real.told("trial.toml")
    assert ticket["machine"]["cpus"] == 8
    assert ticket["machine"]["cores_per_socket"] == 8
    assert ticket["machine"]["costs"]["wake"] == 2500
    assert ticket["host"] == {
        "scheduler": "fair",
        "settings": ticket["host"]["settings"],
        "features": {},
    }
    assert ticket["host"]["settings"]["latency"] == 6000
    assert (ticket["seed"], ticket["time_us"], ticket["warm_up_us"]) == (1, 10_000, 100_000)
    (app,) = ticket["guests"]
    assert (app["name"], app["kind"], app["contexts"], app["lock"]) == (
        "app",
        "threads",
        4,
        "ticket",
    )
    assert app["parameters"]["sections_cs"] == 70
    assert app["parameters"]["sections_shape"] == 0
    assert app["tunables"]["tau"] == 400
    assert app["quota_us"] == "inf"
    assert mcs == {**ticket, "guests": [{**app, "lock": "mcs"}]}


def test_units_are_converted(real: Simulating) -> None:
    text = """
kind = "users"
vcpus = "2x"
settings = { tick_us = 1000 }
workload = "sections"
parameters = { cs_ns = 5, zipf = 1.5, shape = "pareto" }
tunables = { tau_ns = "inf", spin_ns = 7 }
quota_cpus = 1.5
period_ms = 10
weight = 2048
pinned = [0, 3]
told_slices = true
"""
    real.file.write_text(SCENARIO.replace("contexts = 4", 'contexts = "4x"') + text)
    (app,) = real.told("trial.toml")[0]["guests"]
    assert (app["contexts"], app["vcpus"]) == (32, 16)
    assert app["guest_scheduler"]["settings"]["tick"] == 1000
    assert app["parameters"]["sections_cs"] == 5
    assert app["parameters"]["sections_zipf"] == 1.5
    assert app["parameters"]["sections_shape"] == 3
    assert (app["tunables"]["tau"], app["tunables"]["spin"]) == ("inf", 7)
    assert (app["quota_us"], app["period_us"]) == (15_000, 10_000)
    assert (app["weight"], app["pinned"], app["told_slices"]) == (2048, [0, 3], True)


def test_features_of_the_host_are_told_with_their_presets(real: Simulating) -> None:
    host = "[host]\nscheduler = 'credit'\nfeatures = { ple = { window_ns = 9 }, balance = {} }\n"
    real.file.write_text(SCENARIO.replace("[[guest]]", f"{host}[[guest]]"))
    features = real.told("trial.toml", "--lock", "tas")[0]["host"]["features"]
    assert sorted(features) == ["balance", "ple"]
    assert (features["ple"]["window"], features["ple"]["gap"]) == (9, 49)


def test_copies_neighbours_and_fixed_locks(real: Simulating) -> None:
    more = '[[guest]]\nname = "b"\nlock = "tas@spin=3"\n[[guest]]\nworkload = "burn"\ncount = 2\n'
    real.file.write_text(SCENARIO + more)
    guests = real.told("trial.toml", "--locks", "mcs@tau=9")[0]["guests"]
    assert [(g["name"], g["lock"], g["workload"]) for g in guests] == [
        ("app", "mcs", "sections"),
        ("b", "tas", "sections"),
        ("guest3-1", "none", "burn"),
        ("guest3-2", "none", "burn"),
    ]
    assert guests[0]["tunables"]["tau"] == 9
    assert (guests[1]["tunables"]["tau"], guests[1]["tunables"]["spin"]) == (400, 3)


def test_options_change_it(real: Simulating) -> None:
    options = ["--set", "machine.cpus=2", "--set", "host.scheduler=round_robin"]
    options += ["--set", "guest.app.contexts=4x", "--set", "machine.costs.wake.ns=1"]
    told = real.told("trial.toml", *options, "--time", "3", "--seeds", "7,9", "--lock", "tas")
    assert len(told) == 1
    assert told[0]["machine"]["cpus"] == 2
    assert told[0]["machine"]["costs"]["wake"] == 1
    host = {"scheduler": "round_robin", "settings": {"slice": 10000}, "features": {}}
    assert told[0]["host"] == host
    assert told[0]["guests"][0]["contexts"] == 8
    assert (told[0]["time_us"], told[0]["seed"]) == (3000, 7)


def test_sweeps_make_a_grid(real: Simulating) -> None:
    sweep = '[sweep]\n"guest.app.contexts" = ["1x", "2x"]\nmachine.cpus = [2, 3]\n'
    real.file.write_text(SCENARIO + sweep)
    told = real.told("trial.toml", "--lock", "tas")
    pairs = [(run["machine"]["cpus"], run["guests"][0]["contexts"]) for run in told]
    assert sorted(pairs) == [(2, 2), (2, 4), (3, 3), (3, 6)]
    told = real.told("trial.toml", "--lock", "tas", "--set", "sweep.machine.cpus=[5]")
    assert {run["machine"]["cpus"] for run in told} == {5}


def test_machines_of_ones_own(real: Simulating) -> None:
    (real.folder / "m.toml").write_text(
        'title = "mine"\ncpus = 3\ntick_jitter_ns = 300\n'
        '[costs]\nhit = { ns = 2, source = "measured" }\n'
    )
    table = '{ base = "./m.toml", threads_per_core = 3, costs = { kick = { ns = 4 } } }'
    real.file.write_text(SCENARIO.replace('"typical"', table))
    machine = real.told("trial.toml")[0]["machine"]
    assert (machine["cpus"], machine["threads_per_core"], machine["cores_per_socket"]) == (3, 3, 1)
    assert (machine["costs"]["hit"], machine["costs"]["kick"]) == (2, 4)
    assert machine["tick_jitter_ns"] == 300
    (real.folder / "m.toml").write_text('title = "mine"\ncpus = 3\n[costs]\nhit = { ns = 2 }\n')
    done = real("trial.toml", "--print")
    assert done.stderr.endswith("m.toml:4: costs.hit: source is missing; add it\n")


def test_a_machine_that_an_option_names_is_sought_where_the_user_is(real: Simulating) -> None:
    (real.folder / "m.toml").write_text('title = "mine"\ncpus = 3\n')
    for setting in ("machine=./m.toml", "machine.base=./m.toml"):
        assert real.told("collapse", "--set", setting)[0]["machine"]["cpus"] == 3


BAD = {  # by what is added to the file: line, and what is said
    'lock = "tickett"': (9, "guest.app.lock: unknown lock 'tickett'; did you mean ticket?"),
    "contxts = 3": (9, "guest.app.contxts: unknown; did you mean contexts?"),
    'kind = "kernl"': (9, 'guest.app.kind: "kernl" is unknown; did you mean kernel?'),
    'workload = "burn"\nlock = "mcs"': (10, "guest.app.lock: the workload burn takes no lock;"),
    'lock = "none"': (9, "guest.app.lock: only the workload burn takes no lock;"),
    'kind = "users"': (6, "guest.app: vcpus is missing;"),
    "vcpus = 3": (9, "guest.app.vcpus: only guests of kind users have it;"),
    "pinned = [8]": (9, "guest.app.pinned: there is no CPU 8; the last of 8 CPUs is 7"),
    "weight = 0": (9, "guest.app.weight: 0 is too small; the least is 1"),
    "weight = 1.5": (9, "guest.app.weight: 1.5: expected"),
    "quota_cpus = 0": (9, "guest.app.quota_cpus: 0 is too small; expected more than 0"),
    "parameters = { cs = 3 }": (9, "guest.app.parameters.cs: unknown; did you mean cs_ns?"),
    "tunables = { tau_ns = -1 }": (9, "guest.app.tunables.tau_ns: -1 is too small;"),
    "tunables = { wait_slots = 3 }": (9, "guest.app.tunables.wait_slots: 3 is unknown;"),
    '[[guest]]\nname = "app"': (10, "guest.app.name: another guest has this name;"),
    '[[guest]]\nname = "a b"': (10, 'guest.a b.name: "a b": expected letters,'),
    '[host]\nscheduler = "fairr"': (10, 'host.scheduler: "fairr" is unknown; did you mean fair?'),
    "[host.settings]\nlatency = 3": (
        10,
        "host.settings.latency: unknown; did you mean latency_us?",
    ),
    '[host]\nscheduler = "round_robin"\nsettings.latency_us = 1': (
        11,
        "host.settings.latency_us: unknown; expected one of slice_us",
    ),
    "[hosts]": (9, "hosts: unknown; did you mean host?"),
    '[sweep]\n"guest.ap.contexts" = [1]': (10, "there is no guest ap; did you mean app?"),
    "[sweep]\nguest.app.contexts = [1, 0]": (10, "guest.app.contexts: 0 is too small;"),
    "[sweep]\nguest.app.contexts = 3": (10, "sweep.guest.app.contexts: 3: expected a list"),
    "[sweep]\nguest.app.contexts = []": (10, "sweep.guest.app.contexts: [] is empty;"),
    'workload = "mix"': (6, "guest.app: mix is missing;"),
    'workload = "mix"\nmix = "hackbnch"': (10, "guest.app.mix: there is no mix hackbnch; did you"),
    'mix = "hackbench"': (9, "guest.app.mix: only the workload mix has it;"),
    "contexts = 5": (9, "cannot overwrite a value"),
}


@pytest.mark.parametrize("added", BAD)
def test_bad_scenario_is_one_line_with_its_place(real: Simulating, added: str) -> None:
    real.file.write_text(f"{SCENARIO}{added}\n")
    done = real("trial.toml")
    line, said = BAD[added]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"overlock: trial.toml:{line}: {said}"), done.stderr
    assert done.stderr.count("\n") == 1


BAD_OPTIONS = {
    ("--set", "machine.cpu=3"): "--set machine.cpu=3: machine.cpu: unknown; did you mean cpus?",
    ("--set", "guest.x.contexts=3"): "--set guest.x.contexts=3: there is no guest x;",
    ("--set", "title.x=3"): "--set title.x=3: title.x: title is a value, not a table",
    ("--set", "x"): "--set x: expected PATH=VALUE,",
    (
        "--locks",
        "barrier",
    ): "--locks barrier: locks: barrier is a barrier, which only the workload rounds takes",
    ("--locks", "tickt"): "--locks tickt: locks: unknown lock 'tickt'; did you mean ticket?",
    ("--seeds", "x"): "--seeds x: expected a number of seeds, or a list",
    ("--set", 'baseline="tas"'): '--set baseline="tas": baseline: it is not among the locks;',
    (
        "--set",
        "machine.base=typcal",
    ): "--set machine.base=typcal: machine.base: there is no machine",
}


@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_bad_option_is_named(real: Simulating, options: tuple[str, str]) -> None:
    done = real("trial.toml", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"overlock: {BAD_OPTIONS[options]}"), done.stderr


def test_no_scenario(real: Simulating) -> None:
    assert "did you mean collapse?" in real("colapse").stderr
    assert (
        real("none.toml").stderr
        == "overlock: none.toml cannot be read: No such file or directory\n"
    )
    assert "name a scenario" in real("--quiet").stderr


def test_lines_of_all_kinds_of_toml() -> None:
    text = (
        'a.b = 1\n# c\n[x."y.z"] # d\nv = [1,\n 2, { w = 3 }]\n\n[[t]]\n[[t.u]]\n[[t.u]]\nk = 0\n'
    )
    found = toml.lines(text)
    assert found["a", "b"] == 1
    assert found["x", "y.z"] == 3
    assert (found["x", "y.z", "v"], found["x", "y.z", "v", 1]) == (4, 5)
    assert found["x", "y.z", "v", 2, "w"] == 5
    assert (found["t", 0], found["t", 0, "u", 0], found["t", 0, "u", 1, "k"]) == (7, 8, 10)


def test_mixes_are_told(real: Simulating) -> None:
    real.file.write_text(SCENARIO + 'workload = "mix"\nmix = "hackbench"\n')
    (app,) = real.told("trial.toml")[0]["guests"]
    assert app["mix"]["sections"] == 12
    assert [lock["name"] for lock in app["mix"]["locks"]] == ["hot", "others", "others-irqs-off"]
    assert "source" not in str(app)
    think = app["mix"]["think"]["mean_ns"]
    (app,) = real.told("trial.toml", "--set", "guest.app.parameters.think_percent=50")[0]["guests"]
    assert app["mix"]["think"]["mean_ns"] == round(think / 2)


@pytest.mark.parametrize(
    ("name", "schedulers", "quota", "busy"),
    [
        ("barriers", ["eevdf", "fair"], None, 0),
        ("barriers-quota", ["eevdf"], 0.25, 0),
        ("barriers-neighbours", ["eevdf"], None, 1),
    ],
)
def test_the_ready_barriers_differ_in_what_they_have_to_share(
    name: str, schedulers: list[str], quota: float | None, busy: int
) -> None:
    asked = scenario.load(name, [])
    assert asked.locks == list(scenario.subjects(asked.values))
    assert len(asked.seeds) == 3
    seen = []
    for place in resolve.places(asked):
        told = resolve.told(place, "barrier", 1)
        cpus, (app, *others) = told["machine"]["cpus"], told["guests"]
        seen.append((told["host"]["scheduler"], cpus, app["contexts"] // cpus))
        assert (app["workload"], app["parameters"]["rounds_work"]) == ("rounds", 1000)
        assert app["quota_us"] == (quota * cpus * 100_000 if quota else "inf")
        assert [(o["workload"], o["contexts"]) for o in others] == [("burn", cpus)] * busy
        if quota:  # whole periods are counted, and some pass before
            assert [told[time] / app["period_us"] for time in ("warm_up_us", "time_us")] == [5, 5]
    sizes = [2, 4, 8, 16, 32, 64, 128]
    assert seen == [(host, n, each) for host in schedulers for n in sizes for each in (1, 4)]
