# SPDX-License-Identifier: MIT
"""What the programs' work is checked by, with work that is wrong; pbzip2 and LevelDB for real."""

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.apps import (
    app,
    dns,
    dpdk,
    dvdstore_web,
    leveldb,
    mariadb,
    memcached,
    openmp,
    openmp_programs,
    pbzip2,
    pgbench,
    processes,
    pyomp,
    rocksdb,
    servers,
    web,
)
from overlock_tools.apps.app import App, Workspace
from overlock_tools.apps.catalogue import APPS
from overlock_tools.apps.executor import NATIVE, Setting, base, ready
from overlock_tools.apps.probe import Fact
from overlock_tools.apps.trial import Trial
from overlock_tools.cli import main
from overlock_tools.core.model import results
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.system import native
from tests.mutant import changed


def needs(kind: type[App]) -> None:
    if lacking := kind.missing():
        pytest.skip(f"{', '.join(lacking)} is not here: overlock apps install {kind.name}")


def workspace(folder: Path, kind: type[App], **parameters: str) -> Workspace:
    return Workspace(folder, kind.parameters(parameters), [2], base(), None)


@pytest.mark.parametrize("kind", APPS.values(), ids=list(APPS))
def test_says_what_a_reader_needs(kind: type[App]) -> None:
    assert kind.what
    assert kind.reach
    assert kind.unit
    assert kind.packages
    assert kind.programs or kind.driver
    if kind.control:
        assert kind.reach.startswith("none")


def test_pbzip2_with_two_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(pbzip2.Pbzip2)
    monkeypatch.chdir(tmp_path)
    words = ["--locks", "tas_yield,preemptable_ticket", "--threads", "4", "--rounds", "1"]
    words += ["--seconds", "0.3", "--parameter", "megabytes=1", "-o", "r", "--no-pilot"]
    assert main.run(["apps", "run", "pbzip2", *words]) == 0
    found = results.from_file(Path("r/pbzip2.json"))
    assert {cell.variant for cell in found.cells} == {"native", "tas_yield", "preemptable_ticket"}
    for cell in found.cells:
        assert not cell.wrong
        assert cell.work % 1_000_000 == 0
        assert cell.cpu_seconds > 0
    assert set(found.native["in_force"]) == {"tas_yield", "preemptable_ticket"}
    assert main.run(["report", "r", "-o", "r.html"]) == 0
    assert "pbzip2" in Path("r.html").read_text()


def test_pbzip2s_locks_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(pbzip2.Pbzip2)
    monkeypatch.chdir(tmp_path)
    words = ["--threads", "4", "--seconds", "0.2", "--json", "csd.json"]
    assert main.run(["apps", "csd", "pbzip2", *words]) == 0
    (held,) = json.loads(Path("csd.json").read_text())["programs"]
    assert held["count"] > 40  # blocks, at the least
    assert 0 < held["median_ns"] <= held["p99_ns"] <= held["longest_ns"]
    assert 1 >= held["over_1_us"] >= held["over_mean_csd"] >= held["over_csd"] >= 0


def test_pbzip2_that_loses_a_block_is_told(tmp_path: Path) -> None:
    needs(pbzip2.Pbzip2)
    one = pbzip2.Pbzip2(workspace(tmp_path, pbzip2.Pbzip2, megabytes="1"))
    one.set_up()
    packed = subprocess.run(one._command(2), capture_output=True, check=True).stdout
    right, less = tmp_path / "right", tmp_path / "less"
    right.write_bytes(packed)
    first = packed.index(b"BZh9", 1)  # where the second block's stream begins
    less.write_bytes(packed[first:])
    assert one._wrong([right]) == ""
    assert "does not decompress" in one._wrong([right, less])
    less.write_bytes(packed[:-100])
    assert one._wrong([less])


