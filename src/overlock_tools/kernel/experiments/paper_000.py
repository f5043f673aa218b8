# SPDX-License-Identifier: MIT
"""Paper 000: preemptable ticket locks."""

from overlock_tools.kernel.experiments.experiment import TICKET, Experiment, Part, of_each
from overlock_tools.kernel.experiments.questions import more_than, more_with_guests

LOADS = ("hackbench", "ebizzy")

EXPERIMENTS = {
    "000-table1": Experiment(
        "000",
        "Table 1",
        "stalls behind preempted holders and waiters, with one VM and with two",
        [Part(load, vms) for load in LOADS for vms in (1, 2)],
        [TICKET],
        rounds=5,
        seconds=10,
        columns=("rate", "acquired", "stalls", "waiters", "stalls_per_million"),
        questions=of_each(
            LOADS,
            "With two VMs, more of {}'s acquisitions stall.",
            lambda load: more_with_guests(load, TICKET, "stalls_per_million"),
        )
        + of_each(
            LOADS,
            "The waiters' share of {}'s stalls grows with the second VM.",
            lambda load: more_with_guests(load, TICKET, "waiters"),
        )
        + of_each(
            LOADS,
            "With two VMs, most of {}'s stalls are behind a waiter.",
            lambda load: more_than(f"{load}-2", TICKET, "waiters", 0.5),
        ),
        otherwise="the paper's hackbench and ebizzy had fixed work; here they have fixed time",
    ),
    "000-fig5": Experiment(
        "000",
        "Fig. 5",
        "cost of preemptable tickets without preemption, and gain with two VMs",
        [Part("loop", 1, "1,1x"), Part("hackbench", 1), Part("hackbench", 2), Part("ebizzy", 2)],
        ["ticket", "native", "preemptable_ticket", "pv_ticket", "pv_preemptable_ticket"],
        rounds=5,
        seconds=10,
        columns=("rate", "least_to_most"),
    ),
}
