// SPDX-License-Identifier: MIT
// Linux's qrwlock with readers in interrupts, who pass a writer that waits.
#include <overlock/foreign/linux.h>
#undef in_interrupt
#define in_interrupt()	1
#include "linux_qrwlock.c"
