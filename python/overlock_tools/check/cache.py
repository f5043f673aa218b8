# SPDX-License-Identifier: MIT
"""Results that are known: an answer depends on the lock's text, the checker and the options."""

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from overlock_tools.check import foreign, source
from overlock_tools.check.job import Job, Subject
from overlock_tools.check.outcome import Outcome, checked_result
from overlock_tools.core.system import files, native, reading
from overlock_tools.core.system.errors import Fail

FORMAT = 2  # of what is kept
# A search that was over, or over its number of executions, ends so again; one that had no more
# time, or was interrupted, may get further.
LASTING = ("exhausted", "failed", "executions")


class Cache:
    def __init__(self, program: Path, enabled: bool = True) -> None:
        self.enabled = enabled
        self.folder = files.cache_folder("check")
        self.checker = hashlib.sha256(program.read_bytes()).hexdigest() if enabled else ""
        self._texts: dict[Subject, str] = {}

    def get(self, job: Job) -> dict[str, Any] | None:
        if not self.enabled or job.replay:
            return None
        try:
            return checked_result(reading.parsed(self._place(job).read_text()).get("result"))
        except (OSError, ValueError):  # there is none, or something else wrote there
            return None

    def put(self, outcome: Outcome) -> None:
        """A cache that cannot be written is none."""
        if not self.enabled or outcome.job.replay or outcome.result.get("ended") not in LASTING:
            return
        place = self._place(outcome.job)
        with contextlib.suppress(OSError):
            files.make_folder(place.parent)
            text = json.dumps({"asked": outcome.job.choices(), "result": outcome.result})
            handle, name = tempfile.mkstemp(dir=place.parent, prefix=".new-")
            with os.fdopen(handle, "w") as out:
                out.write(text)
            os.replace(name, place)

    def _place(self, job: Job) -> Path:
        about = [FORMAT, self.checker, job.subject.name, self._text(job.subject), job.choices()]
        return self.folder / f"{hashlib.sha256(json.dumps(about).encode()).hexdigest()}.json"

    def _text(self, subject: Subject) -> str:
        if subject not in self._texts:
            self._texts[subject] = digest(subject)
        return self._texts[subject]


def digest(subject: Subject) -> str:
    """Of the lock's header and of all it includes, by name and text."""
    roots = [source.header_of(subject)]
    if subject.header and foreign.is_foreign(str(subject.header)):
        return _of_foreign(subject)
    if subject.header:  # the checker has not compiled it: the template does
        roots.append(native.subject_unit())
    whole = hashlib.sha256()
    for root in roots:
        if root is None:
            raise Fail(f"the header of {subject.name} was not found; give --no-cache")
        for path in source.closure(root, native.include()):
            whole.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()


def _of_foreign(subject: Subject) -> str:
    """Of what was compiled: its own includes are anywhere."""
    if not subject.loaded:
        raise Fail(f"{subject.shown} was not compiled; give --no-cache")
    whole = hashlib.sha256(subject.loaded.with_suffix(".o").read_bytes())
    return whole.hexdigest()
