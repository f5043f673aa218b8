// SPDX-License-Identifier: MIT
//! The first attempt of `rota`, and its release: what a compiler inlines of the C, in Rust, instruction for instruction.
//!
//! `overlock/lock/rota.h` says what the bits mean, and has everything else. `tests/rust` compares the instructions
//! with those of the C, and runs this file in the model checker.
#![allow(unknown_lints, unexpected_cfgs)] // overlock_checked, by RUSTFLAGS

#[cfg(overlock_checked)]
use core::sync::atomic::AtomicU16;
use core::sync::atomic::{AtomicU32, Ordering::*};

// Those of rota.h: raw.rs compares them.
pub(crate) const HELD: u32 = 1;
pub(crate) const CLAIMED: u32 = 0x10000;
pub(crate) const WAKE: u32 = 0x20000;
pub(crate) const SLEEPERS: u32 = 0xfff80000;

#[repr(transparent)]
pub(crate) struct Word(AtomicU32);

impl Word {
    pub(crate) const FREE: Word = Word(AtomicU32::new(0));

    pub(crate) fn as_ptr(&self) -> *mut u32 {
        &self.0 as *const AtomicU32 as *mut u32
    }

    #[inline(always)]
    pub(crate) fn is_locked(&self) -> bool {
        self.0.load(Relaxed) & HELD != 0
    }

    /// [A] of rota.h. The first load may be relaxed: what it read is compared again.
    #[inline(always)]
    pub(crate) fn try_lock(&self) -> bool {
        let w = self.0.load(Relaxed);
        w & (HELD | CLAIMED) == 0 && self.0.compare_exchange(w, w | HELD, Acquire, Relaxed).is_ok()
    }

    /// [R] of rota.h. Err if somebody waits: then the lock is still held, and `rota_unlock_slow()` takes the word.
    #[inline(always)]
    pub(crate) fn unlock(&self) -> Result<(), u32> {
        let w = self.0.load(Relaxed);
        if w & (SLEEPERS | CLAIMED | WAKE) != 0 {
            return Err(w);
        }
        store_low_release(&self.0, w.wrapping_add(HELD) as u16);
        Ok(())
    }
}

/// Stores to the lower half, which nobody else writes while the lock is held. Rust has no atomic accesses to a part of
/// an atomic variable, so this is the processor's instruction. Nothing moves across it: it may write any memory.
#[cfg(all(target_arch = "x86_64", not(overlock_checked)))]
#[inline(always)]
fn store_low_release(word: &AtomicU32, value: u16) {
    // Each store of x86 releases.
    unsafe {
        core::arch::asm!("mov word ptr [{}], {:x}", in(reg) word, in(reg) value,
            options(nostack, preserves_flags));
    }
}

#[cfg(all(target_arch = "aarch64", target_endian = "little", not(overlock_checked)))]
#[inline(always)]
fn store_low_release(word: &AtomicU32, value: u16) {
    unsafe {
        core::arch::asm!("stlrh {:w}, [{}]", in(reg) value, in(reg) word,
            options(nostack, preserves_flags));
    }
}

#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little"),
    overlock_checked
)))]
#[inline(always)]
fn store_low_release(word: &AtomicU32, value: u16) {
    let _ = value;
    // The C's, on any other processor.
    unsafe { overlock_sys::rota::unlock(word as *const AtomicU32 as *mut core::ffi::c_void) }
}

/// For the model checker and ThreadSanitizer, which see no assembler.
#[cfg(overlock_checked)]
fn store_low_release(word: &AtomicU32, value: u16) {
    let low = word as *const AtomicU32 as *const AtomicU16; // little-endian
    unsafe { (*low).store(value, Release) }
}
