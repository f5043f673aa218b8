# SPDX-License-Identifier: MIT
"""The locks that CI explores: those whose text a change touches."""

import pytest

from tests.check import changed

LOCK = "include/overlock/lock"


@pytest.mark.parametrize(
    ("path", "touched"),
    [
        (f"{LOCK}/mcs.h", {"mcs"}),
        (f"{LOCK}/rota.h", {"rota"}),
        (f"{LOCK}/ticket.h", {"ticket", "qrw", "twa"}),  # twa begins as a ticket lock
        ("include/overlock/port.h", {"mcs", "rota", "ticket", "qrw", "twa"}),
        ("check/dpor.cpp", {"mcs", "rota", "ticket", "qrw", "twa"}),
        ("docs/index.md", set()),
    ],
)
def test_a_lock_is_touched_by_what_it_is_made_of(path: str, touched: set[str]) -> None:
    locks = ("mcs", "rota", "ticket", "qrw", "twa")
    assert {lock for lock in locks if changed.touches(lock, [path])} == touched


def test_every_lock_is_explored_where_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OVERLOCK_BASE", raising=False)
    assert changed.of_ci("mcs")
    monkeypatch.setenv("OVERLOCK_BASE", "no-such-commit")
    assert changed.of_ci("mcs")


def test_what_was_tested_before_is_not_explored_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERLOCK_BASE", "HEAD")
    monkeypatch.setattr(changed, "files", lambda _: ["docs/index.md"])
    assert not changed.of_ci("mcs")
