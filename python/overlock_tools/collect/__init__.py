# SPDX-License-Identifier: MIT
"""overlock collect: this machine measured within a time, in one file to take away."""
