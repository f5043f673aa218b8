// SPDX-License-Identifier: MIT
//! Each of Overlock's locks as a type, without the data that it protects.
//!
//! They are for [`Mutex::with_lock`](crate::Mutex::with_lock), and with the feature `lock_api` for the types of that
//! crate. [`Rota`] is the lock of [`Mutex`](crate::Mutex). What each is for: `docs/choosing.md` of the project.

#[cfg(feature = "std")]
use core::ffi::c_void;
#[cfg(feature = "std")]
use std::time::{Duration, Instant};

/// A lock.
///
/// # Safety
/// `lock`, and `try_lock` that returns true, exclude one another until `unlock`, and acquire what it released.
pub unsafe trait RawLock {
    /// A free lock.
    const INIT: Self;

    fn lock(&self);

    /// True if it has acquired the lock. Does not wait for the holder.
    fn try_lock(&self) -> bool;

    /// # Safety
    /// The caller holds the lock.
    unsafe fn unlock(&self);

    /// Whether somebody holds it now; it may be otherwise by the time that this returns.
    fn is_locked(&self) -> bool;
}

/// A lock whose waiters may leave.
///
/// # Safety
/// As [`RawLock`], if it returns true.
#[cfg(feature = "std")]
pub unsafe trait RawTimedLock: RawLock {
    /// False if the lock was not free in time. Looks at it at least once.
    fn try_lock_for(&self, limit: Duration) -> bool;

    fn try_lock_until(&self, end: Instant) -> bool {
        self.try_lock_for(end.saturating_duration_since(Instant::now()))
    }
}

/// A time of the library.
#[cfg(feature = "std")]
pub(crate) fn after(limit: Duration) -> u64 {
    match u64::try_from(limit.as_nanos()) {
        Ok(ns) if ns != overlock_sys::NEVER => unsafe { overlock_sys::after_ns(ns) },
        _ => overlock_sys::NEVER,
    }
}

macro_rules! lock {
    // Below, with its first attempt in Rust.
    ((rota, $($rest:tt)*)) => {};
    // Its sections may run more than once, or end where they began: a guard may not.
    (($id:ident, $Name:ident, $gives_up:ident, elides, $what:literal)) => {};
    (($id:ident, $Name:ident, $gives_up:ident, plain, $what:literal)) => {
        #[doc = concat!("`", stringify!($id), "`: ", $what, ".")]
        pub struct $Name(overlock_sys::$id::Lock);

        unsafe impl RawLock for $Name {
            const INIT: Self = $Name(overlock_sys::$id::Lock::INIT);

            #[inline]
            fn lock(&self) {
                unsafe { overlock_sys::$id::lock(self.0.get()) }
            }

            #[inline]
            fn try_lock(&self) -> bool {
                unsafe { overlock_sys::$id::trylock(self.0.get()) }
            }

            #[inline]
            unsafe fn unlock(&self) {
                overlock_sys::$id::unlock(self.0.get())
            }

            #[inline]
            fn is_locked(&self) -> bool {
                unsafe { overlock_sys::$id::is_locked(self.0.get()) }
            }
        }

        lock_api_traits!($Name);
        timed!($gives_up, $id, $Name);
    };
}

macro_rules! timed {
    (waits, $id:ident, $Name:ident) => {};
    (timed, $id:ident, $Name:ident) => {
        #[cfg(feature = "std")]
        unsafe impl RawTimedLock for $Name {
            fn try_lock_for(&self, limit: Duration) -> bool {
                self.try_lock()
                    || unsafe { overlock_sys::$id::timedlock(self.0.get(), after(limit)) }
            }
        }
        lock_api_timed!($Name);
    };
}

macro_rules! lock_api_traits {
    ($Name:ident) => {
        #[cfg(feature = "lock_api")]
        unsafe impl lock_api::RawMutex for $Name {
            const INIT: Self = <$Name as RawLock>::INIT;
            type GuardMarker = lock_api::GuardNoSend;

            #[inline]
            fn lock(&self) {
                RawLock::lock(self)
            }

            #[inline]
            fn try_lock(&self) -> bool {
                RawLock::try_lock(self)
            }

            #[inline]
            unsafe fn unlock(&self) {
                RawLock::unlock(self)
            }

            #[inline]
            fn is_locked(&self) -> bool {
                RawLock::is_locked(self)
            }
        }
    };
}

#[allow(unused_macros)] // without std
macro_rules! lock_api_timed {
    ($Name:ident) => {
        #[cfg(all(feature = "lock_api", feature = "std"))]
        unsafe impl lock_api::RawMutexTimed for $Name {
            type Duration = Duration;
            type Instant = Instant;

            fn try_lock_for(&self, limit: Duration) -> bool {
                RawTimedLock::try_lock_for(self, limit)
            }

            fn try_lock_until(&self, end: Instant) -> bool {
                RawTimedLock::try_lock_until(self, end)
            }
        }
    };
}

macro_rules! locks {
    ($($entry:tt)*) => { $(lock!($entry);)* };
}

overlock_sys::for_each_lock!(locks);

/// `rota`: test-and-set lock whose waiters sleep in turns. The lock of [`Mutex`](crate::Mutex).
#[cfg(feature = "std")]
pub struct Rota(crate::fast::Word);

#[cfg(feature = "std")]
const _: () = {
    use crate::fast::{CLAIMED, HELD, SLEEPERS, WAKE};
    let [held, claimed, wake, sleepers] = overlock_sys::ROTA_BITS;
    assert!(HELD == held && CLAIMED == claimed && WAKE == wake && SLEEPERS == sleepers);
};

#[cfg(feature = "std")]
impl Rota {
    #[inline]
    fn raw(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }

    #[inline]
    pub(crate) fn lock_until(&self, until: u64) -> bool {
        self.0.try_lock() || unsafe { overlock_sys::rota_lock_slow(self.raw(), until) }
    }
}

#[cfg(feature = "std")]
unsafe impl RawLock for Rota {
    const INIT: Self = Rota(crate::fast::Word::FREE);

    #[inline]
    fn lock(&self) {
        self.lock_until(overlock_sys::NEVER);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        if let Err(word) = self.0.unlock() {
            overlock_sys::rota_unlock_slow(self.raw(), word)
        }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

#[cfg(feature = "std")]
unsafe impl RawTimedLock for Rota {
    fn try_lock_for(&self, limit: Duration) -> bool {
        self.0.try_lock() || self.lock_until(after(limit))
    }
}

#[cfg(feature = "std")]
lock_api_traits!(Rota);
#[cfg(feature = "std")]
lock_api_timed!(Rota);
