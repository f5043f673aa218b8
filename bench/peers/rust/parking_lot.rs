// SPDX-License-Identifier: MIT
//! The functions of parking_lot.c's table.
use parking_lot::lock_api::RawMutex as _;
use parking_lot::RawMutex;
use std::mem::size_of;

// parking_lot_type in parking_lot.c
const _: () = assert!(size_of::<RawMutex>() == 1);

#[no_mangle]
pub unsafe extern "C" fn parking_lot_do_init(lock: *mut RawMutex) {
    lock.write(RawMutex::INIT);
}

#[no_mangle]
pub unsafe extern "C" fn parking_lot_do_lock(lock: *const RawMutex) {
    (*lock).lock();
}

#[no_mangle]
pub unsafe extern "C" fn parking_lot_do_trylock(lock: *const RawMutex) -> bool {
    (*lock).try_lock()
}

#[no_mangle]
pub unsafe extern "C" fn parking_lot_do_unlock(lock: *const RawMutex) {
    (*lock).unlock();
}
