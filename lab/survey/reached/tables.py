# SPDX-License-Identifier: MIT
"""Four threads at one database in memory, which SQLite's own mutex serves."""

import sqlite3
import threading

base = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
base.execute("create table t (n integer)")


def work() -> None:
    for n in range(1000):
        base.execute("insert into t values (?)", (n,))


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert base.execute("select count(*) from t").fetchone() == (4000,)
