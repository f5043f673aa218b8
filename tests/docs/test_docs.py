# SPDX-License-Identifier: MIT
"""The documentation: links lead somewhere, generated parts are true, what it names exists."""

import re
from pathlib import Path

import pytest

import diagrams
import docs_tables as docs
import guest_measured
import tree_diagram
from overlock_tools.cli import commands
from overlock_tools.core.model import defs
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.results import Result
from overlock_tools.sim import scenario
from tests.conftest import TOP

PAGES = sorted(
    path
    for glob in (
        "*.md",
        "docs/**/*.md",
        "lib/*.md",
        "check/*.md",
        "check/engine/*.md",
        "findings/*.md",
    )
    for path in TOP.glob(glob)
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def broken_links(page: Path) -> list[str]:
    found = []
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+://", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name) if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(TOP)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not broken_links(page)


def test_broken_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Here\n[a](no.md) [b](#here) [c](#there) ![d](no.png) [e](page.md#here)\n")
    assert broken_links(page) == ["no.md", "#there", "no.png"]


def stale(text: str, page: Path) -> list[str]:
    """Lines of generated parts that are no longer made. Missing ones are no untruth."""
    found = []
    for part in docs.PART.finditer(text):
        new = set(docs.made(part, page).splitlines())
        found += [line for line in part["text"].splitlines() if line not in new]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(TOP)))
def test_generated_parts_are_true(page: Path) -> None:
    assert not stale(page.read_text(), page), "`make docs` brings it up to date"


def test_untrue_parts_are_found() -> None:
    page = TOP / "docs/choosing.md"
    assert stale(page.read_text().replace("| 400 |", "| 401 |"), page)


def test_a_claim_tells_what_was_measured_once() -> None:
    several, once = {"least": 100.0, "most": 130.0}, {"least": 2000.0, "most": 2000.0}
    many = {"least": 4000.0, "most": 5000.0}
    rates = {
        "native": {"1×2": several, "1×4": {"least": 90.0, "most": 90.0}},
        "tas": {"1×2": many, "1×4": many},
        "byte": {"1×4": once},
    }
    load = guest_measured.Load({"rigs": ["1×2", "1×4"], "rates": rates, "in_force": {}})
    assert guest_measured.claims(load).splitlines() == [
        "- 1×2: `tas` 30.8×.",
        "- 1×4, where `native` ran one round: `tas` 44.4×, `byte` 22.2× (one round).",
    ]


def measured_guests(guests: int, warning: str) -> Result:
    cells = [Cell(1, "native", 4, work, 1, 1) for work in (100, 200)]
    return Result(
        kind="guest-loop",
        title="",
        unit="acquisitions",
        baseline="native",
        command="",
        settings={"cpus": 2, "rounds": 2, "seconds": 1.0},
        machine={"cpu": "a CPU", "kernel": "6.1-x"},
        native={"kernel": "6.1", "in_force": {"native": "native qspinlock (spin)"}},
        variants=["native"],
        threads=[4],
        parameters={"guests": guests, "accelerator": "tcg"},
        warnings=[warning],
        cells=cells,
    )


def test_guests_measured_on_a_busy_machine_say_so() -> None:
    busy = "other work took up to {}% of the CPUs in round 1: expect noise"
    results = [measured_guests(1, busy.format(40)), measured_guests(2, busy.format(60))]
    found = guest_measured.shortened(results, "stock")["loop-stock"]
    told = guest_measured.about(guest_measured.Load(found))
    assert told.endswith("2 rounds of 1 s. Other work took up to 60 % of the CPUs.\n")
    assert set(found["rates"]["native"]) == {"1×4", "2×4"}
    quiet = guest_measured.shortened([measured_guests(1, "few rounds")])["loop"]
    assert "Other work" not in guest_measured.about(guest_measured.Load(quiet))


def test_filled_pages_have_every_entry() -> None:
    lists = defs.load()
    for page, names in (
        ("locks.md", lists.locks),
        ("workloads.md", lists.peers),
        ("choosing.md", lists.tunables),
        ("counters.md", lists.events),
    ):
        text = docs.fill(TOP / "docs" / page)
        assert not [name for name in names if f"`{name}`" not in text]


def test_diagrams_are_those_of_the_script() -> None:
    for diagram in diagrams.DIAGRAMS:
        assert (TOP / f"docs/img/{diagram.name}.svg").read_text() == diagrams.draw(diagram)
    tree = TOP / f"docs/img/{tree_diagram.NAME}.svg"
    assert tree.read_text() == tree_diagram.draw()


