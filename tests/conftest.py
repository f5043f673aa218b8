# SPDX-License-Identifier: MIT
"""Where everything is. The Python command finds the native parts by OVERLOCK_NATIVE."""

import os
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
BUILD = (TOP / os.environ.get("BUILD", "build")).resolve()
NATIVE = Path(os.environ.setdefault("OVERLOCK_NATIVE", str(BUILD / "native")))
