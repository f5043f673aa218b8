# SPDX-License-Identifier: MIT
"""Products of matrices by NumPy, with the BLAS that its wheel has."""

import numpy as np

a = np.ones((300, 300))
for _ in range(60):
    b = a @ a
assert b[0, 0] == 300
