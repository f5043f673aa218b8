# SPDX-License-Identifier: MIT
"""How many CPUs a language's or a library's runtime counts: the runtimes, and how each is asked."""
