# SPDX-License-Identifier: MIT
"""Programs that wait at barriers and for flags: their rates are read, and wrong work is told."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools.apps import app, asked, catalogue, executor, installing, models, redis, stencils
from overlock_tools.apps.app import Workspace
from overlock_tools.apps.executor import Setting
from overlock_tools.apps.trial import Broken
from overlock_tools.cli import main
from overlock_tools.core.model import results
from overlock_tools.core.model.histograms import Times
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.system import native
from overlock_tools.core.system.kernel_files import Tree
from overlock_tools.run import spins
from tests.mutant import changed

BENCHMARK = """\
====== GET ======
  20 requests completed in 0.01 seconds

Latency by percentile distribution:
0.000% <= 0.143 milliseconds (cumulative count 1)
50.000% <= 0.303 milliseconds (cumulative count 12)
75.000% <= 0.303 milliseconds (cumulative count 12)
100.000% <= 1.500 milliseconds (cumulative count 20)

Summary:
  throughput summary: 4000.00 requests per second
"""


def test_the_answer_of_a_driver_has_its_times() -> None:
    answer = asked.answered('{"work": 3, "seconds": 1.5, "wrong": "x", "ns": [[100, 2], [9, 1]]}')
    assert (answer.work, answer.seconds, answer.wrong) == (3, 1.5, "x")
    assert answer.latency == [[100, 2], [9, 1]]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        '{"work": 3, "seconds": 1, "wrong": ""}',
        '{"work": 0, "seconds": 1, "wrong": "", "ns": []}',
        '{"work": 3, "seconds": 0, "wrong": "", "ns": []}',
    ],
)
def test_an_answer_that_tells_no_rate_is_refused(said: str) -> None:
    with pytest.raises(Broken, match="driver"):
        asked.answered(said)


def test_redis_benchmark_tells_rate_and_times() -> None:
    answer = redis.answered(BENCHMARK)
    assert answer
    assert answer.work / answer.seconds == pytest.approx(4000)
    assert answer.latency == [[143_000, 1], [303_000, 11], [1_500_000, 8]]
    assert redis.answered(BENCHMARK.replace("throughput", "")) is None
    assert redis.answered("Could not connect to Redis") is None


@pytest.mark.parametrize(
    ("info", "wrong"),
    [
        ("cmdstat_get:calls=20,usec=3,rejected_calls=0,failed_calls=0", ""),
        ("cmdstat_get:calls=19,usec=3,rejected_calls=0,failed_calls=0", "but 19 are counted"),
        ("cmdstat_get:calls=20,usec=3,rejected_calls=0,failed_calls=2", "2 requests failed"),
        ("cmdstat_config|get:calls=20,usec=3,failed_calls=0", "but 0 are counted"),
    ],
)
def test_redis_has_to_have_counted_each_request(info: str, wrong: str) -> None:
    said = redis.miscounted(info, 20)
    assert wrong in said
    assert bool(wrong) == bool(said)


def worked(command: list[str], *seconds: str) -> list[dict[str, object]]:
    given = "".join(f"{each}\n" for each in seconds)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_driver_in_python_works_until_it_is_late(tmp_path: Path) -> None:
    driver = tmp_path / "driver.py"
    driver.write_text(
        "import time, asked\n"
        "n = 0\n"
        "def unit():\n    global n\n    n += 1\n    time.sleep(0.01)\n"
        "asked.serve(unit, lambda: f'{n} units')\n"
    )
    env = ["env", f"PYTHONPATH={app.SOURCES}"]
    first, second = worked([*env, sys.executable, str(driver)], "0", "0.1")
    assert (first["work"], first["wrong"]) == (1, "1 units")
    work, seconds = second["work"], second["seconds"]
    assert isinstance(work, int)
    assert isinstance(seconds, float)
    assert second["wrong"] == f"{1 + work} units"
    assert seconds >= max(0.1, 0.01 * work)
    times = second["ns"]
    assert isinstance(times, list)
    assert sum(count for _, count in times) == work
    assert all(ns >= 9_990_000 for ns, _ in times)
    assert sum(ns * count for ns, count in times) <= seconds * 1e9


BLAS = """\
void cblas_dgemm(int o, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc)
{
    for (int i = 0; i < m LESS; i++)
        for (int j = 0; j < n; j++) {
            c[i * ldc + j] = 0;
            for (int l = 0; l < k; l++)
                c[i * ldc + j] += a[i * lda + l] * b[l * ldb + j];
        }
}
"""


@pytest.mark.parametrize(("less", "wrong"), [("", ""), ("- 1", "the product is another")])
def test_a_library_that_multiplies_wrongly_is_told(less: str, wrong: str, tmp_path: Path) -> None:
    source, library = tmp_path / "blas.c", tmp_path / "blas.so"
    source.write_text(BLAS.replace("LESS", less))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    program = tmp_path / "dgemm"
    subprocess.run(["cc", app.SOURCES / "dgemm.c", "-o", program, "-ldl", "-lm"], check=True)
    for answer in worked([str(program), str(library), "20"], "0", "0.01"):
        assert answer["wrong"] == wrong
        times = answer["ns"]
        assert isinstance(times, list)
        assert sum(count for _, count in times) == answer["work"]


@pytest.mark.parametrize("team_forgets", [False, True])
def test_a_team_that_forgets_a_row_is_told(team_forgets: bool, tmp_path: Path) -> None:
    text = (app.SOURCES / "stencil.c").read_text()
    if team_forgets:
        row = "row = 1; row < side - 1; row++)\n"
        text = changed(text, (row, row.replace("row = 1;", "row = 1 + (team > 1);")))
    source, program = tmp_path / "stencil.c", tmp_path / "stencil"
    source.write_text(text)
    words = ["cc", "-fopenmp", f"-I{app.SOURCES}", str(source), "-o", str(program)]
    subprocess.run(words, check=True)
    (answer,) = worked([str(program), "16", "3", "2"], "0")
    assert bool(answer["wrong"]) == team_forgets


MUTANTS = {  # drivers of PyPI's programs: what is to be right, and what is computed wrongly
    "lightgbm": ("int(sys.argv[1]), data, labels", "int(sys.argv[1]), data, 1 - labels"),
    "onnxruntime": ("(last,) = team.run(None, given)", 'last = given["in"]'),
    "mpich": ("WORLD.Allreduce(MINE, SUM)", "SUM[:] = MINE"),
}


THREADS = {"lightgbm": 1, "onnxruntime": 1, "mpich": 2}  # more are slow on a busy machine


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("broken", [False, True])
def test_a_driver_that_computes_wrongly_is_told(name: str, broken: bool, tmp_path: Path) -> None:
    kind = catalogue.APPS[name]
    assert issubclass(kind, models.InPython)
    if lacking := kind.missing():
        pytest.skip(f"{', '.join(lacking)} is not here: overlock apps install {name}")
    one = kind(Workspace(tmp_path, {}, [2], executor.base(), None))
    text = one.source.read_text()
    source = tmp_path / "driver.py"
    source.write_text(changed(text, MUTANTS[name]) if broken else text)
    command = [
        str(source) if word == str(one.source) else word for word in one.command(THREADS[name])
    ]
    (answer,) = worked(["env", f"PYTHONPATH={app.SOURCES}", *command], "0")
    assert bool(answer["wrong"]) == broken


def test_a_model_that_says_something_else_is_told(tmp_path: Path) -> None:
    if lacking := models.Llama.missing():
        pytest.skip(f"{', '.join(lacking)} is not here: overlock apps install llama")
    one = models.Llama(Workspace(tmp_path, {}, [1], executor.base(), None))
    one.set_up()
    right = json.loads(one.right)
    assert len(set(right)) > 1
    for first, wrong in ((right[0], False), (right[0] + 1, True)):
        one.right = json.dumps([first, *right[1:]])
        (answer,) = worked(one.command(1), "0")
        assert bool(answer["wrong"]) == wrong


def test_npms_packages_are_installed_beside_pythons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (command,) = installing.node_modules([models.Llama, stencils.OnGnu])
    assert command[0] == str(models.Llama.node())
    assert command[-2:] == list(models.Llama.modules)
    assert models.Llama.modules[0] in models.Llama.missing()
    for module in models.Llama.modules:
        name, _, version = module.rpartition("@")
        package = models.Llama.module_folder() / "node_modules" / name / "package.json"
        package.parent.mkdir(parents=True)
        package.write_text(json.dumps({"version": version}))
    assert not set(models.Llama.modules) & set(models.Llama.missing())
    package.write_text(json.dumps({"version": "0.1"}))
    assert models.Llama.modules[1] in models.Llama.missing()


def test_spins_starts_the_program_as_overlock_run_does(tmp_path: Path) -> None:
    if not (native.folder() / spins.LIBRARY).exists():
        pytest.skip("it was built without run --spins")
    assert executor.checked("spins") == "spins"
    under = executor.under("spins", Setting(), tmp_path)
    command = ["run", "--spins", "--print", "env", "--", "/bin/true"]
    shown = subprocess.run(
        [sys.executable, "-m", "overlock_tools", *command],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for word in under.words()[1:]:
        assert word in shown


@pytest.mark.parametrize(
    ("stat", "told"),
    [("nr_periods 9\nnr_throttled 7\nthrottled_usec 5\n", 7), ("usage_usec 5\n", None), ("", None)],
)
def test_a_quota_tells_how_often_it_stopped_us(
    stat: str, told: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path / "sys/fs/cgroup/ours"
    group.mkdir(parents=True)
    (group / "cpu.stat").write_text(stat)
    (tmp_path / "proc/self").mkdir(parents=True)
    mount = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    (tmp_path / "proc/self/mountinfo").write_text(mount)
    (tmp_path / "proc/self/cgroup").write_text("0::/ours\n")
    monkeypatch.setattr(executor, "Tree", lambda: Tree(tmp_path))
    assert executor.throttled() == told


class Slow(asked.Asked):
    """A driver in a shell, which does its first unit only."""

    name = "slow"
    what = "a shell that answers once"
    unit = "answers"
    packages = ()
    programs = ("sh",)
    reach = "none"
    script = "asked.py"

    def command(self, threads: int) -> list[str]:
        answer = '{"work": 1, "seconds": 0.5, "wrong": "", "ns": [[500000000, 1]]}'
        return ["sh", "-c", f"read line; echo '{answer}'; sleep 3600"]


def measured(name: str, *words: str) -> list[Cell]:
    common = ["--threads", "1", "--rounds", "1", "--seconds", "0.2", "--warm-up", "0", "-o", "r"]
    main.run(["apps", "run", name, *common, *words])
    return results.from_file(Path(f"r/{name}.json")).cells


def test_a_program_that_spins_is_measured_with_its_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = (native.folder() / spins.LIBRARY).exists()
    variants = ["native", "GOMP_SPINCOUNT=0", *(["spins"] if there else [])]
    cells = measured("stencil-gnu", "--locks", ",".join(variants))
    assert {cell.variant for cell in cells} == set(variants)
    for cell in cells:
        assert (cell.wrong, cell.cut) == ("", False)
        assert cell.work >= 1
        assert Times([cell.latency]).count == cell.work
        assert (cell.throttled is None) == (executor.throttled() is None)


def test_a_program_that_does_not_answer_in_time_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(catalogue.APPS, Slow.name, Slow)
    monkeypatch.setattr(executor, "PATIENCE_SECONDS", 0.1)
    (cell,) = measured("slow", "--locks", "native")
    assert cell.cut
    assert cell.work == 1
