// SPDX-License-Identifier: MIT
//! A spinlock with a C interface.
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};

#[repr(C)]
pub struct RawSpin {
    held: AtomicBool,
}

#[no_mangle]
pub extern "C" fn raw_spin_init(l: *mut RawSpin) {
    unsafe { l.write(RawSpin { held: AtomicBool::new(false) }) };
}

/// Spins until it is free.
#[no_mangle]
pub extern "C" fn raw_spin_lock(l: &RawSpin) {
    while l.held.swap(true, Ordering::Acquire) {
        while l.held.load(Ordering::Relaxed) {
            hint::spin_loop();
        }
    }
}

#[no_mangle]
pub extern "C" fn raw_spin_try_lock(l: &RawSpin) -> bool {
    !l.held.swap(true, Ordering::Acquire)
}

#[no_mangle]
pub extern "C" fn raw_spin_unlock(l: &RawSpin) {
    l.held.store(false, Ordering::Release);
}
