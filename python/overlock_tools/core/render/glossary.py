# SPDX-License-Identifier: MIT
"""The terms of a report."""

METHOD = (
    "All contenders of a workload ran in one invocation. Each round interleaved them in a new "
    "order, so that changes of the machine affected all of them alike. A cell is one lock at one "
    "number of threads in one round, and has its own processes.",
    "A ratio is formed within a round. The report gives its median over the rounds with a 95 % "
    "bootstrap interval over the rounds. If the interval includes 1, there is no significant "
    "difference. The comparison of the best lock with the best peer uses only rounds that did not "
    "select them.",
    "The rate of a collapsed lock varies tenfold between rounds: only its order of magnitude is "
    "meaningful. Cells that collapsed in the first round were not repeated; their points are "
    "hollow.",
)

SIMULATED = (
    "Simulated results come from no machine: all contenders ran in the same scenario, with the "
    "same seeds, which take the place of rounds. A simulation shows what follows from its model; "
    "docs/simulator.md describes the scenario's parameters.",
)

GLOSSARY = {
    "overcommit": "Runnable threads divided by CPUs. Above 1, the scheduler preempts threads, "
    "among them the lock holder.",
    "lock-holder preemption": "The scheduler preempts the lock holder; all waiters wait for a time "
    "slice instead of a critical section.",
    "lock-waiter preemption": "The scheduler preempts the first thread in a queue: the lock is "
    "free, but no other thread may acquire it.",
    "collapsed": "Less than a tenth of the best rate at the same number of threads.",
    "peer": "Another library's lock, for comparison.",
    "baseline": "The denominator of the ratios.",
    "round": "One measurement of all contenders. Figures show median and range over rounds.",
    "p50, p99, p99.99": "50 %, 99 % and 99.99 % of all waits for the lock are no longer than this.",
    "longest gap": "The longest time between two acquisitions of one thread, minus the work of one "
    "iteration.",
    "Jain's index": "Fairness of shares: 1 if all threads have equally many acquisitions, 1/n if "
    "one thread has all.",
    "hand-over": "The time from the release of the lock until a waiter acquires it.",
    "queue": "The number of other waiters when a thread begins to wait.",
    "spinning": "The share of CPU time outside the workload's own work: busy waiting, and the "
    "lock's own instructions.",
    "LHP, LWP": "In simulations: lock holders and waiters that lose their CPU, per second.",
    "holder off": "In simulations: the share of the contended time in which the lock holder has no "
    "CPU.",
    "CPU s/M": "CPU seconds per million units of work.",
    "σ": "Standard deviation.",
    "cut": "Stopped at the time limit; the value is a bound.",
    "95 % interval": "In at least 95 of 100 such measurements, it contains the true ratio.",
}