def test_leveldb_verifies_every_value(tmp_path: Path) -> None:
    """The mutant's data base lacks keys that are looked up, or has another's value."""
    needs(leveldb.LevelDb)
    one = leveldb.LevelDb(workspace(tmp_path, leveldb.LevelDb, entries="2000"))
    one.set_up()
    with ready(Setting()) as rig:
        for entries, wrong in (("2000", False), ("4000", True)):
            one.entries = entries
            place = processes.Place(rig.folder / entries, base())
            place.folder.mkdir()
            barrier = threading.Barrier(1)
            trial = Trial(place, 2, 0.2, 0.0, 1, 30, processes.NATIVE, barrier)
            try:
                answer = one.cell(trial)
            finally:
                trial.close()
            assert answer.work == sum(answer.per_thread) > 0
            assert bool(answer.wrong) is wrong, answer.wrong


SUMS = ["7", "7", "3", "3", "99", "99"]


@pytest.mark.parametrize("kernel", openmp.KERNELS, ids=lambda kernel: kernel.name)
def test_openmps_kernels_compute_what_one_thread_does(kernel: type[openmp.Kernel]) -> None:
    needs(kernel)
    command = [openmp.DRIVER.built(), kernel.kernel, "2000", "4"]
    launcher = str(native.file("overlock"))
    for before in ([], ["env", "KMP_LOCK_KIND=tas"], [launcher, "run", "--"]):
        said = subprocess.run([*before, *command], capture_output=True, text=True, check=True)
        assert not openmp.wrong(said.stdout)
        assert openmp.took(said.stdout)


def test_a_kernel_whose_sections_are_left_out_is_told(tmp_path: Path) -> None:
    needs(openmp.MonteCarlo)
    text = openmp.DRIVER.source.read_text()
    others = "\t\tif (!omp_get_thread_num())\n"  # leave it out
    section = ("#pragma omp critical\n{ mine = state++;", f"{others}{{ mine = state++;")
    (tmp_path / "mutant.c").write_text(changed(text, section))
    mutant = str(tmp_path / "mutant")
    command = ["gcc", "-O1", "-fopenmp", str(tmp_path / "mutant.c"), "-o", mutant]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    said = subprocess.run(
        [mutant, "montecarlo", "2000", "4"], capture_output=True, text=True, check=True
    )
    assert "one thread" in openmp.wrong(said.stdout)


def test_a_setting_of_the_program_is_a_variant(tmp_path: Path, capfd: Any) -> None:
    needs(openmp.Histogram)
    words = ["--locks", "KMP_LOCK_KIND=tas,tas_yield", "--threads", "2", "--rounds", "1"]
    words += ["--seconds", "0.2", "--parameter", "items=20000", "-o", str(tmp_path / "r")]
    assert main.run(["apps", "run", "omp-histogram", *words, "--if-busy", "warn"]) == 0
    found = json.loads((tmp_path / "r/omp-histogram.json").read_text())
    assert {cell["variant"] for cell in found["cells"]} == {
        "native",
        "KMP_LOCK_KIND=tas",
        "tas_yield",
    }
    assert found["native"]["in_force"].keys() <= {"tas_yield"}
    assert "Not verified because the program ended too soon: KMP" not in capfd.readouterr().out


@pytest.mark.parametrize("kind", pyomp.KERNELS, ids=lambda kind: kind.name)
def test_numbas_kernels_run_on_libomp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[pyomp.Kernel]
) -> None:
    """What they compile while they run calls what is replaced."""
    needs(kind)
    monkeypatch.chdir(tmp_path)
    words = ["--locks", "tas_yield", "--threads", "4", "--rounds", "1", "--seconds", "0.2"]
    words += ["--counters", "--no-pilot", "-o", "r", "--if-busy", "warn"]
    assert main.run(["apps", "run", kind.name, *words]) == 0
    cells = {cell.variant: cell for cell in results.from_file(Path(f"r/{kind.name}.json")).cells}
    assert not any(cell.wrong for cell in cells.values())
    assert cells["tas_yield"].events["ACQUIRE"] >= cells["tas_yield"].work


