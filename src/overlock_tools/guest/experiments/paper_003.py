# SPDX-License-Identifier: MIT
"""Paper 003: unfair queued spinlocks."""

from overlock_tools.guest.experiments.experiment import STEALING, TWICE, Experiment, Part, Question
from overlock_tools.guest.experiments.questions import at_the_door, rarer_further_back

EXPERIMENTS = {
    "003-steals": Experiment(
        "003",
        "statistics counts",
        "what was stolen of the unfair queue while a guest booted",
        [Part("boot", 1, TWICE)],
        [STEALING],
        rounds=3,
        seconds=1,
        columns=("acquired",),
        questions=[
            Question("Most are stolen at the door.", at_the_door(STEALING)),
            Question("The further back in line, the fewer.", rarer_further_back(STEALING)),
        ],
        events=(*(f"STEAL@{place}" for place in range(8)), "STEAL_TRY"),
        otherwise="the paper's guest had 32 vCPUs and a distribution to boot",
    ),
}
