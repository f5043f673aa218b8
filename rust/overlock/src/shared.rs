// SPDX-License-Identifier: MIT
//! The lock of [`RwLock`](crate::RwLock): a word, and a mutex in which those line up that cannot enter at once.
//!
//! ```text
//!  31                              2  1  0
//! +---------------------------------+--+--+      +--------+
//! |             readers             |W |H |      |  line  |
//! +---------------------------------+--+--+      +--------+
//!  H: a writer holds it   W: the one who has the line waits; no other may enter
//! ```
//!
//! It is Linux's queued rwlock (`overlock/lock/qrw.h`) but for this: the line is `rota`, so that waiters sleep and yield,
//! and one who has the line sleeps, too. Readers and writers line up alike. A lock without waiters leaves the line alone.
//!
//! While W is set, only those inside change the word, by leaving, and the one who has the line. It sets W before it
//! looks, and who leaves sees W in what it changes, or is seen by that look: so no wake-up is lost.
//!
//! Pairing: the acquires of `try_read`, `try_write` and of the waits acquire from the releases of `unlock_read` and
//! `unlock_write`. These are read-modify-writes, as are all changes but `write_slow`'s own, so that a reader that leaves
//! continues the release sequence of those that left before. All else is relaxed.

use core::sync::atomic::{AtomicU32, Ordering::*};

const HELD: u32 = 1;
const WAITING: u32 = 2;
const READER: u32 = 4;
const MOST: u32 = u32::MAX - 2 * READER;

/// What the lock needs beside its word. `until` is a time of the platform.
pub(crate) trait Platform {
    type Line;
    fn line_lock(line: &Self::Line, until: u64) -> bool;
    /// # Safety
    /// The caller has the line.
    unsafe fn line_unlock(line: &Self::Line);
    /// Acquires the value that it saw. False if `until` came first.
    fn wait_equals(word: &AtomicU32, value: u32, until: u64) -> bool;
    fn wait_lacks(word: &AtomicU32, bits: u32, until: u64) -> bool;
    /// The memory may be gone: who saw the change may have freed it. So this is no reference.
    fn wake_all(word: *const AtomicU32);
}

pub(crate) struct Shared<P: Platform> {
    word: AtomicU32,
    line: P::Line,
}

impl<P: Platform> Shared<P> {
    pub(crate) const fn with_line(line: P::Line) -> Self {
        Shared { word: AtomicU32::new(0), line }
    }

    #[cfg(feature = "lock_api")]
    pub(crate) fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & !WAITING != 0
    }

    #[cfg(feature = "lock_api")]
    pub(crate) fn is_locked_exclusive(&self) -> bool {
        self.word.load(Relaxed) & HELD != 0
    }

    #[inline]
    pub(crate) fn try_read(&self) -> bool {
        let mut w = self.word.load(Relaxed);
        while w & (HELD | WAITING) == 0 && w < MOST {
            match self.word.compare_exchange_weak(w, w + READER, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => w = now,
            }
        }
        false
    }

    #[inline]
    pub(crate) fn try_write(&self) -> bool {
        self.word.compare_exchange(0, HELD, Acquire, Relaxed).is_ok()
    }

    /// False if `until` came first.
    #[inline]
    pub(crate) fn read(&self, until: u64) -> bool {
        self.try_read() || self.read_slow(until)
    }

    #[inline]
    pub(crate) fn write(&self, until: u64) -> bool {
        self.try_write() || self.write_slow(until)
    }

    /// # Safety
    /// The caller reads.
    #[inline]
    pub(crate) unsafe fn unlock_read(&self) {
        let word: *const AtomicU32 = &self.word;
        if self.word.fetch_sub(READER, Release) == READER | WAITING {
            P::wake_all(word);
        }
    }

    /// # Safety
    /// The caller writes.
    #[inline]
    pub(crate) unsafe fn unlock_write(&self) {
        let word: *const AtomicU32 = &self.word;
        if self.word.fetch_sub(HELD, Release) & WAITING != 0 {
            P::wake_all(word);
        }
    }

    /// Waits in the line, and then as W until `wait` returns true. It enters by `enter`, if that returns true.
    fn line_up(
        &self,
        until: u64,
        wait: fn(&AtomicU32, u64) -> bool,
        enter: fn(&AtomicU32),
    ) -> bool {
        if !P::line_lock(&self.line, until) {
            return false;
        }
        self.word.fetch_or(WAITING, Relaxed);
        let entered = wait(&self.word, until);
        if entered {
            enter(&self.word);
        } else {
            self.word.fetch_and(!WAITING, Relaxed);
        }
        unsafe { P::line_unlock(&self.line) };
        entered
    }

    #[cold]
    fn read_slow(&self, until: u64) -> bool {
        assert!(self.word.load(Relaxed) < MOST, "too many readers of one RwLock");
        self.line_up(
            until,
            |word, until| P::wait_lacks(word, HELD, until),
            |word| {
                word.fetch_add(READER - WAITING, Relaxed);
            },
        )
    }

    #[cold]
    fn write_slow(&self, until: u64) -> bool {
        self.line_up(
            until,
            |word, until| P::wait_equals(word, WAITING, until),
            |word| word.store(HELD, Relaxed), // nobody else changes it now
        )
    }
}
