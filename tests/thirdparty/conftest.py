# SPDX-License-Identifier: MIT
import os
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
os.environ.setdefault("OVERLOCK_NATIVE", str(TOP / os.environ.get("BUILD", "build") / "native"))
