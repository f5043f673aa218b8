// SPDX-License-Identifier: MIT
// For locks in Rust: overlock/checked.h, and what the files of std's locks find in its other modules.

use core::ffi::c_void;

#[repr(C)]
pub struct CheckedLock {
    pub name: *const u8,
    pub size: u32,
    pub init: Option<unsafe extern "C" fn(*mut c_void)>,
    pub lock: Option<unsafe extern "C" fn(*mut c_void)>,
    pub unlock: Option<unsafe extern "C" fn(*mut c_void)>,
    pub trylock: Option<unsafe extern "C" fn(*mut c_void) -> bool>,
    pub read_lock: Option<unsafe extern "C" fn(*mut c_void)>,
    pub read_unlock: Option<unsafe extern "C" fn(*mut c_void)>,
    pub wait: Option<unsafe extern "C" fn(*mut c_void)>,
    pub signal: Option<unsafe extern "C" fn(*mut c_void)>,
    pub broadcast: Option<unsafe extern "C" fn(*mut c_void)>,
    pub down: Option<unsafe extern "C" fn(*mut c_void)>,
    pub up: Option<unsafe extern "C" fn(*mut c_void)>,
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
};

extern "C" {
    pub fn ol_checked_self() -> u32;
    pub fn ol_checked_spin();
    pub fn ol_checked_fail(why: *const u8) -> !;
    fn ol_checked_futex_wait(word: *const u32, value: u32, bits: u32, timed: bool) -> i32;
    fn ol_checked_futex_wake(word: *const u32, wakes: i32, bits: u32) -> i32;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { ol_checked_fail(b"it panics\0".as_ptr()) }
}

// Nothing unwinds.
#[no_mangle]
pub extern "C" fn rust_eh_personality() {}

pub mod sync {
    pub use core::sync::atomic;
}
pub mod time {
    pub use core::time::Duration;
}
pub mod hint {
    pub fn spin_loop() {
        unsafe { crate::ol_checked_spin() }
    }
}
pub mod sys {
    pub mod futex {
        use crate::sync::atomic::AtomicU32;
        use crate::time::Duration;

        /// False if it timed out.
        pub fn futex_wait(word: &AtomicU32, value: u32, limit: Option<Duration>) -> bool {
            const ETIMEDOUT: i32 = 110;
            let timed = limit.is_some();
            unsafe { crate::ol_checked_futex_wait(word.as_ptr(), value, !0, timed) != -ETIMEDOUT }
        }

        /// Whether somebody was woken.
        pub fn futex_wake(word: &AtomicU32) -> bool {
            unsafe { crate::ol_checked_futex_wake(word.as_ptr(), 1, !0) > 0 }
        }

        pub fn futex_wake_all(word: &AtomicU32) {
            unsafe { crate::ol_checked_futex_wake(word.as_ptr(), i32::MAX, !0) };
        }
    }
}
