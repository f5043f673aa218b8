// SPDX-License-Identifier: MIT
// The table of a lock in Rust: struct ol_checked_lock of overlock/checked.h.

#[repr(C)]
pub struct CheckedLock {
    pub name: *const u8,
    pub size: u32,
    pub init: Option<unsafe extern "C" fn(*mut core::ffi::c_void)>,
    pub lock: Option<unsafe extern "C" fn(*mut core::ffi::c_void)>,
    pub unlock: Option<unsafe extern "C" fn(*mut core::ffi::c_void)>,
    pub trylock: Option<unsafe extern "C" fn(*mut core::ffi::c_void) -> bool>,
    pub read_lock: Option<unsafe extern "C" fn(*mut core::ffi::c_void)>,
    pub read_unlock: Option<unsafe extern "C" fn(*mut core::ffi::c_void)>,
    pub wait: Option<unsafe extern "C" fn(*mut core::ffi::c_void)>,
    pub signal: Option<unsafe extern "C" fn(*mut core::ffi::c_void)>,
    pub broadcast: Option<unsafe extern "C" fn(*mut core::ffi::c_void)>,
    pub down: Option<unsafe extern "C" fn(*mut core::ffi::c_void)>,
    pub up: Option<unsafe extern "C" fn(*mut core::ffi::c_void)>,
    pub by_clock: bool,
    pub fifo: bool,
}
unsafe impl Sync for CheckedLock {}

pub const NO_LOCK: CheckedLock = CheckedLock {
    name: core::ptr::null(),
    size: 0,
    init: None,
    lock: None,
    unlock: None,
    trylock: None,
    read_lock: None,
    read_unlock: None,
    wait: None,
    signal: None,
    broadcast: None,
    down: None,
    up: None,
    by_clock: false,
    fifo: false,
};
