// SPDX-License-Identifier: MIT
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use overlock_sys as sys;

use crate::raw::{after, RawLock, Rota};
use crate::shared::{Platform, Shared};

/// The library, and `rota` as the line.
pub(crate) enum Library {}

impl Platform for Library {
    type Line = Rota;

    fn line_lock(line: &Rota, until: u64) -> bool {
        line.lock_until(until)
    }

    unsafe fn line_unlock(line: &Rota) {
        line.unlock()
    }

    fn soon(until: u64) -> u64 {
        unsafe { sys::soon(until) }
    }

    fn poll_lacks(word: &AtomicU32, bits: u32, until: u64) -> bool {
        unsafe { sys::poll_lacks(pointer(word), bits, until) }
    }

    fn wait_lacks(word: &AtomicU32, bits: u32, until: u64) -> bool {
        unsafe { sys::wait_lacks(pointer(word), bits, until) }
    }

    #[cold]
    fn wake_all(word: *const AtomicU32) {
        unsafe { sys::wake_all(word.cast()) }
    }
}

fn pointer(word: &AtomicU32) -> *const u32 {
    word as *const AtomicU32 as *const u32
}

/// The lock of [`RwLock`], without data: for `lock_api::RwLock`.
pub struct RawRwLock(Shared<Library>);

impl RawRwLock {
    const FREE: RawRwLock = RawRwLock(Shared::with_line(<Rota as RawLock>::INIT));
}

/// A lock that many readers or one writer hold.
///
/// It has eight bytes. Readers and writers who cannot enter within two microseconds line up together, so that neither starve
/// the others: while somebody waits there, new readers wait, too. A thread that reads must therefore not ask to read again.
///
/// ```
/// use overlock::RwLock;
///
/// let words = RwLock::new(vec!["a"]);
/// assert_eq!(words.read().len(), 1);
/// words.write().push("b");
/// assert_eq!(words.into_inner(), ["a", "b"]);
/// ```
///
/// There is no poisoning, as with [`Mutex`](crate::Mutex).
pub struct RwLock<T: ?Sized> {
    lock: RawRwLock,
    data: UnsafeCell<T>,
}

unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// Readers share `T`, and a writer may take it away.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    pub const fn new(data: T) -> Self {
        RwLock { lock: RawRwLock::FREE, data: UnsafeCell::new(data) }
    }

    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.lock.0.read(sys::NEVER);
        self.reads()
    }

    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.lock.0.write(sys::NEVER);
        self.writes()
    }

    /// `None` if somebody writes, or waits. Does not wait.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        if self.lock.0.try_read() {
            Some(self.reads())
        } else {
            None
        }
    }

    /// `None` if somebody reads, writes or waits. Does not wait.
    #[inline]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        if self.lock.0.try_write() {
            Some(self.writes())
        } else {
            None
        }
    }

    pub fn try_read_for(&self, limit: Duration) -> Option<RwLockReadGuard<'_, T>> {
        if self.lock.0.try_read() || self.lock.0.read(after(limit)) {
            Some(self.reads())
        } else {
            None
        }
    }

    pub fn try_write_for(&self, limit: Duration) -> Option<RwLockWriteGuard<'_, T>> {
        if self.lock.0.try_write() || self.lock.0.write(after(limit)) {
            Some(self.writes())
        } else {
            None
        }
    }

    pub fn try_read_until(&self, end: Instant) -> Option<RwLockReadGuard<'_, T>> {
        self.try_read_for(end.saturating_duration_since(Instant::now()))
    }

    pub fn try_write_until(&self, end: Instant) -> Option<RwLockWriteGuard<'_, T>> {
        self.try_write_for(end.saturating_duration_since(Instant::now()))
    }

    /// Needs no lock: nobody else has a reference.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    #[inline]
    fn reads(&self) -> RwLockReadGuard<'_, T> {
        RwLockReadGuard { lock: self, of_this_thread: PhantomData }
    }

    #[inline]
    fn writes(&self) -> RwLockWriteGuard<'_, T> {
        RwLockWriteGuard { lock: self, of_this_thread: PhantomData }
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(data: T) -> Self {
        RwLock::new(data)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_read() {
            Some(data) => f.debug_tuple("RwLock").field(&&*data).finish(),
            None => f.write_str("RwLock(<locked>)"),
        }
    }
}

/// Lets others write, once no reader is left, when it is dropped.
///
/// Readers share a `T` that may not be shared between threads in no other way:
///
/// ```compile_fail,E0277
/// let lock = overlock::RwLock::new(std::cell::Cell::new(0));
/// std::thread::scope(|threads| {
///     threads.spawn(|| lock.read().set(1));
/// });
/// ```
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    of_this_thread: PhantomData<*const ()>,
}

/// Lets others in when it is dropped.
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    of_this_thread: PhantomData<*const ()>,
}

unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        unsafe { self.lock.lock.0.unlock_read() }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        unsafe { self.lock.lock.0.unlock_write() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(feature = "lock_api")]
unsafe impl lock_api::RawRwLock for RawRwLock {
    const INIT: Self = RawRwLock::FREE;
    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock_shared(&self) {
        self.0.read(sys::NEVER);
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        self.0.try_read()
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        self.0.unlock_read()
    }

    #[inline]
    fn lock_exclusive(&self) {
        self.0.write(sys::NEVER);
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        self.0.try_write()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        self.0.unlock_write()
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }
}

#[cfg(feature = "lock_api")]
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, limit: Duration) -> bool {
        self.0.read(after(limit))
    }

    fn try_lock_shared_until(&self, end: Instant) -> bool {
        self.0.read(after(end.saturating_duration_since(Instant::now())))
    }

    fn try_lock_exclusive_for(&self, limit: Duration) -> bool {
        self.0.write(after(limit))
    }

    fn try_lock_exclusive_until(&self, end: Instant) -> bool {
        self.0.write(after(end.saturating_duration_since(Instant::now())))
    }
}
