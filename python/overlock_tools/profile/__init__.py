# SPDX-License-Identifier: MIT
"""What the threads of a program wait for, whom for, and why: `overlock profile`."""

LOCKS = 16384  # that are told apart, unless --locks says otherwise
