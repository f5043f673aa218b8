# SPDX-License-Identifier: MIT
"""Traces of what a program does with its locks: recorded, read, compared, and made ready to be replayed."""
