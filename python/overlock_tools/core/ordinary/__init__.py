# SPDX-License-Identifier: MIT
"""Ordinary locks: C, C++ or Rust files that were written for no checker, and their tables."""
