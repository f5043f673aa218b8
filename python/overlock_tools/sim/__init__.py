# SPDX-License-Identifier: MIT
"""`overlock sim`: scenarios, and the runs of overlock-sim that they are made of."""
