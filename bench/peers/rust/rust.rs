// SPDX-License-Identifier: MIT
//! The functions of rust.c's table: a lock that is held from one call to another.
//!
//! Rust's mutex is released by dropping its guard, and by nothing else; the guard waits beside the
//! mutex. That costs the holder two stores and two loads, on the line of the mutex. Whether the
//! mutex was poisoned is looked at as in any Rust program, where `unwrap()` follows.
use std::mem::{size_of, MaybeUninit};
use std::ptr::{addr_of, addr_of_mut};
use std::sync::{Mutex, MutexGuard, TryLockError};

pub struct Lock {
    mutex: Mutex<()>,
    guard: MaybeUninit<MutexGuard<'static, ()>>,
}

// rust_mutex_type in rust.c
const _: () = assert!(size_of::<Lock>() <= 24);

unsafe fn mutex(lock: *mut Lock) -> &'static Mutex<()> {
    &*addr_of!((*lock).mutex)
}

unsafe fn keep(lock: *mut Lock, guard: MutexGuard<'static, ()>) {
    addr_of_mut!((*lock).guard).write(MaybeUninit::new(guard));
}

#[no_mangle]
pub unsafe extern "C" fn rust_mutex_do_init(lock: *mut Lock) {
    addr_of_mut!((*lock).mutex).write(Mutex::new(()));
}

#[no_mangle]
pub unsafe extern "C" fn rust_mutex_do_lock(lock: *mut Lock) {
    keep(lock, mutex(lock).lock().unwrap());
}

#[no_mangle]
pub unsafe extern "C" fn rust_mutex_do_trylock(lock: *mut Lock) -> bool {
    match mutex(lock).try_lock() {
        Ok(guard) => {
            keep(lock, guard);
            true
        }
        Err(TryLockError::WouldBlock) => false,
        Err(poisoned) => panic!("{}", poisoned),
    }
}

#[no_mangle]
pub unsafe extern "C" fn rust_mutex_do_unlock(lock: *mut Lock) {
    drop(addr_of!((*lock).guard).read().assume_init());
}
