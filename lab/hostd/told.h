/* SPDX-License-Identifier: MIT */
#ifndef MONITOR_TOLD_H
#define MONITOR_TOLD_H
/* What overlock-hostd says of itself: a line of JSON when it watches, and one when it ends. */
#include "watch.h"

void tell_begin(const struct watch *watch, unsigned threads);
void tell_end(const struct watch *watch, unsigned threads, double seconds, __u64 copied);
#endif