@pytest.mark.parametrize("kind", pyomp.KERNELS, ids=lambda kind: kind.name)
def test_a_kernel_of_numbas_that_loses_an_item_is_told(
    tmp_path: Path, kind: type[pyomp.Kernel]
) -> None:
    needs(kind)
    begin, end, section = "def {}(points: Numbers", "def {}_of_one", "sums[c, 0] += 1\n"
    before, after = pyomp.SOURCE.read_text().split(begin.format(kind.kernel))
    assert section in after.split(end.format(kind.kernel))[0]
    (tmp_path / "mutant.py").write_text(
        before + begin.format(kind.kernel) + after.replace(section, "sums[c, 0] += i > 0\n", 1)
    )
    command = [str(kind.python()), str(tmp_path / "mutant.py"), kind.kernel, "2000", "4"]
    said = subprocess.run(command, input="0.1\n", capture_output=True, text=True, check=True)
    assert "one thread" in pyomp.answered(said.stdout.splitlines()[1]).wrong


def test_what_a_kernel_of_numbas_says() -> None:
    assert pyomp.answered("6000 0.5 right") == Answer(6000, 0.5)
    assert pyomp.answered("6000 0.5 wrong").wrong


SMALL = {"reads": "2000", "pairs": "500", "bases": "100000"}
# velveth's 4^12 locks take libomp many seconds, even without a read.
QUICK = [kind for kind in openmp_programs.PROGRAMS if kind is not openmp_programs.Velveth]


def small(folder: Path, kind: type[openmp_programs.OnLibomp]) -> openmp_programs.OnLibomp:
    return kind(workspace(folder, kind, **{n: SMALL[n] for n in kind.presets}))


@pytest.mark.parametrize("kind", QUICK, ids=lambda kind: kind.name)
def test_debians_openmp_programs_run_on_libomp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[openmp_programs.OnLibomp]
) -> None:
    """`overlock run` leaves libgomp's locks alone: what it counts is libomp's."""
    needs(kind)
    monkeypatch.chdir(tmp_path)
    words = ["--locks", "tas_yield", "--threads", "4", "--rounds", "1", "--seconds", "0.2"]
    (size,) = kind.presets
    words += ["--parameter", f"{size}={SMALL[size]}", "--counters", "--no-pilot", "-o", "r"]
    assert main.run(["apps", "run", kind.name, *words, "--if-busy", "warn"]) == 0
    cells = {cell.variant: cell for cell in results.from_file(Path(f"r/{kind.name}.json")).cells}
    assert not any(cell.wrong for cell in cells.values())
    assert cells["tas_yield"].events["ACQUIRE"] > 1000


def test_results_may_come_in_any_order(tmp_path: Path) -> None:
    """But are whole: of each program, what is right, and what a thread without a lock could do."""
    out = tmp_path / "out"
    files = openmp_programs.files_of(out)

    def result(kind: type[openmp_programs.OnLibomp], name: str, text: str) -> str:
        (out if name == "out" else files / name).write_text(text)
        return small(tmp_path, kind).result(out)

    def different(kind: type[openmp_programs.OnLibomp], name: str, *texts: str) -> bool:
        return len({result(kind, name, text) for text in texts}) == len(texts)

    of_map = openmp_programs.AbyssMap, "out"
    assert result(*of_map, "@PG -j1\nb 1\na 2\n") == result(*of_map, "@PG -j8\na 2\nb 1\n")
    assert different(*of_map, "a 2\nb 1\n", "a 2\nb 2\n", "a 2\n", "a 2\na 2\nb 1\n")
    assert different(openmp_programs.AbyssBloom, "bloom", "\3", "\1")
    joined = openmp_programs.Konnector, "joined"
    assert result(*joined, ">1\nACG\n") == result(*joined, "ACG\n>1\n")
    assert different(*joined, ">1\nACG\n", ">1\nACT\n", ">1\n")
    (files / "taxonomy").write_text("1")
    assert different(openmp_programs.Kraken2Build, "hash", "\3", "\1")
    # 30 k-mers of read 2 had been in read 1, or the other way round.
    roadmaps = openmp_programs.Velveth, "Roadmaps"
    seen = result(*roadmaps, "2\t0\t31\t1\nROADMAP 1\nROADMAP 2\n1\t0\t40\t70\n")
    assert seen == result(*roadmaps, "2\t0\t31\t1\nROADMAP 2\nROADMAP 1\n-2\t0\t70\t40\n")
    assert seen != result(*roadmaps, "2\t0\t31\t1\nROADMAP 1\nROADMAP 2\n1\t0\t41\t70\n")
    contigs = openmp_programs.Velvetg, "contigs.fa"
    assert result(*contigs, ">1\nAAC\nGG\n>2\nTT\n") == result(*contigs, ">7\nAA\n>9\nCCGTT\n")
    assert different(*contigs, ">1\nAACGG\n", ">1\nAACGC\n", ">1\nAACG\n")


