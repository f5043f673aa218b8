# SPDX-License-Identifier: MIT
"""The words of a report, for who has never seen one."""

METHOD = (
    "All contenders of a workload ran in one invocation, interleaved in a new order in each "
    "round, so that what the machine did to one it did to all. A cell is one lock at one number "
    "of threads in one round, in processes of its own.",
    "Ratios are formed within a round; their median over the rounds has a 95 % interval by the "
    "bootstrap over rounds. Where it includes 1 there is no difference to claim. The best lock is "
    "judged against the best peer on rounds that did not choose them.",
    "A collapsed lock varies tenfold between rounds: read an order of magnitude, not a factor. "
    "What had collapsed in the first round was not repeated; it is drawn hollow.",
)

GLOSSARY = {
    "overcommit": "Threads that want to run, divided by CPUs. Above 1 the scheduler takes the CPU "
    "from somebody, perhaps from the one that holds the lock.",
    "lock-holder preemption": "The thread that holds the lock is off its CPU; all others wait for "
    "a time slice instead of a critical section.",
    "lock-waiter preemption": "The same for the thread that is next in a queue: the lock is free, "
    "and nobody else may have it.",
    "collapsed": "Less than a tenth of the best rate at the same number of threads.",
    "peer": "A lock that others made: what one would use without Overlock.",
    "baseline": "The lock that ratios are to.",
    "round": "One turn of all contenders. Figures are over rounds: the median, and the range.",
    "p50, p99, p99.99": "Of all waits for the lock, 50 %, 99 %, 99.99 % are no longer than this.",
    "longest gap": "The longest time in which one thread had no turn, less the work of a turn.",
    "Jain's index": "Fairness of shares: 1 if all threads had as many turns, 1/n if one had all.",
    "hand-over": "From the release of the lock until a thread that waited has it.",
    "queue": "How many others wait when a thread begins to wait.",
    "spinning": "The share of the CPU time that was not the turns' own work: waiting on the CPU, "
    "and the lock's own instructions.",
    "CPU s/M": "CPU seconds burnt for a million units of work.",
    "σ": "Standard deviation.",
    "cut": "Stopped before it was done: what is known is a bound.",
    "95 % interval": "In at least 95 of 100 such measurements the true ratio lies in it.",
}
