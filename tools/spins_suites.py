#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Test suites of other projects: what fails natively, and what under `overlock run --spins`?

    tools/spins_suites.py --folder /var/tmp/suites -o suites.json [SUITE]...

Wheels go into the folder; Debian's packages have to be there. A suite runs three times: natively,
under --spins, and with OVERLOCK_SPINS_NS=0, where every look yields. If the results differ, it
runs natively three times more, which tells what fails by chance. Exits with 1 if any differ, or if
a suite ran no test.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from overlock_tools.core.system import files

PYTEST = ("pytest==9.2.0", "hypothesis==6.170.17")  # of any Python
WHEELS = ("numpy==2.4.6", "scipy==1.17.1", "scikit-learn==1.9.1", "pyarrow==26.0.1")
OPENBLAS, OPENMP = "OPENBLAS_NUM_THREADS=4", "OMP_WAIT_POLICY=active OMP_NUM_THREADS="
BLAS = "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu"  # a folder of it has the libblas.so.3 to use
OF_WHEEL = "{venv}/bin/python -m pytest --junit-xml {junit} {site}/"
OF_DEBIAN = "/usr/bin/python3 -m pytest --junit-xml {junit} /usr/lib/python3/dist-packages/numpy/"
SKLEARN = "sklearn/cluster/tests/test_k_means.py {site}/sklearn/"
SKLEARN += "ensemble/_hist_gradient_boosting/tests/test_grower.py"
CPYTHON = "/usr/bin/python3 -m test --junit-xml {junit} test_threading test_thread test_queue "
CPYTHON += "test_asyncio.test_tasks"
TESTS = "thread-pool cond once asyncqueue atomic refcount mainloop"
SEED = "R02S" + 32 * "0"  # GLib's
GLIB = f"cd /usr/libexec/installed-tests/glib; for t in {TESTS}; do ./$t --tap --seed={SEED}; done"
REPORT = re.compile(r"(\d+) waiting loops yield; threads waited in \d+ of them; (\d+) yields")
LOOP = re.compile(r"^(\S+\+0x[0-9a-f]+)  .* yields +\d+ ", re.MULTILINE)
TAP = re.compile(r"^(ok|not ok) \d+ (\S+)(?!.*# SKIP)", re.MULTILINE)


class Suite(NamedTuple):
    packages: tuple[str, ...]  # with a version: a wheel
    env: str
    command: str  # of sh; Python's suites also write {junit}


SUITES = {
    "numpy": Suite(WHEELS[:1], OPENBLAS, OF_WHEEL + "numpy/linalg/tests/test_linalg.py"),
    "scipy": Suite(WHEELS[:2], OPENBLAS, OF_WHEEL + "scipy/linalg/tests/test_basic.py"),
    "scikit-learn": Suite(WHEELS[:3], OPENMP + "4", OF_WHEEL + SKLEARN),
    "pyarrow": Suite(WHEELS[::3], "", OF_WHEEL + "pyarrow/tests/test_csv.py"),
    "numpy-blis": Suite(
        ("python3-numpy", "libblis4-pthread"),
        f"{BLAS}/blis-pthread BLIS_NUM_THREADS=3",
        OF_DEBIAN + "core/tests/test_multiarray.py -k '(Dot or Matmul) and not huge'",
    ),
    "numpy-openmp": Suite(
        ("python3-numpy", "libopenblas0-openmp", "libgomp1"),
        f"{BLAS}/openblas-openmp {OPENMP}3",
        OF_DEBIAN + "linalg/tests/test_linalg.py -k Solve",
    ),
    "cpython": Suite(("libpython3.11-testsuite",), "", CPYTHON),
    "glib": Suite(("libglib2.0-tests",), "", GLIB),
}
WAYS = {"native": "", "spins": "", "spins-0": "OVERLOCK_SPINS_NS=0"}


def install(folder: Path) -> Path:
    """Where the wheels are. Any other Python has a pytest beside them."""
    pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--no-input"]
    if not (folder / "pytest").exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([*pip, *WHEELS], check=True)
        subprocess.run([*pip, "--target", str(folder / "pytest"), *PYTEST], check=True)
    (site,) = folder.glob("venv/lib/python*/site-packages")
    return site


def version(package: str) -> str:
    if "==" in package:
        return package
    query = ["dpkg-query", "-W", "-f", "${Package} ${Version}", package]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"spins_suites: {package} is not here: apt-get install {package}")
    return done.stdout


def results(said: str, junit: Path) -> Iterator[tuple[str, bool]]:
    """Each test that was not skipped, and whether it failed."""
    if not junit.exists():
        yield from ((name, how != "ok") for how, name in TAP.findall(said))
        return
    for case in ET.parse(junit).iter("testcase"):  # noqa: S314
        if case.find("skipped") is None:
            bad = case.find("failure") is not None or case.find("error") is not None
            yield f"{case.get('classname', '')}.{case.get('name')}", bad


def ran(name: str, way: str, options: argparse.Namespace) -> dict[str, Any]:
    folder, suite = options.folder, SUITES[name]
    junit, log = folder / f"{name}-{way}.xml", folder / f"{name}-{way}.log"
    junit.unlink(missing_ok=True)
    text = suite.command.format(venv=folder / "venv", site=install(folder), junit=junit)
    paths = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(folder / "pytest")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "COLUMNS": "200"}
    env |= dict(word.split("=", 1) for word in f"PYTHONHASHSEED=0 {suite.env} {WAYS[way]}".split())
    words = ["timeout", "--kill-after=5", f"{options.limit_s}"]
    words += [] if way == "native" else ["overlock", "run", "--spins=report", "--"]
    with log.open("w") as file:
        code = subprocess.call([*words, "sh", "-c", text], env=env, stdout=file, stderr=file)
    said = log.read_text(errors="replace")
    tests = dict(results(said, junit))
    counts = [(int(changed), int(yields)) for changed, yields in REPORT.findall(said)]
    return {
        "code": code,
        "tests": len(tests),
        "failed": sorted(test for test, bad in tests.items() if bad),
        "changed": max((changed for changed, _ in counts), default=0),
        "waited": sorted(set(LOOP.findall(said))),
        "yields": sum(yields for _, yields in counts),
    }


def is_fine(runs: dict[str, Any]) -> bool:
    """All ways have the same tests, some, and the same failures."""
    outcomes = [tuple(runs[way][what] for what in ("code", "tests", "failed")) for way in WAYS]
    return outcomes[0][1] > 0 and all(one == outcomes[0] for one in outcomes)


def compared(name: str, options: argparse.Namespace) -> dict[str, Any]:
    versions = [version(one) for one in SUITES[name].packages]
    runs = {way: ran(name, way, options) for way in WAYS}
    again = [] if is_fine(runs) else [ran(name, "native", options) for _ in range(3)]
    return {"versions": versions, **runs, "again": again}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, help="added to, if it exists")
    parser.add_argument("--limit-s", type=int, default=300, help="of each run")
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    options.folder = options.folder.absolute()
    found = json.loads(options.output.read_text()) if options.output.exists() else {}
    names = options.suites or list(SUITES)
    for n, name in enumerate(names, 1):
        print(f"{n} of {len(names)}: {name}", file=sys.stderr)
        found[name] = compared(name, options)
        files.write(options.output, (json.dumps(found, indent=1) + "\n").encode())
    differ = [name for name in names if not is_fine(found[name])]
    print("differ, or ran nothing:", ", ".join(differ) or "none", file=sys.stderr)
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
