# SPDX-License-Identifier: MIT
"""Traces of what a program does with its locks: read, compared, and made ready for replays."""

MOST_EVENTS = 20_000_000  # of a trace
