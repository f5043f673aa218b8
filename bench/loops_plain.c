/* SPDX-License-Identifier: MIT */
#define WORKLOAD_MEASURED 0
#define LOOPS loops_plain
#include "make_loops.h"
