// SPDX-License-Identifier: MIT
// A mutex of Rust on a futex. --cfg NAME picks a fault.
#![no_std]
include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/rust.rs"));
use core::sync::atomic::{AtomicU32, Ordering};

// 0 free, 1 held, 2 held and wanted
unsafe fn word<'a>(o: *mut c_void) -> &'a AtomicU32 {
    &*(o as *const AtomicU32)
}

// Holds it once a compare-exchange that never stores has found the other's release.
unsafe fn look(o: *mut c_void) {
    let failing = if cfg!(lacks_failing) { Ordering::Relaxed } else { Ordering::Acquire };

    while word(o).swap(2, Ordering::Relaxed) != 0 {
        sys::futex::futex_wait(word(o), 2, None);
    }
    let _ = word(o).compare_exchange(7, 7, Ordering::Relaxed, failing);
}

unsafe extern "C" fn lock(o: *mut c_void) {
    if cfg!(looks_by_cas) {
        return look(o);
    }
    let taken = word(o).compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
    if taken.is_ok() {
        return;
    }
    while word(o).swap(2, if cfg!(lacks_order) { Ordering::Relaxed } else { Ordering::Acquire }) != 0 {
        sys::futex::futex_wait(word(o), 2, None);
    }
}

unsafe extern "C" fn release(o: *mut c_void) {
    if cfg!(panics) {
        panic!();
    }
    if word(o).swap(0, Ordering::Release) == 2 && !cfg!(wakes_nobody) {
        sys::futex::futex_wake(word(o));
    }
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static overlock_checked: CheckedLock = CheckedLock {
    name: b"waiting\0".as_ptr(),
    size: 4,
    lock: Some(lock),
    unlock: Some(release),
    ..NO_LOCK
};