def test_a_wrong_result_is_told(tmp_path: Path) -> None:
    needs(openmp_programs.AbyssMap)
    one = small(tmp_path, openmp_programs.AbyssMap)
    one.set_up()
    right, lost = tmp_path / "right", tmp_path / "lost"
    assert right.read_text().count("\n") > int(SMALL["reads"])  # and a header
    lost.write_text(right.read_text()[: -len(right.read_text().splitlines()[-1]) - 1])
    assert one.wrong([right]) == ""
    assert "one thread" in one.wrong([right, lost])


@pytest.mark.parametrize(
    ("sums", "said", "wrong"),
    [
        (SUMS, "purchases: 1\npurchases: 2\n", ""),
        (["7", "8", *SUMS[2:]], "purchases: 3", "pieces sold and ordered: 7 and 8"),
        ([*SUMS[:3], "4", "99", "99"], "purchases: 3", "orders and customers' orders: 3 and 4"),
        ([*SUMS[:5], "98"], "purchases: 3", "sums of orders and of their lines: 99 and 98"),
        (SUMS, "purchases: 2", "2 purchases were committed, but there are 3 orders"),
    ],
)
def test_the_dvd_stores_books_have_to_balance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sums: list[str], said: str, wrong: str
) -> None:
    one = mariadb.DvdStore(workspace(tmp_path, mariadb.DvdStore))
    monkeypatch.setattr(one, "sql", lambda *_: [sums])
    assert one.wrong(tmp_path, said) == wrong


PAGES = (
    "Time taken for tests:   2.001 seconds\nComplete requests:      500\n"
    "Failed requests:        {}\nKeep-Alive requests:    500\n"
)


def test_pages_that_fail_are_told(tmp_path: Path) -> None:
    one = dvdstore_web.DvdStoreWeb(workspace(tmp_path, dvdstore_web.DvdStoreWeb))
    answer = one.answered(PAGES.format(0))
    assert answer is not None
    assert (answer.work, answer.seconds, answer.wrong) == (500, 2.001, "")
    answer = one.answered(PAGES.format(3) + "Non-2xx responses:      2\n")
    assert answer is not None
    assert answer.wrong == "Failed requests 3, Non-2xx responses 2"
    assert one.answered("apr_socket_recv: Connection refused") is None


def test_sysbenchs_tables_keep_their_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = mariadb.SysbenchOltp(workspace(tmp_path, mariadb.SysbenchOltp, tables="1", rows="10"))
    answers: list[Any] = [[["10"]], [["overlock.sbtest1", "check", "status", "OK"]]]
    monkeypatch.setattr(one, "sql", lambda *_: answers.pop(0))
    assert one.wrong(tmp_path, "") == ""
    answers += [[["9"]]]
    assert one.wrong(tmp_path, "") == "sbtest1 has 9 rows, not 10"
    answers += [[["10"]], [["overlock.sbtest1", "check", "error", "Corrupt"]]]
    assert one.wrong(tmp_path, "") == "sbtest1: Corrupt"


@pytest.mark.parametrize(
    ("sums", "wrong"),
    [
        ("5|5|5|5|12", ""),
        ("5|5|6|5|12", "the sums of accounts, tellers, branches and history are 5, 5, 6, 5"),
        ("5|5|5|5|11", "12 transactions were done, but 11 are recorded"),
    ],
)
def test_pgbenchs_money_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sums: str, wrong: str
) -> None:
    one = pgbench.Pgbench(workspace(tmp_path, pgbench.Pgbench))
    monkeypatch.setattr(one, "_sql", lambda *_: sums)
    assert one._wrong(tmp_path, 12) == wrong


