# SPDX-License-Identifier: MIT
"""The files of `overlock report`: a page, figures, CSV."""

import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from overlock_tools.core.model import collected, results
from overlock_tools.core.model.results import Result
from overlock_tools.core.render import csv_export
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail

PICTURES = ("png", "svg")


def write(inputs: Iterable[Path], at: int | None, wanted: Mapping[str, Path]) -> None:
    """`wanted`: a file or a folder by kind."""
    if not wanted:
        raise Fail("nothing to write; give -o report.html, --png figure.png, or both")
    for kind, path in wanted.items():
        if kind in PICTURES and path == files.STDOUT:
            raise Fail(f"--{kind} -: a picture has a name; give one that ends in .{kind}")
        if kind in PICTURES and _for_all(path) and path.is_file():
            raise Fail(f"{path} is a file; give a folder, or a file name that ends in .{kind}")
        files.check_writable(path / "picture" if path.is_dir() and kind in PICTURES else path)
    read = _read(inputs, at)
    for kind, path in wanted.items():
        if kind in PICTURES:
            _draw(read, at, kind, path)
        elif kind == "csv":
            _write(path, csv_export.cells(read))
        elif kind == "csv_summary":
            _write(path, csv_export.summary(read))
        else:
            from overlock_tools.core.render import report

            made_by = shlex.join(["overlock", *sys.argv[1:]])
            _write(path, report.html(read, made_by, threads=at))


def _read(inputs: Iterable[Path], at: int | None) -> list[Result]:
    found = [(path, result) for given in inputs for path, result in _results(given)]
    for path, result in found:
        if not result.cells:
            raise Fail(f"{path} has no complete cell; measure longer")
        if at and at not in result.threads:
            known = ", ".join(map(str, result.threads))
            raise Fail(f"--at {at}: {path} has results for {known} threads; choose one of these")
    return [result for _, result in found]


def _results(given: Path) -> list[tuple[Path, Result]]:
    if collected.is_archive(given):
        sent = collected.read(given)
        if not (found := sent.results()):
            parts = ", ".join(done.part for done in sent.about.parts)
            raise Fail(f"{given} has no measurements to show; its parts are {parts}")
        return [(given, result) for result in found]
    if not given.is_dir():
        return [(given, results.from_file(given))]
    files_there = sorted(given.glob("*.json"))
    if not files_there:
        raise Fail(
            f"{given} contains no results; create them with `overlock bench matrix -o {given}`"
        )
    return [(path, results.from_file(path)) for path in files_there]


def _for_all(path: Path) -> bool:
    """Whether it is a folder, be it one that is to be made: the name of a picture has an ending."""
    return path.is_dir() or path.suffix.removeprefix(".") not in PICTURES


def _draw(read: list[Result], at: int | None, kind: str, path: Path) -> None:
    """A file has the first figure of the first result; a folder all figures of all results."""
    from overlock_tools.core.analyze.derived import View
    from overlock_tools.core.render import figures, plots

    views = [View(result, at) for result in read]
    if not _for_all(path):
        first = figures.of(views[0])[0]
        _write(path, plots.picture(first.draw(views[0], first.frame(views[0])), kind))
        return
    path.mkdir(exist_ok=True)
    for number, view in enumerate(views, 1):
        for figure in figures.of(view):
            name = f"{number:02}-{view.result.kind}-{figure.name}.{kind}"
            drawn = figure.draw(view, figure.frame(view))
            _write(path / name, plots.picture(drawn, kind))


def _write(path: Path, data: str | bytes) -> None:
    files.write(path, data)
    print(f"written: {path}", flush=True)
