# SPDX-License-Identifier: MIT
"""What the threads of a program wait for, whom for, and why: `overlock profile`."""
