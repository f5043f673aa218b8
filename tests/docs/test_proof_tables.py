# SPDX-License-Identifier: MIT
"""The tables of docs/proof.md and results/proof.md say no more than the checker's results do."""

from typing import Any

import proof_tables as proof


def result(size: str = "2x2", model: str = "sc", **more: Any) -> dict[str, Any]:
    contexts, acquisitions = map(int, size.split("x"))
    return {
        "lock": "ticket",
        "tune": {},
        "scenario": "lock",
        "model": model,
        "search": "dpor",
        "contexts": contexts,
        "acquisitions": acquisitions,
        "error": None,
        "failure": None,
        "verdict": "holds",
        "words": "exhausted: holds",
        "exhausted": True,
        "executions": 1234567,
        "seconds": 3.0,
        **more,
    }


COMMAND = "overlock check all --json a/b.json --seconds 3600 --size 2x2"
OPEN: dict[str, Any] = {"verdict": "open", "exhausted": False, "words": "not exhausted"}
FAILS: dict[str, Any] = {
    "verdict": "fails",
    "exhausted": False,
    "failure": {"property": "deadlock"},
}


def made(*found: dict[str, Any]) -> proof.Results:
    return proof.Results([{"command": COMMAND, "results": list(found)}])


def test_a_number_alone_is_exhausted() -> None:
    assert "| `ticket` | 1,234,567 |\n" in proof.sizes(made(result()))
    both = proof.sizes(made(result(), result("3x1", lock="tas")))
    assert "| `ticket` | 1,234,567 |  |\n" in both  # 3x1 was asked of another lock only
    assert "1,234,567 (5 min)" in proof.sizes(made(result(seconds=300.0)))
    assert "| not exhausted: 1,234,567 in 3 s |" in proof.sizes(made(result(**OPEN)))
    assert "| **FAILS: deadlock** |" in proof.sizes(made(result(**FAILS)))
    gone = result(verdict="open", exhausted=False, error="it ended")
    assert "| no answer: it ended |" in proof.sizes(made(gone))


def test_the_one_that_got_further_counts_and_no_failure_is_lost() -> None:
    for pair in ((result(**OPEN), result(executions=5)), (result(executions=5), result(**OPEN))):
        assert "| `ticket` | 5 |" in proof.sizes(made(*pair))
    for pair in ((result(**FAILS), result()), (result(), result(**FAILS))):
        assert "FAILS" in proof.sizes(made(*pair))


def test_growth_is_of_what_was_exhausted() -> None:
    results = made(
        result("2x1", executions=10), result("2x2", executions=1000), result("3x1", **OPEN)
    )
    row = proof.growth(results).splitlines()[-1]
    assert row.startswith("| `ticket` | 2x2 | ×100 |")
    assert row.count("×") == 1


def test_scenarios_group_locks_and_say_what_is_missing() -> None:
    all_three = [result("2x1", model) for model in proof.MODELS]
    assert "| `lock` | holds: all |" in proof.scenarios(made(*all_three))
    assert "| sc: holds, tso: holds: all |" in proof.scenarios(made(*all_three[:2]))
    all_three[2] = result("2x1", "c11", **FAILS)
    assert "c11: **FAILS: deadlock**" in proof.scenarios(made(*all_three))
    all_three[2] = result("2x1", "c11", **OPEN)
    text = proof.scenarios(made(*all_three))
    assert "| sc: holds, tso: holds, c11: not exhausted: all |" in text
    other = [result("2x1", model, lock="tas") for model in proof.MODELS]
    words = "exhausted: holds; the other contexts spin for ever"
    stuck = [result("2x1", model, words=words) for model in proof.MODELS]
    text = proof.scenarios(made(*other, *stuck))
    assert "| holds: `tas`; the other contexts spin for ever: `ticket` |" in text


def test_a_long_list_names_the_locks_that_are_missing() -> None:
    locks = ["one", "two", "three", "four"]
    lock = [result("2x1", model, lock=name) for model in proof.MODELS for name in locks]
    frees = [result("2x1", m, lock=v, scenario="frees") for m in proof.MODELS for v in locks[:3]]
    timed = [result("2x1", m, lock=v, scenario="timed") for m in proof.MODELS for v in locks[:2]]
    text = proof.scenarios(made(*lock, *frees, *timed))
    assert "| `frees` | holds: all but `four` |" in text
    assert "| `timed` | holds: `one`, `two` |" in text


def test_the_summary_counts_what_is_exhausted_and_names_the_rest() -> None:
    text = proof.summary(made(result(), result(lock="tx", **OPEN), result(lock="bad", **FAILS)))
    assert "| 2x2 sc | 1 of 3 | `tx` | `bad` |" in text
    assert "3x1" not in text  # it was not asked


def test_random_proves_nothing() -> None:
    found = made(result("6x4", search="pct", **OPEN))
    assert "| `ticket` | sc | 6x4 | 1,234,567 | 3 s | nothing |" in proof.random(found)
    assert "6x4" not in proof.sizes(found)


def test_commands_are_told_but_for_files_of_ones_own() -> None:
    assert "    overlock check all --seconds 3600 --size 2x2\n" in proof.commands(made())


def test_pages_have_every_table() -> None:
    parts = {
        name
        for _, name, _, _ in proof.PART.findall("".join(page.read_text() for page in proof.PAGES))
    }
    assert parts == set(proof.PARTS)