@pytest.mark.parametrize(
    ("counted", "wrong"),
    [
        ("12", ""),
        ("11", "12 SELECTs were done, but 11 are counted"),
        ("", "12 SELECTs were done, but 0 are counted"),
    ],
)
def test_each_select_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: str, wrong: str
) -> None:
    one = pgbench.PgbenchSelect(workspace(tmp_path, pgbench.PgbenchSelect))
    monkeypatch.setattr(one, "_sql", lambda *_: counted)
    assert one._wrong(tmp_path, 12) == wrong


DNSPERF = """\
Statistics:

  Queries sent:         1000
  Queries completed:    {done} (99.90%)
  Queries lost:         {lost} (0.10%)

  Response codes:       {codes}
  Average packet size:  request 35, response 51
  Run time (s):         2.000100
  Queries per second:   500.000000
"""


@pytest.mark.parametrize(
    ("codes", "wrong"),
    [
        ("NOERROR 500 (50.05%), NXDOMAIN 499 (49.95%)", ""),
        (
            "NOERROR 501 (50.15%), NXDOMAIN 498 (49.85%)",
            "501 names exist and 498 do not, of as many of both",
        ),
        ("NOERROR 999 (100.00%)", "999 names exist and 0 do not, of as many of both"),
        ("NOERROR 499 (49.95%), SERVFAIL 1 (0.10%), NXDOMAIN 499 (49.95%)", "1 answers SERVFAIL"),
    ],
)
def test_every_other_name_exists(codes: str, wrong: str) -> None:
    answer = dns.answered(DNSPERF.format(done=999, lost=1, codes=codes))
    assert answer is not None
    assert (answer.work, answer.seconds, answer.wrong) == (999, 2.0001, wrong)


def test_a_load_without_answers_is_a_failure() -> None:
    assert dns.answered(DNSPERF.format(done=0, lost=9, codes="")) is None
    assert dns.answered("Error: sendto failed") is None


def test_names_have_their_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a server that has another's address, lacks one, or gives one to a name that is none."""
    one = dns.Knot(workspace(tmp_path, dns.Knot, names="300"))
    assert [dns.value(n) for n in (0, 299, 65536)] == ["10.0.0.0", "10.0.1.43", "10.1.0.0"]
    answers = [dns.value(n) for n in range(dns.CHECKED)]

    def wrong(*said: str) -> str:
        monkeypatch.setattr(app, "natively", lambda *_: "\n".join(said).encode())
        return one._wrong(["dig"], dns.CHECKED)

    assert wrong(*answers) == ""
    other = wrong(*answers[:7], "10.0.0.9", *answers[8:])
    assert other == "n7.overlock.example is 10.0.0.9, not 10.0.0.7"
    assert wrong(*answers[:-1]) == "49 addresses were found of 50 names"
    assert wrong(*answers, "10.0.0.50") == "51 addresses were found of 50 names"
    text = dns.zone(300)
    assert text.count(" A 10.") == dns.queries(300).count("\nno") == 300


H2LOAD = """\
finished in {took}, 250.00 req/s, 100KB/s
requests: 500 total, 500 started, 500 done, {good} succeeded, {bad} failed, 0 errored, 0 timeout
status codes: {good} 2xx, 0 3xx, 0 4xx, {bad} 5xx
traffic: 100KB (102400) total, 10KB (10240) headers (space savings 0.00%), 62KB ({data}) data
"""
PAGES_BYTES = 500 * len(web.BODY)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({}, ""),
        ({"good": 499, "bad": 1}, "1 failed"),
        ({"data": PAGES_BYTES - 1}, f"{PAGES_BYTES - 1} bytes of 500 pages of 128"),
    ],
)
def test_pages_are_whole(values: dict[str, int], wrong: str) -> None:
    said = H2LOAD.format(**{"took": "2.00s", "good": 500, "bad": 0, "data": PAGES_BYTES, **values})
    answer = web.answered(said)
    assert answer is not None
    assert (answer.work, answer.seconds, answer.wrong) == (values.get("good", 500), 2.0, wrong)


