// SPDX-License-Identifier: MIT
use core::fmt;
use core::sync::atomic::AtomicU32;

/// A point at which `n` threads wait for one another, as often as they like.
///
/// ```
/// use overlock::Barrier;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let (barrier, leaders) = (Barrier::new(4), AtomicU32::new(0));
/// std::thread::scope(|threads| {
///     for _ in 0..4 {
///         threads.spawn(|| {
///             if barrier.wait().is_leader() {
///                 leaders.fetch_add(1, Ordering::Relaxed);
///             }
///         });
///     }
/// });
/// assert_eq!(leaders.into_inner(), 1);
/// ```
pub struct Barrier {
    word: AtomicU32, // ol_barrier_t
    n: u32,
}

/// What [`Barrier::wait`] returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for one thread of each round, the last to come.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// For `n` threads; 0 is as 1.
    ///
    /// # Panics
    /// If `n` is 2³¹ or more.
    pub const fn new(n: usize) -> Self {
        assert!(n < 1 << 31, "a barrier is for less than 2^31 threads");
        Barrier { word: AtomicU32::new(0), n: if n == 0 { 1 } else { n as u32 } }
    }

    pub fn wait(&self) -> BarrierWaitResult {
        let word = &self.word as *const AtomicU32 as *mut _;
        BarrierWaitResult(unsafe { overlock_sys::barrier_wait(word, self.n) })
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("n", &self.n).finish()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.0).finish()
    }
}
