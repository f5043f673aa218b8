// SPDX-License-Identifier: MIT
// For locks in Rust: overlock/checked.h, and what the files of std's locks find in its other modules.

use core::ffi::c_void;

include!("table.rs");
include!("panic.rs");

extern "C" {
    pub fn ol_checked_self() -> u32;
    pub fn ol_checked_spin();
    fn ol_checked_futex_wait(word: *const u32, value: u32, bits: u32, timed: bool) -> i32;
    fn ol_checked_futex_wake(word: *const u32, wakes: i32, bits: u32) -> i32;
}

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