def test_h2loads_times_have_units() -> None:
    said = H2LOAD.format(took="980.5ms", good=500, bad=0, data=PAGES_BYTES)
    answer = web.answered(said)
    assert answer is not None
    assert answer.seconds == 0.9805
    assert web.answered("connection refused") is None


def test_each_request_is_counted_once() -> None:
    assert web.miscounted(100, 100) == ""
    assert web.miscounted(100, 100 + web.CONNECTIONS) == ""
    assert web.miscounted(100, 99) == "100 requests were done, but 99 are counted"
    assert web.miscounted(100, 1000) == "100 requests were done, but 1000 are counted"


def test_servers_have_addresses_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for pid in (1, 255, 256, 65535, 65536, 4194304):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        found[pid] = servers.address()
    assert found[1] == "127.64.0.1"
    assert found[4194304] == "127.128.0.0"
    assert len(set(found.values())) == len(found)
    ports = [servers.port() for _ in range(5)]
    assert len(set(ports)) == 5
    assert set(ports) <= set(servers.PORTS)


TESTPMD = (
    "+++ Accumulated forward statistics for all ports+++\n"
    "  RX-packets: {received}     RX-dropped: 0     RX-total: {received}\n"
    "  TX-packets: {sent}     TX-dropped: {dropped}     TX-total: {total}\n"
    "mempool <mb_pool_0>@0x10f8b2d80\n  common_pool_count={buffers}\n"
)
PACKETS = {"received": 90, "sent": 80, "dropped": 10, "total": 90, "buffers": 64}


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({}, ""),
        ({"sent": 70, "total": 80}, "90 packets were received, but 80 sent"),
        ({"buffers": 63}, "63 of 64 buffers are in the pool"),
        ({"buffers": 65}, "65 of 64 buffers are in the pool"),
    ],
)
def test_packets_and_buffers_are_kept(values: dict[str, int], wrong: str) -> None:
    answer = dpdk.answered(TESTPMD.format(**{**PACKETS, **values}), 2.0, 64)
    assert (answer.work, answer.seconds, answer.wrong) == (90, 2.0, wrong)


@pytest.mark.parametrize(
    ("said", "has"),
    [
        ("knotd (Knot DNS), version 3.2.6\n", False),
        ("knotd, Knot DNS 3.4.0\n", True),
        ("knotd, Knot DNS 3.5.8\n", True),
        ("knotd, Knot DNS 4.0.1\n", True),
        ("?", False),
    ],
)
def test_knot_is_told_its_second_limit_if_it_knows_it(said: str, has: bool) -> None:
    assert dns.has_instant_limit(said) == has


# What DPDK 22.11 says, and 25.11, which have no common command for their pools.
TALKS = """#!/usr/bin/env python3
import sys
for line in sys.stdin:
    word = line.strip()
    if word.startswith("show port"):
        print("Number of available ports: 1")
    elif word == "start":
        print("io packet forwarding - ports=1")
    elif word == "stop":
        print("Telling cores to stop...\\n{forwarded}")
    elif word == "{dump}":
        print("mempool <mb_pool_0>\\n  common_pool_count=16384\\n  no pool_count=0")
    elif word == "quit":
        break
    else:
        print("Command not found")
    sys.stdout.flush()
"""


@pytest.mark.parametrize("dump", ["dump_mempool mb_pool_0", "dump mempool mb_pool_0"])
def test_testpmd_of_each_release_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dump: str
) -> None:
    program = tmp_path / "dpdk-testpmd"
    forwarded = TESTPMD.format(**{**PACKETS, "sent": 90, "dropped": 0}).partition("mempool")[0]
    text = TALKS.format(dump=dump, forwarded=forwarded.replace("\n", "\\n"))
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(dpdk.Testpmd, "service", False)  # another user may not read this folder
    monkeypatch.chdir(tmp_path)
    words = ["--locks", "tas_yield", "--threads", "2", "--rounds", "1", "--seconds", "0.2"]
    assert main.run(["apps", "run", "testpmd", *words, "-o", "r"]) == 0
    (*cells,) = results.from_file(Path("r/testpmd.json")).cells
    assert {(cell.variant, cell.work) for cell in cells} == {("native", 90), ("tas_yield", 90)}


