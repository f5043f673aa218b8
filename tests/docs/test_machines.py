# SPDX-License-Identifier: MIT
"""Machines side by side: from archives that somebody sent, by their names."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import machines
from overlock_tools.cli import main
from overlock_tools.core.model.collected import LIST, Collected
from overlock_tools.core.system import archive
from overlock_tools.core.system.errors import Fail

COSTS = b"[costs.hit]\nns = 1.5\n"
ABOUT = Collected("epyc-2", "1", "2026-11-28", 60, {})


@pytest.fixture(scope="module")
def rates(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("rates") / "rates.json"
    words = ["--locks", "ticket,tas", "--threads", "1,2x", "--rounds", "3", "--seconds", "0.02"]
    assert main.run(["bench", "sections", *words, "--if-busy", "warn", "--json", str(file)]) == 0
    return file.read_bytes()


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "FILE", tmp_path / "machines.json")
    monkeypatch.setattr(machines, "TOP", tmp_path)
    machines.load.cache_clear()


def sent(path: Path, name: str, files: dict[str, bytes]) -> str:
    listed = json.dumps(replace(ABOUT, name=name).to_json()).encode()
    archive.pack(path, {LIST: listed, **files})
    return str(path)


def test_archives_of_two_machines_are_shown_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rates: bytes
) -> None:
    files = {machines.SECTIONS: rates, machines.COSTS: COSTS}
    paths = [sent(tmp_path / f"{name}.tar.xz", name, files) for name in ("epyc-2", "xeon-16")]
    monkeypatch.setattr(sys, "argv", ["machines.py", *paths])
    assert machines.main() == 0
    for shown in (machines.facts_table, machines.rates_table):
        assert all(f"`{name}` |" in shown() for name in ("epyc-2", "xeon-16"))
    assert machines.rates_table().count("| `ticket` |") == 2
    assert "**" in machines.rates_table()  # more threads than CPUs
    assert "| `hit` | 1.5 | 1.5 |" in machines.costs_table()
    heading, _, ticket, _ = machines.left_table().splitlines()
    assert heading == "| lock | `epyc-2` | `xeon-16` |"
    assert ticket.startswith("| `ticket` |")


@pytest.mark.parametrize(
    ("name", "costs", "why"),
    [
        ("a|b", COSTS, "names no machine: a|b"),
        ("epyc-2", None, "has no machine.toml; collect the parts sections and calibrate"),
        ("epyc-2", b"costs = 1", "machine.toml is not of `overlock sim calibrate`"),
        ("epyc-2", b"[", "machine.toml is not of `overlock sim calibrate`"),
    ],
)
def test_what_is_not_of_collect_is_refused(
    tmp_path: Path, rates: bytes, name: str, costs: bytes | None, why: str
) -> None:
    files = {machines.SECTIONS: rates} | ({machines.COSTS: costs} if costs else {})
    path = sent(tmp_path / "a.tar.xz", name, files)
    with pytest.raises(Fail, match=re.escape(why)):
        machines.from_archive(Path(path))
