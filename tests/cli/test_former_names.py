# SPDX-License-Identifier: MIT
"""A name that a lock had before is taken for the lock, and said once; in older files, unsaid.

A command's former name is refused, with the name of now.
"""

import json
from pathlib import Path

import pytest

from overlock_tools.core.model import defs, results
from overlock_tools.run import config
from overlock_tools.sim import grid
from tests.command import SHORT, Overlock

OLD, NOW = next(iter(defs.load().aliases.items()))
SAID = f"overlock: the lock {OLD} is called {NOW} now; use the new name\n"
SCENARIO = f"""\
machine = "typical"
locks = ["{OLD}@prompt=20000", "ticket"]
baseline = "{OLD}@prompt=20000"
time_ms = 1

[[guest]]
name = "app"

[[guest]]
name = "other"
lock = "{OLD}"
"""
SITES = f'lock = "{OLD}"\n[[site]]\npattern = "x*"\nlock = "{OLD}"\n'
SMALL = ("--size", "2x1", "--scenario", "lock")
MEASURED = ("--threads", "1", *SHORT, "--json", "r.json")
TRUE = ("--", "true")
COMMANDS = {
    "bench": ("bench", "sections", "--locks", f"{OLD},{OLD}@lease=1000", *MEASURED),
    "bench, baseline": ("bench", "sections", "--lock", "tas", "--baseline", OLD, *MEASURED),
    "check": ("check", OLD, *SMALL, "--json", "r.json"),
    "sim": ("sim", "s.toml", "--json", "r.json"),
    "sim, option": ("sim", "s.toml", "--set", f'locks=["tas","{OLD}"]', "--json", "r.json"),
    "run": ("run", "--lock", OLD, "--site", f"y*={OLD}", *TRUE),
    "run, file": ("run", "--config", "locks.toml", *TRUE),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_command(overlock: Overlock, tmp_path: Path, command: str) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "locks.toml").write_text(SITES)
    done = overlock(*COMMANDS[command])
    assert done.returncode == (4 if command == "check" else 0), done.stderr  # 4: there is more
    assert done.stderr.count(SAID) == 1, done.stderr
    assert OLD not in done.stderr.replace(SAID, "").replace("overlock:", "")
    if (tmp_path / "r.json").exists():
        text = (tmp_path / "r.json").read_text()
        assert f'"{NOW}' in text
        assert f'"{OLD}"' not in text
        assert f'"{OLD}@' not in text


@pytest.mark.parametrize(
    ("words", "now"),
    [
        (("sim", "papers", "--only", "long"), "reproduce --by simulated"),
        (("guest", "paper"), "reproduce --by guest"),
    ],
)
def test_a_former_command_names_the_one_of_now(
    overlock: Overlock, words: tuple[str, ...], now: str
) -> None:
    done = overlock(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"`overlock {' '.join(words[:2])}` is `overlock {now}` now" in done.stderr
    assert done.stderr.count("\n") == 1


def test_sweep_and_guest_take_it(overlock: Overlock, tmp_path: Path) -> None:
    words = ("bench", "sweep", "lease", "--lock", OLD, "--values", "1000", *MEASURED)
    done = overlock(*words)
    assert (done.returncode, done.stderr.count(SAID)) == (0, 1), done.stderr
    assert results.from_file(tmp_path / "r.json").baseline.startswith(f"{NOW}@")
    done = overlock("guest", "boot", "--lock", OLD, "--dir", tmp_path / "none")
    assert done.stderr.startswith(SAID)
    assert "unknown" not in done.stderr


def test_it_is_no_name_for_a_new_lock(overlock: Overlock) -> None:
    done = overlock("new", OLD)
    assert (done.returncode, "already exists" in done.stderr) == (2, True)


def test_sites_are_told_the_new_name() -> None:
    assert config.parse_site(f"x={OLD}").lock == NOW


def older(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_older_result(result_file: Path, tmp_path: Path, overlock: Overlock) -> None:
    text = result_file.read_text().replace('"preemptable_ticket', f'"{OLD}')
    raw = json.loads(text)
    raw["native"]["in_force"] = {OLD: f"{OLD} (pv)"}
    raw["baseline"] = OLD
    raw["hung"] = [{"variant": OLD, "threads": 1, "why": ""}]
    path = older(tmp_path / "old.json", json.dumps(raw))
    found = results.from_file(path)
    assert found.baseline == found.hung[0].variant == NOW
    assert f"{NOW}@tau=0" in found.variants
    assert {cell.variant for cell in found.cells} == set(found.variants)
    assert found.native["in_force"] == {NOW: f"{NOW} (pv)"}
    done = overlock("compare", "old.json", "--variants", f"{OLD},ticket")
    assert f"{NOW} ÷ ticket" in done.stdout or f"ticket ÷ {NOW}" in done.stdout, done.stdout
    assert done.stderr == SAID


def test_older_grid(tmp_path: Path) -> None:
    body = {
        "format": grid.FORMAT,
        "title": "",
        "command": "",
        "axes": {"n": ["1"]},
        "locks": ["tas", OLD],
        "rate": [[1, 2]],
        "jain": [[1, 1]],
        "longest_us": [[1, 1]],
        "validated": {},
    }
    assert grid.read(older(tmp_path / "g.json", json.dumps(body))).locks == ["tas", NOW]
