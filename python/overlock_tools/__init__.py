# SPDX-License-Identifier: MIT
"""The overlock command: benchmarks, reports and the runner around liboverlock."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("overlock-tools")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0.1.0"
