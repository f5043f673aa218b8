# SPDX-License-Identifier: MIT
"""Paper 001: paravirtual ticket locks."""

from overlock_tools.kernel.experiments.experiment import (
    OFF,
    OFF_NOPV,
    ON_NOPV,
    Experiment,
    Part,
    Question,
)
from overlock_tools.kernel.experiments.questions import no_penalty
from overlock_tools.model import paper_settings

EXPERIMENTS = {
    "001": Experiment(
        "001",
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
}
