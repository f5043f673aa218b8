/* SPDX-License-Identifier: MIT */
/* The functions are in rust/parking_lot.rs, which checks the size. */
#include "lock.h"

typedef unsigned char parking_lot_type;
PEER_FUNCTIONS(parking_lot)

#include "table.h"
