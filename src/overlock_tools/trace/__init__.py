# SPDX-License-Identifier: MIT
"""Traces of what a program does with its locks: read, compared, and made ready for replays."""