def mentioned(pattern: str) -> set[str]:
    """What pages say to type, in code."""
    found = set()
    for page in PAGES:
        text = page.read_text()
        code = re.findall(r"`([^`\n]+)`|^ {4}(\S.*)$", text, re.MULTILINE)
        for inline, block in code:
            found |= set(re.findall(pattern, inline or block))
    return found


def test_commands_exist() -> None:
    known = {path.stem for path in Path(commands.__path__[0]).glob("[a-z]*.py")}
    named = mentioned(r"^overlock ([a-z]+)\b")
    assert named
    assert named <= known


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (TOP / "Makefile").read_text(), re.MULTILINE))
    named = mentioned(r"^make (?:-C \S+ )?([a-z-]+)\b")
    assert named
    assert named <= targets


def test_as_many_locks_are_told_as_there_are() -> None:
    ours = len(defs.load().locks)
    told = re.search(r"any of the (\d+) locks here", (TOP / "README.md").read_text())
    assert told
    assert int(told[1]) == ours
    pages = ("docs/proof.md", "docs/results/genmc.md")
    page = "\n".join((TOP / name).read_text() for name in pages)
    judged = re.search(r"GenMC has judged (\d+) of the (\d+) locks", page)
    rows = re.search(r"<!-- genmc: locks -->(.*?)<!-- end -->", page, re.DOTALL)
    assert judged
    assert rows
    in_table = {row.split("|")[1].strip() for row in rows[1].splitlines()[2:] if row}
    assert tuple(map(int, judged.groups())) == (len(in_table - {"---", "lock"}), ours)


def test_readme_says_of_all_locks_no_more_than_was_exhausted() -> None:
    readme = " ".join((TOP / "README.md").read_text().split())
    told = re.search(
        r"in any of the (\d+) locks here\. "
        r"It exhausted all of them for two contexts that acquire once, "
        r"(\d+ of \d+) for two that acquire twice \(without weak memory\), and `rota` only",
        readme,
    )
    assert told
    proof = (TOP / "docs/proof.md").read_text()
    rows = dict(re.findall(r"^\| (\dx\d \w+) \| (\d+ of \d+) \|", proof, re.MULTILINE))
    for model in ("sc", "tso", "c11"):
        assert rows[f"2x1 {model}"] == f"{told[1]} of {told[1]}"
    assert rows["2x2 sc"] == told[2]
    assert "`rota`, the lock of `ol_mutex_t`, is exhausted at 2x1 and nowhere beyond" in proof


def test_files_that_the_checker_s_readme_names_exist() -> None:
    text = (TOP / "check/README.md").read_text()
    for name in re.findall(r"`(\w+\.(?:cpp|h|def|toml))`", text):
        assert any(list((TOP / top).rglob(name)) for top in ("check", "tests", "include")), name


def test_every_finding_is_in_their_table() -> None:
    folder = TOP / "findings"
    rows = re.findall(
        r"^\| \[(.*?)\]\(\1\) \| \S", (folder / "README.md").read_text(), re.MULTILINE
    )
    assert sorted(rows) == sorted(path.name for path in folder.glob("*.sh"))


def test_every_property_is_explained() -> None:
    """By the name under which it is reported."""
    names = re.findall(r'return "([^"]{3,})";', (TOP / "check/engine/report.cpp").read_text())
    assert "deadlock" in names
    text = (TOP / "docs/proof.md").read_text()
    of_the_simulator = {"none", "overtaken unnoticed"}
    assert not [n for n in names if f"\n| {n} |" not in text and n not in of_the_simulator]


FRAGMENTS = [
    pytest.param(block, id=f"{name}-{number}")
    for name in ("simulator.md", "reference/simulator.md")
    for number, block in enumerate(
        re.findall(
            r"^```toml\n(.*?)^```$", (TOP / "docs" / name).read_text(), re.DOTALL | re.MULTILINE
        )
    )
]


@pytest.mark.parametrize("text", FRAGMENTS)
def test_scenarios_of_pages_are_valid(text: str, tmp_path: Path) -> None:
    """A part of a scenario is completed by what it does not show."""
    file = tmp_path / "page.toml"
    guest = "" if "[[guest]]" in text else '[[guest]]\nworkload = "sections"\n'
    top = "" if re.search("^machine", text, re.MULTILINE) else 'machine = "typical"\n'
    file.write_text(top + text + guest)
    scenario.load(str(file), [])
