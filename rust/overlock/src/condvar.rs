// SPDX-License-Identifier: MIT
use core::fmt;
use std::time::{Duration, Instant};

use overlock_sys as sys;

use crate::raw::{after, RawLock};
use crate::MutexGuard;

/// A condition variable for any [`Mutex`](crate::Mutex).
///
/// Waiters queue; `notify_one` wakes the first. `notify_all` wakes two, and each of them the next two, so that a crowd
/// does not run for the lock at once. A wait may return unwoken, as everywhere: wait in a loop, or with
/// [`wait_while`](Condvar::wait_while). All waits of one time use one mutex.
///
/// ```
/// use overlock::{Condvar, Mutex};
///
/// let (ready, changed) = (Mutex::new(false), Condvar::new());
/// std::thread::scope(|threads| {
///     threads.spawn(|| {
///         *ready.lock() = true;
///         changed.notify_one();
///     });
///     let mut guard = ready.lock();
///     while !*guard {
///         changed.wait(&mut guard);
///     }
/// });
/// ```
pub struct Condvar(sys::Cond);

/// How a wait with a limit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was up before anybody called.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    pub const fn new() -> Self {
        Condvar(sys::Cond::INIT)
    }

    /// Releases the mutex, sleeps until somebody calls, and acquires it again.
    pub fn wait<T: ?Sized, L: RawLock>(&self, guard: &mut MutexGuard<'_, T, L>) {
        self.wait_till(guard.lock(), sys::NEVER);
    }

    /// Waits as long as `condition` returns true.
    pub fn wait_while<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(&mut **guard) {
            self.wait(guard);
        }
    }

    pub fn wait_for<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        limit: Duration,
    ) -> WaitTimeoutResult {
        WaitTimeoutResult(!self.wait_till(guard.lock(), after(limit)))
    }

    pub fn wait_until<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        end: Instant,
    ) -> WaitTimeoutResult {
        self.wait_for(guard, end.saturating_duration_since(Instant::now()))
    }

    /// Waits as long as `condition` returns true, and for `limit` at most; `timed_out` if it does so still.
    ///
    /// ```
    /// use overlock::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (count, changed) = (Mutex::new(0), Condvar::new());
    /// let mut guard = count.lock();
    /// let end = changed.wait_while_for(&mut guard, |n| *n == 0, Duration::from_millis(2));
    /// assert!(end.timed_out());
    /// ```
    pub fn wait_while_for<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        mut condition: impl FnMut(&mut T) -> bool,
        limit: Duration,
    ) -> WaitTimeoutResult {
        let until = after(limit);
        let mut in_time = true;
        while condition(&mut **guard) {
            if !in_time {
                return WaitTimeoutResult(true);
            }
            in_time = self.wait_till(guard.lock(), until);
        }
        WaitTimeoutResult(false)
    }

    pub fn notify_one(&self) {
        unsafe { sys::cond_signal(self.0.get()) }
    }

    pub fn notify_all(&self) {
        unsafe { sys::cond_broadcast(self.0.get()) }
    }

    /// `OL_DEFINE_COND` of overlock/cond.h, which says why. The caller holds the lock.
    fn wait_till<L: RawLock>(&self, lock: &L, until: u64) -> bool {
        let c = self.0.get();
        unsafe {
            let node = sys::cond_prepare(c);
            lock.unlock();
            let mut woken = sys::cond_sleep(c, node, until);
            if lock.is_locked() {
                sys::cond_give_way(woken);
            }
            if !lock.is_locked() {
                woken = sys::cond_relay(c, woken);
            }
            lock.lock();
            sys::cond_finish(c, woken)
        }
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar")
    }
}
