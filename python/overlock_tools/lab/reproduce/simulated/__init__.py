# SPDX-License-Identifier: MIT
"""In the simulator."""
