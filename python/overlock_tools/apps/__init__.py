# SPDX-License-Identifier: MIT
"""Real programs under each lock: one file for each program, catalogue.py has the list."""
