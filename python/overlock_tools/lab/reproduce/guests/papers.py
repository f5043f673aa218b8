# SPDX-License-Identifier: MIT
"""The papers' experiments, by what they are called."""

from collections.abc import Mapping

from overlock_tools.core.model import paper_settings
from overlock_tools.lab.reproduce.guests.experiment import (
    I_SPIN,
    I_SPIN_PV,
    OFF,
    OFF_NOPV,
    ON_NOPV,
    STEALING,
    TICKET,
    TWICE,
    Experiment,
    Part,
    Question,
    of_each,
)
from overlock_tools.lab.reproduce.guests.questions import (
    as_fast_as,
    at_the_door,
    costs_more,
    fewer_than,
    grows_with_vcpus,
    more_than,
    more_with_guests,
    no_penalty,
    queue_is_long,
    rarer_further_back,
    sections_end_within,
    sections_take,
)

LOADS = ("hackbench", "ebizzy")
PROGRAMS = ("kernbench", "pbzip2", "ebizzy")
IN_TWO = [Part(load, 2).name for load in PROGRAMS]
INFORMED = {"i_spin": I_SPIN, "i_spin_pv": I_SPIN_PV}

EXPERIMENTS: Mapping[str, Experiment] = {
    "ouyang2013-table1": Experiment(
        "ouyang2013",
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
    "ouyang2013-fig5": Experiment(
        "ouyang2013",
        "Fig. 5",
        "cost of preemptable tickets without preemption, and gain with two VMs",
        [Part("loop", 1, "1,1x"), Part("hackbench", 1), Part("hackbench", 2), Part("ebizzy", 2)],
        ["ticket", "native", "preemptable_ticket", "pv_ticket", "pv_preemptable_ticket"],
        rounds=5,
        seconds=10,
        columns=("rate", "least_to_most"),
    ),
    "rao2012": Experiment(
        "rao2012",
        "the three benchmarks",
        "four kernels: the patch on and off, PARAVIRT_SPINLOCKS on and off",
        [Part("pgbench"), Part("pbzip2"), Part("kernbench")],
        [OFF, "native", OFF_NOPV, ON_NOPV],
        rounds=10,
        seconds=20,
        columns=("rate",),
        questions=[
            Question(
                "The patch costs nothing, with or without PARAVIRT_SPINLOCKS.",
                no_penalty(OFF, ["native", ON_NOPV]),
            ),
            Question(
                "PARAVIRT_SPINLOCKS costs nothing without the patch.",
                no_penalty(OFF_NOPV, [OFF]),
            ),
        ],
        statistic=paper_settings.MINISTAT,
        otherwise="the paper's patch is PV tickets, which Linux has had since; here it is "
        "Overlock's series, with the native lock",
    ),
    "teabe2017-table1": Experiment(
        "teabe2017",
        "Table 1",
        "problematic preemptions and spin time in two VMs",
        [Part("kernbench", 2, TWICE), Part("pbzip2", 2, TWICE)],
        [TICKET],
        rounds=5,
        seconds=20,
        columns=("rate", "acquired", "psp", "psp_per_million", "spun"),
        questions=of_each(
            ("kernbench", "pbzip2"),
            "{}: preemptions of holders and waiters increase with the number of vCPUs.",
            lambda load: grows_with_vcpus(f"{load}-2", TICKET, "psp_per_million"),
        )
        + of_each(
            ("kernbench", "pbzip2"),
            "{}: with the most vCPUs, the guest spins most of the time.",
            lambda load: more_than(f"{load}-2", TICKET, "spun", 0.5),
        ),
        otherwise="the paper counts cycles; here spin time includes preemption of the spinner",
    ),
    "teabe2017-fig3": Experiment(
        "teabe2017",
        "Fig. 3",
        "lengths of the kernel's critical sections",
        [Part("kernbench"), Part("pbzip2"), Part("ebizzy")],
        [TICKET],
        rounds=5,
        seconds=10,
        columns=("rate", "acquired", "hold"),
        questions=[
            Question("A section takes about 2^12 cycles, 1.5 µs.", sections_take(TICKET)),
            Question("No section takes more than 2^14 cycles, 6 µs.", sections_end_within(TICKET)),
        ],
    ),
    "teabe2017-fig6": Experiment(
        "teabe2017",
        "Fig. 6, top",
        "length of the queue",
        [Part("loop", 2, TWICE, {"workload": "fairness", "preemptions": "1"})],
        ["ticket", "i_spin"],
        rounds=5,
        seconds=5,
        columns=("rate", "queue", "queue_max", "least_to_most"),
        questions=of_each(
            ("ticket", "i_spin"),
            "{}: the queue can hold all vCPUs.",
            lambda lock: queue_is_long("loop-2", lock),
        ),
    ),
    "teabe2017-fig7": Experiment(
        "teabe2017",
        "Fig. 7",
        "I-Spinlock and tickets in two VMs: work done and preemptions",
        [Part(load, 2, TWICE) for load in PROGRAMS],
        [TICKET, *INFORMED.values()],
        rounds=5,
        seconds=20,
        columns=("rate", "psp", "psp_per_million", "spun"),
        questions=of_each(
            INFORMED,
            "{}: fewer holders and waiters are preempted than with tickets.",
            lambda lock: fewer_than(INFORMED[lock], TICKET, "psp_per_million", *IN_TWO),
        )
        + of_each(
            INFORMED,
            "{}: throughput is higher than with tickets.",
            lambda lock: fewer_than(TICKET, INFORMED[lock], "rate", *IN_TWO),
        ),
        otherwise="i_spin needs a source of slice ends; without one, it is ticket",
    ),
    "teabe2017-fig8": Experiment(
        "teabe2017",
        "Fig. 8",
        "cost of I-Spinlock in a single VM",
        [Part("loop", 1, "1,1x"), Part("kernbench")],
        ["ticket", "i_spin", "i_spin_pv"],
        rounds=10,
        seconds=10,
        columns=("rate", "p50"),
        questions=[
            Question("(a) An acquisition costs more.", costs_more("i_spin", "ticket", "loop-1")),
            Question(
                "(b) kernbench takes the same time.",
                as_fast_as("i_spin", "ticket", "kernbench-1"),
            ),
            Question(
                "(b) kernbench takes the same time with the PV variant.",
                as_fast_as("i_spin_pv", "ticket", "kernbench-1"),
            ),
        ],
    ),
    "long-steals": Experiment(
        "long",
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
    "dice2019-fig7": Experiment(
        "dice2019",
        "Fig. 7",
        "locktorture, from one vCPU to more vCPUs than CPUs",
        [Part("torture-dice2019", 1, "1,1x,2x,4x")],
        ["native", "ticket", "twa"],
        rounds=7,
        seconds=30,
        columns=("rate", "least_to_most"),
        otherwise="the paper's threads had one CPU each; claims about more threads need more CPUs",
    ),
}
