# SPDX-License-Identifier: MIT
"""Threaded libraries of PyPI, crates.io and npm, the newest, answer the same under `overlock run`.

For `make newest`: they are fetched, each in the newest version that this machine can have.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from overlock_tools.core.system import native

THREADS = "8"
SECONDS = 600  # of a download with its build; a hang fails
WAYS = {
    "lock": ("--lock", "tas_yield"),
    "default": (),
    "spins": ("--spins",),
    "fit": ("--fit",),
}
OPENBLAS = """
import numpy as np
a = np.arange(250_000, dtype=np.int64).reshape(500, 500).astype(float) % 7
print(int((a @ a).sum()))
"""
SKLEARN = """
import numpy as np
from sklearn.cluster import KMeans
x = np.arange(40_000, dtype=float).reshape(-1, 2) % 97
print(round(float(KMeans(3, n_init=1, init=x[:3], random_state=0).fit(x).inertia_)))
"""
POLARS = """
import polars as pl
print(pl.DataFrame({"a": range(200_000)}).group_by(pl.col("a") % 13).sum()["a"].sum())
"""
PYPI = {"numpy": OPENBLAS, "scikit-learn": SKLEARN, "polars": POLARS}
CRATES = {
    "rayon": """use rayon::prelude::*;
fn main() { println!("{}", (0..2_000_000u64).into_par_iter().map(|i| i % 7).sum::<u64>()); }
""",
    "parking_lot": """use parking_lot::Mutex;
fn main() {
    let sum = Mutex::new(0u64);
    std::thread::scope(|s| for _ in 0..8 {
        s.spawn(|| for i in 0..20_000 { *sum.lock() += i; });
    });
    println!("{}", sum.lock());
}
""",
    "crossbeam": """fn main() {
    let (tx, rx) = crossbeam::channel::bounded::<u64>(4);
    std::thread::scope(|s| {
        for _ in 0..4 {
            let tx = tx.clone();
            s.spawn(move || for i in 0..5_000 { tx.send(i).unwrap(); });
        }
        drop(tx);
        println!("{}", rx.iter().sum::<u64>());
    });
}
""",
}
NPM = {
    "piscina": """const { Piscina } = require('piscina');
if (require('worker_threads').isMainThread) {
  const pool = new Piscina({ filename: __filename, maxThreads: 8 });
  Promise.all(Array.from({ length: 64 }, (_, i) => pool.run(i)))
    .then((all) => { console.log(all.reduce((a, b) => a + b)); return pool.destroy(); });
} else {
  module.exports = (i) => {
    let s = 0;
    for (let k = 0; k < 20000; k++) s += (i * k) % 7;
    return s;
  };
}
""",
    "sharp": """const sharp = require('sharp');
sharp.concurrency(8);
sharp({ create: { width: 900, height: 900, channels: 3, background: '#123456' } })
  .resize(300).raw().toBuffer().then((b) => console.log(b.length));
""",
}
Made = tuple[list[str | Path], str]  # how it is started, and its version


def said(words: list[str | Path], folder: Path, **env: str) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-600:]
    return done.stdout


def from_pypi(name: str, folder: Path) -> Made:
    said([sys.executable, "-m", "venv", folder / "venv"], folder)
    python = folder / "venv/bin/python"
    said([python, "-m", "pip", "install", "--quiet", name], folder)
    (folder / "main.py").write_text(PYPI[name])
    version = said(
        [python, "-c", f"import importlib.metadata as m; print(m.version({name!r}))"], folder
    )
    return [python, folder / "main.py"], version.strip()


def from_crates(name: str, folder: Path) -> Made:
    said(["cargo", "init", "--quiet", "--name", "newest"], folder)
    said(["cargo", "add", "--quiet", name], folder)
    (folder / "src/main.rs").write_text(CRATES[name])
    said(["cargo", "build", "--quiet", "--release"], folder)
    tree = said(["cargo", "tree", "--depth", "1", "--prefix", "none"], folder)
    (version,) = (line.split()[1] for line in tree.splitlines() if line.startswith(f"{name} "))
    return [folder / "target/release/newest"], version.removeprefix("v")


def from_npm(name: str, folder: Path) -> Made:
    said(["npm", "install", "--silent", name], folder)
    (folder / "main.js").write_text(NPM[name])
    package = json.loads((folder / "node_modules" / name / "package.json").read_text())
    return ["node", folder / "main.js"], str(package["version"])


EVERY = [
    *((from_pypi, name) for name in PYPI),
    *((from_crates, name) for name in CRATES),
    *((from_npm, name) for name in NPM),
]


@pytest.mark.parametrize(("registry", "name"), EVERY, ids=[name for _, name in EVERY])
def test_the_newest_answers_as_without(
    registry: Callable[[str, Path], Made],
    name: str,
    tmp_path: Path,
    record_property: Callable[[str, str], None],
) -> None:
    words, version = registry(name, tmp_path)
    record_property(name, version)
    env = {
        "OMP_NUM_THREADS": THREADS,
        "OPENBLAS_NUM_THREADS": THREADS,
        "RAYON_NUM_THREADS": THREADS,
    }
    alone = said(words, tmp_path, **env)
    assert alone.strip()
    run: list[str | Path] = [native.file("overlock"), "run"]
    answers = {
        way: said([*run, *options, "--", *words], tmp_path, **env) for way, options in WAYS.items()
    }
    assert answers == dict.fromkeys(WAYS, alone)
    report = tmp_path / "report.json"
    said([*run, "--lock", "tas_yield", "--output", report, "--", *words], tmp_path, **env)
    # Locks of Rust are words of their own, with futex calls: there is no mutex to replace.
    assert (acquisitions(report) > 0) == (name not in CRATES)


def acquisitions(report: Path) -> int:
    """Of the program's mutexes, by Overlock's lock: `run` has reached it."""
    sites = json.loads(report.read_text())["sites"]["sites"]
    return sum(site["events"].get("ACQUIRE", 0) for site in sites)