REAL = [web.HaProxy, web.Nginx, dns.Unbound, dns.Knot, pgbench.PgbenchSelect, dpdk.TestpmdStack]


@pytest.mark.parametrize("kind", REAL, ids=[kind.name for kind in REAL])
def test_servers_of_the_survey_for_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[App]
) -> None:
    """Two copies at a time, so that their addresses are distinct."""
    needs(kind)
    monkeypatch.chdir(tmp_path)
    words = ["--locks", "tas_yield", "--threads", "4", "--rounds", "1", "--neighbours", "2"]
    words += ["--seconds", "1", "--warm-up", "0", "--no-pilot", "-o", "r"]
    assert main.run(["apps", "run", kind.name, *words]) == 0
    found = results.from_file(Path(f"r/{kind.name}.json"))
    assert {cell.variant for cell in found.cells} == {"native", "tas_yield"}
    for cell in found.cells:
        assert not cell.wrong
        assert cell.work > 0
    assert set(found.native["in_force"]) == {"tas_yield"}


MEMCASLAP = (
    "get_misses: {}\nverify_misses: 0\nverify_failed: {}\nRun time: 2.0s Ops: 500 TPS: 250\n"
)


def test_memcaslaps_complaints_are_heard() -> None:
    answer = memcached._answer(MEMCASLAP.format(0, 0))
    assert answer is not None
    assert (answer.work, answer.seconds, answer.wrong) == (500, 2.0, "")
    answer = memcached._answer(MEMCASLAP.format(1, 3))
    assert answer is not None
    assert answer.wrong == "get_misses 1, verify_failed 3"
    assert memcached._answer("no server") is None


def test_rocksdbs_line_says_what_was_not_found() -> None:
    said = (
        "readwhilewriting :   1.5 micros/op 600000 ops/sec 2.001 seconds 1200600 operations;   "
        "66.5 MB/s (150000 of 150075 found)\n"
    )
    found = rocksdb.LINE.search(said)
    assert found
    assert found.groups() == ("2.001", "1200600", "150000", "150075")


def counted(**events: int) -> Cell:
    cell = Cell(1, "tas", 4, 1, 2.0, 1.0, events=events)
    cell.wait_ns = events.get("wait_ns", 0)
    return cell


def test_facts_say_whether_a_lock_matters() -> None:
    second = 10**9
    contended = Fact.of("a", counted(ACQUIRE=1000, SLOW_PATH=250, wait_ns=2 * second))
    assert (contended.per_second, contended.waited, contended.waiting) == (500, 0.25, 0.25)
    assert contended.words == "matters"
    assert Fact.of("b", counted(ACQUIRE=1000)).words == "hardly matters"
    assert Fact.of("c", counted(ACQUIRE=1)).words == "none is replaced"
    assert Fact.of("d", counted()).words == "none is replaced"


def test_clients_time_is_counted(tmp_path: Path) -> None:
    """Also if they have ended; what was used before the counted time is not."""
    place = processes.Place(tmp_path, base())
    trial = Trial(place, 1, 0.1, 0.0, 1, 10, processes.NATIVE, threading.Barrier(1))
    burn = ["/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"]
    try:
        assert trial.start(burn, locked=False).ended(60)
        trial.begin()
        client = trial.start(burn, locked=False)
        assert client.ended(60)
        trial.end(Answer(1, 1.0))
    finally:
        trial.close()
    assert trial.used.cpu_seconds == client.used.cpu_seconds > 0


def test_native_is_a_variant() -> None:
    assert processes.NATIVE.variant == NATIVE
    assert not processes.NATIVE.words()
    assert app.found("sh")
