/* SPDX-License-Identifier: MIT */
#define WORKLOAD_MEASURED 1
#define LOOPS loops_measured
#include "make_loops.h"
