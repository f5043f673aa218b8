# SPDX-License-Identifier: MIT
"""Every tunable says what its default rests on, everywhere it is listed."""

import json

import pytest

from overlock_tools import cli, defs


def listed(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert cli.run(["tunables", *args]) == 0
    return capsys.readouterr().out


def test_the_list_says_all_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(listed(capsys).split())
    for tunable in defs.load().tunables.values():
        facts = (tunable.what, f"default {tunable.default}", tunable.range)
        for fact in (*facts, tunable.option, tunable.variable, f"default from: {tunable.source}"):
            assert fact in text


def test_json_has_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    entries = json.loads(listed(capsys, "--json"))
    assert [entry["name"] for entry in entries] == list(defs.load().tunables)
    assert all(entry["source"] and entry["when"] in ("any", "idle") for entry in entries)
