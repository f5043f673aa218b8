# SPDX-License-Identifier: MIT
import os
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
os.environ.setdefault("OVERLOCK_NATIVE", str(TOP / os.environ.get("BUILD", "build") / "native"))
sys.path.insert(0, str(Path(__file__).parent))
