# SPDX-License-Identifier: MIT
"""Locks in another model checker, GenMC."""
