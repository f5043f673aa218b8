# SPDX-License-Identifier: MIT
"""The papers' experiments in guests: what is measured, and what its figures have to show.

Unlike papers.STATEMENTS, which are about one result each, these look at several at once: another
number of guests, another load.
"""

from collections.abc import Mapping

from overlock_tools.kernel.experiments import paper_000, paper_001, paper_002, paper_003, paper_004
from overlock_tools.kernel.experiments.experiment import SMALLER, Experiment, Part

__all__ = ["EXPERIMENTS", "SMALLER", "Experiment", "Part"]

PAPERS = (paper_000, paper_001, paper_002, paper_003, paper_004)

EXPERIMENTS: Mapping[str, Experiment] = {
    name: experiment for paper in PAPERS for name, experiment in paper.EXPERIMENTS.items()
}
