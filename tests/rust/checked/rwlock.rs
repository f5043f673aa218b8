// SPDX-License-Identifier: MIT
// rust/overlock/src/shared.rs as it is. Its line is a spinlock here, and its waits sleep on a futex at once. A trylock
// is a write that gives up where it would have to wait.
// brings: rust/overlock/src/shared.rs
// replaces: (?m)^//!.*$ =>
#![no_std]
include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/rust.rs"));

mod shared {
    include!(concat!(env!("OVERLOCK_BROUGHT"), "/shared.rs"));
}
use core::sync::atomic::{AtomicU32, Ordering::*};
use shared::{Platform, Shared};
use sys::futex::{futex_wait, futex_wake_all};

const NEVER: u64 = u64::MAX;
enum Here {}

fn wait(word: &AtomicU32, until: u64, over: impl Fn(u32) -> bool) -> bool {
    loop {
        let w = word.load(Acquire);
        if over(w) {
            return true;
        }
        if until != NEVER {
            return false;
        }
        futex_wait(word, w, None);
    }
}

impl Platform for Here {
    type Line = AtomicU32;

    fn line_lock(line: &AtomicU32, until: u64) -> bool {
        while line.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            if until != NEVER {
                return false;
            }
            unsafe { ol_checked_spin() };
        }
        true
    }

    unsafe fn line_unlock(line: &AtomicU32) {
        line.store(0, Release);
    }

    fn soon(_: u64) -> u64 {
        0
    }

    fn poll_lacks(word: &AtomicU32, bits: u32, _: u64) -> bool {
        word.load(Acquire) & bits == 0
    }

    fn wait_lacks(word: &AtomicU32, bits: u32, until: u64) -> bool {
        wait(word, until, |w| w & bits == 0)
    }

    fn wake_all(word: *const AtomicU32) {
        futex_wake_all(unsafe { &*word });
    }
}

unsafe fn rwlock<'a>(o: *mut c_void) -> &'a Shared<Here> {
    &*(o as *const Shared<Here>)
}

unsafe extern "C" fn lock(o: *mut c_void) {
    rwlock(o).write(NEVER);
}

unsafe extern "C" fn try_to_lock(o: *mut c_void) -> bool {
    rwlock(o).write(0)
}

unsafe extern "C" fn release(o: *mut c_void) {
    rwlock(o).unlock_write()
}

unsafe extern "C" fn lock_shared(o: *mut c_void) {
    rwlock(o).read(NEVER);
}

unsafe extern "C" fn release_shared(o: *mut c_void) {
    rwlock(o).unlock_read()
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static overlock_checked: CheckedLock = CheckedLock {
    name: b"RwLock in Rust\0".as_ptr(),
    size: core::mem::size_of::<Shared<Here>>() as u32,
    lock: Some(lock),
    trylock: Some(try_to_lock),
    unlock: Some(release),
    read_lock: Some(lock_shared),
    read_unlock: Some(release_shared),
    ..NO_LOCK
};
