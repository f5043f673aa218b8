// SPDX-License-Identifier: MIT
// parking_lot_core's WordLock, which protects the queues of its other locks. Its spinning only reads, and is left out.
// brings: parking_lot_core-0.9.3/src/word_lock.rs parking_lot_core-0.9.3/src/spinwait.rs
// brings: parking_lot_core-0.9.3/src/thread_parker/linux.rs
// replaces: use std:: => use crate::std::
// replaces: use libc; => use crate::libc;
// replaces: thread_local!\(.*\);\s+if let Ok\(tls_thread_data\) = .*\{ => if let Some(tls_thread_data) = None::<*const ThreadData> {
// replaces: self.counter >= 10 => self.counter >= 1
#![no_std]
include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/rust.rs"));
include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/parking_lot.rs"));
use word_lock::WordLock;

unsafe fn word_lock_of<'a>(o: *mut c_void) -> &'a WordLock {
    &*(o as *const WordLock)
}

unsafe extern "C" fn lock(o: *mut c_void) {
    word_lock_of(o).lock()
}

unsafe extern "C" fn release(o: *mut c_void) {
    word_lock_of(o).unlock()
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static overlock_checked: CheckedLock = CheckedLock {
    name: b"parking_lot_core WordLock\0".as_ptr(),
    size: core::mem::size_of::<WordLock>() as u32,
    lock: Some(lock),
    unlock: Some(release),
    ..NO_LOCK
};
