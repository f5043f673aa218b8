// SPDX-License-Identifier: MIT
//! Locks for programs whose threads may lose their CPU while they hold one: with more threads than CPUs, under a CPU
//! quota, in a virtual machine.
//!
//! ```
//! use overlock::Mutex;
//!
//! static COUNT: Mutex<u32> = Mutex::new(0);
//!
//! *COUNT.lock() += 1;
//! ```
//!
//! [`Mutex`], [`RwLock`], [`Condvar`] and [`Barrier`] are used as those of `std`, but that `lock` returns the guard
//! itself ([why](Mutex#panics-while-it-is-held)). [`raw`] has 28 locks more: spinlocks, queue locks, locks of the
//! literature.
//!
//! # Features
//!
//! - `std` (default): everything. Without it the crate is `no_std`, and has [`Mutex`] and those locks of [`raw`] that need
//!   no library, without their timed calls.
//! - `lock_api`: [`raw`]'s locks implement `lock_api::RawMutex`, those whose waiters may leave `RawMutexTimed`, too.
//!
//! ```
//! # #[cfg(feature = "lock_api")] {
//! type Mutex<T> = lock_api::Mutex<overlock::raw::TasYield, T>;
//! static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
//! NAMES.lock().push("a".into());
//! # }
//! ```
//!
//! # How it is made
//!
//! The locks are Overlock's C, compiled by `overlock-sys`. Of `rota`, the lock of [`Mutex`], the first attempt and the
//! release are Rust, so that they are inlined. Others cost a call. Linux only.
//!
//! After `fork()`, the child must not use locks that the parent's threads may have held.
#![cfg_attr(not(feature = "std"), no_std)]
#![allow(clippy::declare_interior_mutable_const)] // a free lock is a constant

pub mod raw;

#[cfg(feature = "std")]
mod barrier;
#[cfg(feature = "std")]
mod condvar;
#[cfg(feature = "std")]
mod fast;
mod mutex;
#[cfg(feature = "std")]
mod rwlock;
#[cfg(feature = "std")]
mod shared;

#[cfg(feature = "std")]
pub use barrier::{Barrier, BarrierWaitResult};
#[cfg(feature = "std")]
pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
#[cfg(feature = "std")]
pub use rwlock::{RawRwLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
