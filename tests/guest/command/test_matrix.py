# SPDX-License-Identifier: MIT
"""Locks by rigs by loads: a file each, completed by the same command, with a QEMU that is none."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import campaign, locks
from tests.command import COMMAND, Overlock
from tests.guest.command.conftest import Fake, alive
from tests.processes import HANG_S, until


def asked(home: Path, folder: Path, rigs: str) -> list[str]:
    words = ["guest", "matrix", "--dir", str(home), "-o", str(folder), "--accel", "tcg"]
    words += ["--locks", "tas,ticket", "--rigs", rigs, "--loads", "loop"]
    return [*words, "--rounds", "2", "--seconds", "0.1"]


def test_rigs_are_guests_times_vcpus() -> None:
    assert campaign.rigs("1x4, 2x4,1×1") == {1: [1, 4], 2: [4]}


@pytest.mark.parametrize("text", ["", "4", "0x4", "6x1", "1x17", "1x4x2", "x", "1x"])
def test_what_is_no_rig_is_refused(text: str) -> None:
    with pytest.raises(Fail, match="--rigs"):
        campaign.rigs(text)


@pytest.mark.parametrize(
    "words", [("boot", "--lock"), ("console", "--lock"), ("run", "--lock"), ("run", "--load")]
)
def test_a_wrong_name_is_told_before_anybody_has_to_build(
    overlock: Overlock, tmp_path: Path, words: tuple[str, str]
) -> None:
    done = overlock("guest", *words, "nope", "--dir", tmp_path / "empty")
    assert done.returncode == 2
    assert "'nope'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_for_each_number_of_guests_and_one_page(
    overlock: Overlock, fake: Fake, home: Path, tmp_path: Path
) -> None:
    fake("good")
    done = overlock(*asked(home, tmp_path / "m", "1x1,1x4,2x4"))
    assert done.returncode == 0, done.stdout + done.stderr
    files = sorted(path.name for path in (tmp_path / "m").iterdir())
    assert files == ["loop-1.json", "loop-2.json"]
    one, two = (json.loads((tmp_path / "m" / name).read_text()) for name in files)
    assert (one["threads"], two["threads"]) == ([1, 4], [4])
    assert one["complete"]
    assert len(one["cells"]) == 3 * 2 * 2  # native is the baseline
    assert two["scenario"]["proof"]["2 guests"]["seen"]["vcpus"] == [4, 4]
    assert "2×4" in done.stdout
    page = overlock("report", "m", "-o", "r.html")
    assert page.returncode == 0, page.stderr
    text = (tmp_path / "r.html").read_text()
    assert "guest-loop (2 guests)" in text


def test_it_goes_on_where_it_was_interrupted(
    overlock: Overlock, fake: Fake, home: Path, tmp_path: Path
) -> None:
    pids = fake("good")
    command = asked(home, tmp_path / "m", "1x1,1x2")
    ours = subprocess.Popen([*COMMAND, *command], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    until(lambda: len(pids.read_text().split()) >= 5)
    ours.send_signal(signal.SIGTERM)
    said, _ = ours.communicate(timeout=HANG_S)
    assert ours.returncode == 130, said
    assert "; repeat the command to complete the measurement" in said
    assert not alive(pids)
    kept = json.loads((tmp_path / "m/loop-1.json").read_text())["cells"]
    assert kept
    done = overlock(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    whole = json.loads((tmp_path / "m/loop-1.json").read_text())
    assert whole["complete"]
    assert len(whole["cells"]) == 3 * 2 * 2
    assert whole["cells"][: len(kept)] == kept
    again = overlock(*command)
    assert "0 cells" in again.stdout


def test_words_for_one_variant_only() -> None:
    assert locks.checked("native@nopvspin") == "native@nopvspin"
    assert locks.name_of("ticket@a=1@b") == "ticket"
    assert locks.words_of("ticket@a=1@b") == ("a=1", "b")
    for wrong in ("ticket@", "ticket@a b", "ticket@'", "ticket@=1"):
        with pytest.raises(Fail, match="is not valid on a kernel's command line"):
            locks.checked(wrong)
    with pytest.raises(Fail, match="unknown 4-byte lock"):
        locks.checked("tickt@nopvspin")


def test_such_a_variant_is_a_row_of_its_own(
    overlock: Overlock, fake: Fake, home: Path, tmp_path: Path
) -> None:
    fake("good")
    asked = ("guest", "run", "--accel", "tcg", "--seconds", "0.1", "--dir", home, "--rounds", "1")
    done = overlock(*asked, "--lock", "native@nopvspin,ticket", "--json", "r.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "native@nopvspin is: native qspinlock" in done.stdout
    body = json.loads((tmp_path / "r.json").read_text())
    assert body["variants"] == ["native", "native@nopvspin", "ticket"]
    assert set(body["native"]["in_force"]) == set(body["variants"])
