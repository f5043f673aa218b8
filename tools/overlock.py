#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `overlock` is in a .venv until `make native` puts the launcher in its place."""

from overlock_tools.cli.main import main

main()
