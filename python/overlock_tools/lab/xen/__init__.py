# SPDX-License-Identifier: MIT
"""Guests that are domains of Xen."""
