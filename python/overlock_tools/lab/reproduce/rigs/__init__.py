# SPDX-License-Identifier: MIT
"""The ways to answer a row. Each runs a command in a process of its own, and reads what it left."""
