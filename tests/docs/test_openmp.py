# SPDX-License-Identifier: MIT
"""tools/openmp.py measures every setting, and its program notices sections that exclude nothing."""

import json
import subprocess
from pathlib import Path

import openmp
import pytest

from overlock_tools.system.errors import Fail


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
