// SPDX-License-Identifier: MIT
//! Overlock's locks in C, compiled into the program by `build.rs`: nothing has to be installed but a C compiler.
//!
//! Use the crate `overlock`, which has safe types. Here each lock of Overlock's list is a module:
//!
//! ```
//! use overlock_sys::ttas;
//!
//! static LOCK: ttas::Lock = ttas::Lock::INIT;
//!
//! unsafe {
//!     ttas::lock(LOCK.get());
//!     assert!(!ttas::trylock(LOCK.get()));
//!     ttas::unlock(LOCK.get());
//! }
//! ```
//!
//! A lock is all zero while it is free, and may be moved then. Without the feature `library` only those locks are
//! here that need no library, without their timed calls; then nothing refers to a libc.
#![no_std]
#![allow(clippy::declare_interior_mutable_const, clippy::missing_safety_doc)] // as the C says

#[cfg(feature = "library")]
use core::cell::UnsafeCell;
#[cfg(feature = "library")]
use core::ffi::c_void;

include!(concat!(env!("OUT_DIR"), "/locks.rs"));

/// The time that never comes.
pub const NEVER: u64 = u64::MAX;

#[cfg(feature = "library")]
extern "C" {
    /// The time in `ns`, for the timed calls. [`NEVER`] is never.
    #[link_name = "ol_rust_after_ns"]
    pub fn after_ns(ns: u64) -> u64;

    #[link_name = "ol_rust_rota_lock_slow"]
    pub fn rota_lock_slow(l: *mut c_void, until: u64) -> bool;
    #[link_name = "ol_rust_rota_unlock_slow"]
    pub fn rota_unlock_slow(l: *mut c_void, word: u32);

    // A wait on a condition variable, in parts: prepare, release the lock, sleep, give_way if the lock is held, relay
    // if it is free, acquire the lock, finish. overlock/cond.h says more.
    #[link_name = "ol_rust_cond_prepare"]
    pub fn cond_prepare(c: *mut c_void) -> *mut c_void;
    #[link_name = "ol_rust_cond_sleep"]
    pub fn cond_sleep(c: *mut c_void, node: *mut c_void, until: u64) -> u32;
    #[link_name = "ol_rust_cond_give_way"]
    pub fn cond_give_way(woken: u32);
    #[link_name = "ol_rust_cond_relay"]
    pub fn cond_relay(c: *mut c_void, woken: u32) -> u32;
    #[link_name = "ol_rust_cond_finish"]
    pub fn cond_finish(c: *mut c_void, woken: u32) -> bool;
    #[link_name = "ol_rust_cond_signal"]
    pub fn cond_signal(c: *mut c_void);
    #[link_name = "ol_rust_cond_broadcast"]
    pub fn cond_broadcast(c: *mut c_void);

    /// Of `ol_barrier_t`, a word. True for the last of each round of `n`.
    #[link_name = "ol_rust_barrier_wait"]
    pub fn barrier_wait(word: *mut c_void, n: u32) -> bool;

    /// Polls until `*word & bits == 0`; false if `until` came first.
    #[link_name = "ol_rust_poll_lacks"]
    pub fn poll_lacks(word: *const u32, bits: u32, until: u64) -> bool;
    /// The end of a `spin` from now, or `until` if that comes first.
    #[link_name = "ol_rust_soon"]
    pub fn soon(until: u64) -> u64;
    /// Waits until `*word & bits == 0`; false if `until` came first.
    #[link_name = "ol_rust_wait_lacks"]
    pub fn wait_lacks(word: *const u32, bits: u32, until: u64) -> bool;
    /// After a change of `*word`.
    #[link_name = "ol_rust_wake_all"]
    pub fn wake_all(word: *const u32);
}
