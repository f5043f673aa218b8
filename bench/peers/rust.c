/* SPDX-License-Identifier: MIT */
/* The functions are in rust/rust.rs, which checks the size: the mutex and its guard. */
#include "lock.h"
#include <stdint.h>

typedef uint64_t rust_mutex_type[3];
PEER_FUNCTIONS(rust_mutex)

#include "table.h"
