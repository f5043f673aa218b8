# SPDX-License-Identifier: MIT
"""Paper 004: TWA."""

from overlock_tools.kernel.experiments.experiment import Experiment, Part

EXPERIMENTS = {
    "004-fig7": Experiment(
        "004",
        "Fig. 7",
        "locktorture, from one vCPU to more vCPUs than CPUs",
        [Part("torture-004", 1, "1,1x,2x,4x")],
        ["native", "ticket", "twa"],
        rounds=7,
        seconds=30,
        columns=("rate", "least_to_most"),
        otherwise="the paper's threads had one CPU each; claims about more threads need more CPUs",
    ),
}
