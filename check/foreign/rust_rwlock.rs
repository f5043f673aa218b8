// SPDX-License-Identifier: MIT
// Rust's std::sync::RwLock on futexes. Its spinning only reads, and is left out.
// brings: library/std/src/sys/unix/locks/futex_rwlock.rs
// replaces: let mut spin = 100; => let mut spin = 0;
#![no_std]
include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/rust.rs"));

mod locks {
    include!(concat!(env!("OVERLOCK_BROUGHT"), "/futex_rwlock.rs"));
}
use locks::RwLock;

unsafe fn rwlock<'a>(o: *mut c_void) -> &'a RwLock {
    &*(o as *const RwLock)
}

unsafe extern "C" fn lock(o: *mut c_void) {
    rwlock(o).write()
}

unsafe extern "C" fn try_to_lock(o: *mut c_void) -> bool {
    rwlock(o).try_write()
}

unsafe extern "C" fn release(o: *mut c_void) {
    rwlock(o).write_unlock()
}

unsafe extern "C" fn lock_shared(o: *mut c_void) {
    rwlock(o).read()
}

unsafe extern "C" fn release_shared(o: *mut c_void) {
    rwlock(o).read_unlock()
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static overlock_checked: CheckedLock = CheckedLock {
    name: b"Rust std rwlock\0".as_ptr(),
    size: core::mem::size_of::<RwLock>() as u32,
    lock: Some(lock),
    trylock: Some(try_to_lock),
    unlock: Some(release),
    read_lock: Some(lock_shared),
    read_unlock: Some(release_shared),
    ..NO_LOCK
};
