# SPDX-License-Identifier: MIT
"""Paper 003: unfair queued spinlocks."""

from overlock_tools.kernel.experiments.experiment import STEALING, TWICE, Experiment, Part, Question
from overlock_tools.kernel.experiments.questions import at_the_door, rarer_further_back

EXPERIMENTS = {
    "003-steals": Experiment(
        "003",
        "statistics counts",
        "lock stealing in the unfair queue while a guest boots",
        [Part("boot", 1, TWICE)],
        [STEALING],
        rounds=3,
        seconds=1,
        columns=("acquired",),
        questions=[
            Question("Most steals happen before queueing.", at_the_door(STEALING)),
            Question("Steals are rarer further back in the queue.", rarer_further_back(STEALING)),
        ],
        events=(*(f"STEAL@{place}" for place in range(8)), "STEAL_TRY"),
        otherwise="the paper's guest had 32 vCPUs and booted a distribution",
    ),
}
