# SPDX-License-Identifier: MIT
"""Weakening: each order is caught, argued equivalent, or open; no argument outlives its line."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from overlock_tools.check import weaken
from overlock_tools.check.job import Subject
from overlock_tools.check.source import Lines
from overlock_tools.check.weaken import Argument, Site
from overlock_tools.core.system.errors import Fail
from tests.check.command.conftest import Fake
from tests.check.command.story import failure
from tests.check.command.test_command import SCHEMA

HEADER = """\
one(l); /* [A] */
two(l);
	one(l); /* [A] */
"""


def caught(line: str, scenario: str = "lock") -> dict[str, Any]:
    return {"if": [f"--weaken={line}", f"--scenario={scenario}"], "failure": failure()}


def judged(fake: Fake, *args: str) -> dict[str, dict[str, Any]]:
    document = fake.json("--weaken", "ticket", *args)
    Draft202012Validator(SCHEMA).validate(document)
    return {f"{o['file']}:{o['line']}:{o['order']}": o for o in document["weakened"]}


def test_each_order_is_dropped_by_itself(fake: Fake) -> None:
    """One that is both loses each half; a relaxed one has nothing to lose."""
    names = ["ticket.h:47:acquire", "ticket.h:55:acquire", "ticket.h:76:acquire"]
    names += ["ticket.h:88:acquire", "ticket.h:88:release"]
    assert list(judged(fake)) == names
    assert {call.split("--weaken=")[1].split()[0] for call in fake.calls()} == set(names)


def test_a_scenario_without_sites_is_passed_over(fake: Fake) -> None:
    fake.says(no_sites=["try"])
    assert "ticket.h:47:acquire" not in judged(fake)
    assert len(judged(fake)) == 4


def test_until_one_scenario_misses_it(fake: Fake) -> None:
    fake.says(caught("ticket.h:55:acquire", "try"))
    done = fake("--weaken", "ticket", "--jobs", "1")
    calls = [call for call in fake.calls() if "ticket.h:55:acquire" in call]
    assert [re.findall(r"--scenario=(\w+)", c)[0] for c in calls] == ["lock", "try"]
    assert all("--model=c11" in call for call in calls)
    assert done.returncode == 1  # the others are open
    assert re.search(r"ticket:55 +acquire +caught +use after release \(try\)", done.stdout)
    assert re.search(r"ticket:76 +acquire +open ", done.stdout)
    assert done.stdout.endswith("5 memory orders: 1 caught, 4 open\n")
    assert "--weaken-line ticket.h:55:acquire" in done.stdout


def test_all_caught(fake: Fake) -> None:
    fake.says({"failure": failure()})
    done = fake("--weaken", "ticket")
    assert done.returncode == 0
    assert done.stdout.endswith("5 memory orders: 5 caught\n")
    orders = judged(fake)
    assert {o["class"] for o in orders.values()} == {"caught"}
    assert orders["ticket.h:88:release"]["property"] == "use after release"


def test_what_time_did_not_suffice_for_is_no_proof(fake: Fake) -> None:
    fake.says({"result": {"exhausted": False, "ended": "time"}})
    assert not any(o["exhausted"] for o in judged(fake).values())
    assert all(o["words"].startswith("not exhausted; ") for o in judged(fake).values())


# Arguments


@pytest.fixture
def mine(tmp_path: Path) -> Subject:
    (tmp_path / "mine.h").write_text(HEADER)
    return Subject("mine", header=tmp_path / "mine.h")


def argument(**other: Any) -> Argument:
    entry = {"file": "mine.h", "order": "acquire", "text": "two(l);", "argument": "because"}
    return Argument(**{**entry, **other})


def test_an_argument_is_about_its_line(mine: Subject) -> None:
    lines, site = Lines(mine), Site("mine.h", 2, "acquire", "two(l);")
    assert weaken.argued(site, [argument()], lines) == "because"
    for other in ({"order": "release"}, {"text": "two(k);"}, {"file": "other.h"}, {"nth": 2}):
        assert not weaken.argued(site, [argument(**other)], lines)


def test_of_equal_lines_it_says_which(mine: Subject) -> None:
    lines, text = Lines(mine), "one(l); /* [A] */"
    first, third = Site("mine.h", 1, "acquire", text), Site("mine.h", 3, "acquire", text)
    one, other = argument(text=text), argument(text=text, nth=2, argument="since")
    assert weaken.argued(first, [one], lines) == "because"
    assert not weaken.argued(third, [one], lines)
    assert weaken.argued(third, [one, other], lines) == "since"


def test_an_argument_that_fits_nothing_is_told(mine: Subject) -> None:
    site = Site("mine.h", 2, "acquire", "two(l);")
    other_lock = argument(file="other.h")
    assert weaken.stale(mine, [site], [argument(), other_lock]) == []
    [line] = weaken.stale(mine, [site], [argument(text="three(l);")])
    assert "matches no line of the file: three(l);" in line


def test_the_file_of_arguments(tmp_path: Path) -> None:
    file = tmp_path / "equivalent.toml"
    file.write_text(
        '[[equivalent]]\nfile = "mine.h"\norder = "acquire"\ntext = "\\ttwo(l);"\nargument = "b"\n'
    )
    assert weaken.read(file) == [argument(argument="b")]
    for wrong in (
        "[[equivalent]]\n",
        "[equivalent]\na = 1\n",
        "]",
        '[[equivalent]]\ntext = "a"\nb = 1\n',
    ):
        file.write_text(wrong)
        with pytest.raises(Fail, match=r"equivalent.toml cannot be read"):
            weaken.read(file)


def test_arguments_decide_what_is_not_missed(fake: Fake, tmp_path: Path) -> None:
    """In a checkout of its own: its arguments are those of the file there."""
    top = tmp_path / "checkout"
    for folder in ("python/overlock_tools", "include"):
        shutil.copytree(Path(weaken.__file__).parents[3] / folder, top / folder)
    (top / "check").mkdir()
    lines = [f"line({n});" for n in range(1, 100)]  # where the stand-in says that orders are
    (top / "include/overlock/lock/ticket.h").write_text("\n".join(lines))
    entries = [
        {"file": "ticket.h", "order": o, "text": lines[n - 1], "argument": "because"}
        for n, o in ((47, "acquire"), (55, "acquire"), (76, "acquire"), (88, "acquire"))
    ]
    (top / "check/equivalent.toml").write_text(
        "".join(
            "[[equivalent]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in e.items())
            for e in entries
        )
    )
    fake.environment["PYTHONPATH"] = str(top / "python")
    fake.says(caught("ticket.h:88:acquire"), caught("ticket.h:88:release"))
    done = fake("--weaken", "ticket")
    assert done.returncode == 1
    assert re.search(r"ticket:55 +acquire +equivalent +all exhausted: because", done.stdout)
    assert re.search(r"ticket:88 +acquire +caught .*though argued equivalent", done.stdout)
    (top / "check/equivalent.toml").write_text(
        (top / "check/equivalent.toml").read_text().rpartition("[[equivalent]]")[0]
    )
    assert fake("--weaken", "ticket").returncode == 0
