// SPDX-License-Identifier: MIT
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
#[cfg(feature = "std")]
use std::time::{Duration, Instant};

use crate::raw::RawLock;
#[cfg(feature = "std")]
use crate::raw::RawTimedLock;

#[cfg(feature = "std")]
type Usual = crate::raw::Rota;
#[cfg(not(feature = "std"))]
type Usual = crate::raw::Ttas;

/// A mutex that keeps its rate when there are more threads than CPUs.
///
/// It has four bytes, `new` is `const`, and a lock and unlock that nobody contends take the instructions of the C.
///
/// ```
/// use overlock::Mutex;
///
/// static TOTAL: Mutex<u64> = Mutex::new(0);
///
/// std::thread::scope(|threads| {
///     for _ in 0..8 {
///         threads.spawn(|| *TOTAL.lock() += 1);
///     }
/// });
/// assert_eq!(*TOTAL.lock(), 8);
/// ```
///
/// # Panics while it is held
///
/// The guard releases the lock when a panic drops it, and the next thread gets the data as the panic left them. There is
/// no poisoning, as in `parking_lot` and unlike `std`: `lock` returns a guard and no `Result`. A flag beside the lock
/// would cost a look at whether the thread panics at each acquisition and each release, and programs nearly always
/// `unwrap` it. Where half-done changes matter, keep a flag in `T` that is set while they are made.
///
/// # Another lock
///
/// `L` is any of [`raw`](crate::raw); [`with_lock`](Mutex::with_lock) makes one. Without the feature `std` the default is
/// [`raw::Ttas`](crate::raw::Ttas), which spins.
///
/// A lock is not reentrant: a thread that locks it twice waits for ever.
pub struct Mutex<T: ?Sized, L: RawLock = Usual> {
    lock: L,
    data: UnsafeCell<T>,
}

// The lock hands `T` from thread to thread.
unsafe impl<T: ?Sized + Send, L: RawLock + Send> Send for Mutex<T, L> {}
unsafe impl<T: ?Sized + Send, L: RawLock + Sync> Sync for Mutex<T, L> {}

impl<T> Mutex<T> {
    pub const fn new(data: T) -> Self {
        Mutex::with_lock(data)
    }
}

impl<T, L: RawLock> Mutex<T, L> {
    /// A mutex of another lock.
    ///
    /// ```
    /// use overlock::{raw::Ttas, Mutex};
    ///
    /// static COUNT: Mutex<u32, Ttas> = Mutex::with_lock(0);
    /// *COUNT.lock() += 1;
    /// ```
    pub const fn with_lock(data: T) -> Self {
        Mutex { lock: L::INIT, data: UnsafeCell::new(data) }
    }

    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized, L: RawLock> Mutex<T, L> {
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T, L> {
        self.lock.lock();
        self.guard()
    }

    /// `None` if it is held. Does not wait.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T, L>> {
        if self.lock.try_lock() {
            Some(self.guard())
        } else {
            None
        }
    }

    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Needs no lock: nobody else has a reference.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// The caller has acquired the lock.
    #[inline]
    fn guard(&self) -> MutexGuard<'_, T, L> {
        MutexGuard { mutex: self, of_this_thread: PhantomData }
    }
}

#[cfg(feature = "std")]
impl<T: ?Sized, L: RawTimedLock> Mutex<T, L> {
    /// `None` if the lock was not free in time.
    ///
    /// ```
    /// use overlock::Mutex;
    /// use std::time::Duration;
    ///
    /// let mutex = Mutex::new(1);
    /// let held = mutex.lock();
    /// assert!(mutex.try_lock_for(Duration::from_millis(2)).is_none());
    /// drop(held);
    /// assert!(mutex.try_lock_for(Duration::ZERO).is_some());
    /// ```
    pub fn try_lock_for(&self, limit: Duration) -> Option<MutexGuard<'_, T, L>> {
        if self.lock.try_lock_for(limit) {
            Some(self.guard())
        } else {
            None
        }
    }

    pub fn try_lock_until(&self, end: Instant) -> Option<MutexGuard<'_, T, L>> {
        if self.lock.try_lock_until(end) {
            Some(self.guard())
        } else {
            None
        }
    }
}

impl<T: Default, L: RawLock> Default for Mutex<T, L> {
    fn default() -> Self {
        Mutex::with_lock(T::default())
    }
}

impl<T, L: RawLock> From<T> for Mutex<T, L> {
    fn from(data: T) -> Self {
        Mutex::with_lock(data)
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for Mutex<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(data) => f.debug_tuple("Mutex").field(&&*data).finish(),
            None => f.write_str("Mutex(<locked>)"),
        }
    }
}

/// Releases the lock when it is dropped.
///
/// It stays on its thread: some locks keep things of the thread that holds them.
///
/// ```compile_fail,E0277
/// let mutex = overlock::Mutex::new(0);
/// let guard = mutex.lock();
/// std::thread::scope(|threads| {
///     threads.spawn(move || drop(guard));
/// });
/// ```
///
/// A mutex of what may not be sent is not shared:
///
/// ```compile_fail,E0277
/// let mutex = overlock::Mutex::new(std::rc::Rc::new(0));
/// std::thread::scope(|threads| {
///     threads.spawn(|| drop(mutex.lock()));
/// });
/// ```
///
/// A guard is not shared if what it protects is not:
///
/// ```compile_fail,E0277
/// let mutex = overlock::Mutex::new(std::cell::Cell::new(0));
/// let guard = mutex.lock();
/// std::thread::scope(|threads| {
///     threads.spawn(|| guard.set(1));
/// });
/// ```
///
/// Its data do not outlive it:
///
/// ```compile_fail,E0597
/// let mutex = overlock::Mutex::new(0);
/// let inside;
/// {
///     let mut guard = mutex.lock();
///     inside = &mut *guard;
/// }
/// *inside = 1;
/// ```
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct MutexGuard<'a, T: ?Sized, L: RawLock = Usual> {
    pub(crate) mutex: &'a Mutex<T, L>,
    of_this_thread: PhantomData<*const ()>,
}

unsafe impl<T: ?Sized + Sync, L: RawLock + Sync> Sync for MutexGuard<'_, T, L> {}

#[cfg(feature = "std")]
impl<T: ?Sized, L: RawLock> MutexGuard<'_, T, L> {
    pub(crate) fn lock(&self) -> &L {
        &self.mutex.lock
    }
}

impl<T: ?Sized, L: RawLock> Deref for MutexGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for MutexGuard<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized, L: RawLock> Drop for MutexGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        unsafe { self.mutex.lock.unlock() }
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for MutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display, L: RawLock> fmt::Display for MutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
