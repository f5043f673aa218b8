# SPDX-License-Identifier: MIT
"""The papers' experiments, made again."""
