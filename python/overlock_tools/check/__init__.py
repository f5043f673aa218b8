# SPDX-License-Identifier: MIT
"""Checking locks with overlock-check: what to explore, running it, keeping it, telling it."""
