/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_CHARGE_H
#define WORKLOAD_CHARGE_H
/* Work that takes its time by being done; a simulator defines what it is charged. */
#ifndef WORKLOAD_CHARGE
#define WORKLOAD_CHARGE(cost, n)	((void)0)
#endif
#endif
