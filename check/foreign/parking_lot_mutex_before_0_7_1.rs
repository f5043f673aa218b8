// SPDX-License-Identifier: MIT
// parking_lot's RawMutex without the fix of parking_lot_core 0.7.1, "Fixed incorrect synchronization in
// create_hashtable": whoever finds that another has made the table does not synchronise with it.
// brings: parking_lot_core-0.9.3/src/word_lock.rs parking_lot_core-0.9.3/src/spinwait.rs
// brings: parking_lot_core-0.9.3/src/thread_parker/linux.rs parking_lot_core-0.9.3/src/util.rs
// brings: parking_lot_core-0.9.3/src/parking_lot.rs parking_lot-0.12.1/src/raw_mutex.rs
// replaces: (?s)cfg_if::cfg_if! \{.*?use std::time::Instant as TimeoutInstant;\s*\}\s*\} => use std::time::Instant as TimeoutInstant; use crate::small::*;
// replaces: (?s)#\[cfg\(test\)\]\s+mod tests \{.*\Z =>
// replaces: use std:: => use crate::std::
// replaces: use libc; => use crate::libc;
// replaces: use smallvec::SmallVec; =>
// replaces: use parking_lot_core::\{self, => use crate::parking_lot_core::{self,
// replaces: use lock_api::RawMutex as => use crate::lock_api; use crate::lock_api::RawMutex as
// replaces: thread_local!\(.*\);\s+if let Ok\(tls_thread_data\) = .*\{ => if let Some(tls_thread_data) = None::<*const ThreadData> {
// replaces: thread_local!\(.*\);\s+let thread_data_ptr = THREAD_DATA\s+.try_with\(.*\)\s+.unwrap_or_else\(\|_\| (.*)\); => let thread_data_ptr: *const ThreadData = \1;
// replaces: self.counter >= 10 => self.counter >= 1
// replaces: (ptr::null_mut\(\),\s+new_table,\s+)Ordering::AcqRel,\s+Ordering::Acquire => \1Ordering::Release, Ordering::Relaxed
#![no_std]
include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/rust.rs"));
include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/parking_lot.rs"));
include!(concat!(env!("OVERLOCK_INCLUDE"), "/overlock/foreign/parking_lot_mutex.rs"));
