/* SPDX-License-Identifier: MIT */
/* What glibc's files here share: its low-level lock. */
#include <overlock/foreign/glibc.h>
#include "lowlevellock.h"
#include "lowlevellock.c"
