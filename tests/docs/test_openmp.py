# SPDX-License-Identifier: MIT
"""tools/openmp.py measures every setting, and its program notices sections that exclude nothing."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import openmp
from overlock_tools.core.system.errors import Fail


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    try:
        return openmp.build(tmp_path_factory.mktemp("openmp"))
    except Fail as error:
        pytest.skip(error.message)


@pytest.mark.parametrize("load", openmp.LOADS)
def test_every_setting_is_measured(load: str, built: dict[str, Path]) -> None:
    for setting in openmp.LOADS[load]:
        assert openmp.rate(built[setting.runtime], load, setting, 3, 0.05) > 0


def test_lost_exclusion_is_reported(tmp_path: Path) -> None:
    """Only the first thread enters a section, and the others pass by."""
    wrong = tmp_path / "wrong"
    options = ("-O1", "-fopenmp", "-Dcritical=master")
    subprocess.run(["cc", *options, "-o", wrong, openmp.SOURCE], check=True)
    with pytest.raises(Fail, match=r"\d sections, but \d+ additions"):
        openmp.rate(wrong, "critical", openmp.GNU, 2, 0.05)


def test_the_file_has_what_the_command_measures() -> None:
    loads = json.loads(openmp.FILE.read_text())["loads"]
    for load, settings in openmp.LOADS.items():
        assert list(loads[load]["rates"]) == [setting.name for setting in settings]


@pytest.mark.parametrize("complete", [0, 2])
def test_a_run_that_is_interrupted_keeps_its_rounds(
    complete: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    cells = sum(len(settings) for settings in openmp.LOADS.values()) * len(openmp.teams())
    asked = 0

    def rate(*_: object) -> float:
        nonlocal asked
        asked += 1
        if asked > complete * cells + 5:
            raise KeyboardInterrupt
        return float(asked)

    out = tmp_path / "openmp.json"
    monkeypatch.setattr(openmp, "rate", rate)
    monkeypatch.setattr(openmp, "build", lambda _: dict.fromkeys(openmp.LIBRARIES))
    monkeypatch.setattr("sys.argv", ["openmp.py", "-o", str(out)])
    if not complete:
        with pytest.raises(Fail, match="nothing is written"):
            openmp.main()
        return
    assert openmp.main() == 130
    assert f"{out} has {complete} of 5 rounds" in capsys.readouterr().err
    found = json.loads(out.read_text())
    assert found["rounds"] == complete
    one = found["loads"]["critical"]["rates"]["queuing"]["1"]
    assert one["least"] < cells < one["most"]
