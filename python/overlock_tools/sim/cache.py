# SPDX-License-Identifier: MIT
"""Answers of overlock-sim, kept by what it was told and by the build that answered."""

import json
from pathlib import Path
from typing import Any

from overlock_tools.core.system import files, reading
from overlock_tools.core.system.errors import Fail


class Cache:
    """Without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def get(self, key: str) -> dict[str, Any] | None:
        if not self.folder:
            return None
        try:
            return reading.parsed(self._place(self.folder, key).read_text())
        except (OSError, ValueError):  # there is none, or it is damaged: it is simulated again
            return None

    def put(self, key: str, answer: dict[str, Any]) -> None:
        """What failed for a reason outside of the simulation may succeed another time."""
        if not self.folder or "error" in answer:
            return
        place = self._place(self.folder, key)
        try:
            files.make_folder(place.parent)
        except OSError as error:
            raise Fail(f"--cache {self.folder}: {place.parent}: {error.strerror}") from error
        files.write(place, json.dumps(answer, separators=(",", ":")) + "\n")

    @staticmethod
    def _place(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.json"
