// SPDX-License-Identifier: MIT
// rust/overlock/src/fast.rs as it is, with waiters that poll in the place of the C. They count themselves beside the half
// that a release writes, as sleepers do there, and miss their count if a release has overwritten it.
// brings: rust/overlock/src/fast.rs
// replaces: (?m)^(//!|#!\[).*$ =>
#![no_std]
include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/rust.rs"));

mod fast {
    include!(concat!(env!("OVERLOCK_BROUGHT"), "/fast.rs"));

    const SLEEPER: u32 = 0x80000;

    impl Word {
        pub unsafe fn lock(&self) {
            if self.try_lock() {
                return;
            }
            self.0.fetch_add(SLEEPER, Relaxed);
            while !self.try_lock() {
                crate::ol_checked_spin();
            }
            let w = self.0.fetch_sub(SLEEPER, Relaxed);
            assert!(w & SLEEPERS != 0);
        }

        pub fn release(&self) {
            if let Err(w) = self.unlock() {
                store_low_release(&self.0, w.wrapping_add(HELD) as u16);
            }
        }
    }
}
use fast::Word;

unsafe fn word<'a>(o: *mut c_void) -> &'a Word {
    &*(o as *const Word)
}

unsafe extern "C" fn lock(o: *mut c_void) {
    word(o).lock()
}

unsafe extern "C" fn try_to_lock(o: *mut c_void) -> bool {
    word(o).try_lock()
}

unsafe extern "C" fn release(o: *mut c_void) {
    word(o).release()
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static overlock_checked: CheckedLock = CheckedLock {
    name: b"rota's fast path in Rust\0".as_ptr(),
    size: core::mem::size_of::<Word>() as u32,
    lock: Some(lock),
    trylock: Some(try_to_lock),
    unlock: Some(release),
    ..NO_LOCK
};
