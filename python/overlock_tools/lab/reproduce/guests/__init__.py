# SPDX-License-Identifier: MIT
"""In guests: what is measured, and what its figures have to show.

Unlike the statements of paper_claims.toml, which are about one result each, these look at several
at once: another number of guests, another load.
"""
