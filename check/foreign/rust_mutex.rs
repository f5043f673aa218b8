// SPDX-License-Identifier: MIT
// Rust's std::sync::Mutex and Condvar on futexes. Their spinning only reads, and is left out.
// brings: library/std/src/sys/unix/locks/futex.rs
// replaces: let mut spin = 100 => let mut spin = 0
#![no_std]
include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/rust.rs"));

mod locks {
    include!(concat!(env!("OVERLOCK_BROUGHT"), "/futex.rs"));
}
use locks::{Condvar, Mutex};

struct Pair {
    mutex: Mutex,
    condvar: Condvar,
}

unsafe fn pair<'a>(o: *mut c_void) -> &'a Pair {
    &*(o as *const Pair)
}

unsafe extern "C" fn lock(o: *mut c_void) {
    pair(o).mutex.lock()
}

unsafe extern "C" fn try_to_lock(o: *mut c_void) -> bool {
    pair(o).mutex.try_lock()
}

unsafe extern "C" fn release(o: *mut c_void) {
    pair(o).mutex.unlock()
}

unsafe extern "C" fn wait(o: *mut c_void) {
    pair(o).condvar.wait(&pair(o).mutex)
}

unsafe extern "C" fn wake_one(o: *mut c_void) {
    pair(o).condvar.notify_one()
}

unsafe extern "C" fn wake_all(o: *mut c_void) {
    pair(o).condvar.notify_all()
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static overlock_checked: CheckedLock = CheckedLock {
    name: b"Rust std mutex and condvar\0".as_ptr(),
    size: core::mem::size_of::<Pair>() as u32,
    lock: Some(lock),
    trylock: Some(try_to_lock),
    unlock: Some(release),
    wait: Some(wait),
    signal: Some(wake_one),
    broadcast: Some(wake_all),
    ..NO_LOCK
};
