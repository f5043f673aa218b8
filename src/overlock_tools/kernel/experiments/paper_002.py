# SPDX-License-Identifier: MIT
"""Paper 002: I-Spinlock."""

from overlock_tools.kernel.experiments.experiment import (
    I_SPIN,
    I_SPIN_PV,
    TICKET,
    TWICE,
    Experiment,
    Part,
    Question,
    of_each,
)
from overlock_tools.kernel.experiments.questions import (
    as_fast_as,
    costs_more,
    fewer_than,
    grows_with_vcpus,
    more_than,
    queue_is_long,
    sections_end_within,
    sections_take,
)

PROGRAMS = ("kernbench", "pbzip2", "ebizzy")
IN_TWO = [Part(load, 2).name for load in PROGRAMS]
INFORMED = {"i_spin": I_SPIN, "i_spin_pv": I_SPIN_PV}

EXPERIMENTS = {
    "002-table1": Experiment(
        "002",
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
    "002-fig3": Experiment(
        "002",
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
    "002-fig6": Experiment(
        "002",
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
    "002-fig7": Experiment(
        "002",
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
    "002-fig8": Experiment(
        "002",
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
}
