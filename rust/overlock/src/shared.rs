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
//! A waiter first polls for `spin`. It keeps nobody out meanwhile: sections are short, and most holders have a CPU. Queueing
//! costs five atomic operations, and a thread that holds the line and yields keeps all others out. If the lock was not free
//! within `spin`, its holder has most likely lost its CPU.
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
    /// A short time from now, or `until` if that comes first.
    fn soon(until: u64) -> u64;
    /// Looks until the word has none of `bits`. False if `until` came first. Acquires the value that it saw.
    fn poll_lacks(word: &AtomicU32, bits: u32, until: u64) -> bool;
    /// As `poll_lacks`, but it may yield and sleep, until `wake_all`.
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

    /// Tries for a short time. Then it waits in the line, and as W until the word has none of `bars`, and enters. The one
    /// that had the line before has just entered, so it polls first, again.
    #[inline(always)]
    fn wait(
        &self,
        until: u64,
        bars: u32,
        try_enter: fn(&Self) -> bool,
        enter: fn(&AtomicU32),
    ) -> bool {
        let soon = P::soon(until);
        while P::poll_lacks(&self.word, bars | WAITING, soon) {
            if try_enter(self) {
                return true;
            }
        }
        if !P::line_lock(&self.line, until) {
            return false;
        }
        self.word.fetch_or(WAITING, Relaxed);
        let entered = P::poll_lacks(&self.word, bars, P::soon(until))
            || P::wait_lacks(&self.word, bars, until);
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
        self.wait(until, HELD, Self::try_read, |word| {
            word.fetch_add(READER - WAITING, Relaxed);
        })
    }

    #[cold]
    fn write_slow(&self, until: u64) -> bool {
        // A plain store will do: while W is set and nobody is inside, no other thread changes the word.
        self.wait(until, !WAITING, Self::try_write, |word| word.store(HELD, Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    const NEVER: u64 = u64::MAX;
    const SOON: u64 = 7;

    thread_local! {
        static CALLS: RefCell<Vec<&'static str>> = RefCell::default();
        static SHORT: Cell<bool> = Cell::default(); // the section ends while we poll
    }

    /// A holder that leaves while this thread polls or waits, and what the lock asked for.
    enum Fake {}

    fn called(name: &'static str) {
        CALLS.with(|calls| calls.borrow_mut().push(name));
    }

    fn leaves(word: &AtomicU32) {
        word.fetch_and(WAITING, Relaxed);
    }

    impl Platform for Fake {
        type Line = ();

        fn line_lock(_: &(), until: u64) -> bool {
            assert_eq!(until, NEVER);
            called("line");
            true
        }

        unsafe fn line_unlock(_: &()) {
            called("next");
        }

        fn soon(until: u64) -> u64 {
            assert_eq!(until, NEVER);
            SOON
        }

        fn poll_lacks(word: &AtomicU32, bits: u32, until: u64) -> bool {
            assert_eq!(until, SOON);
            called("poll");
            let has_line = CALLS.with(|calls| calls.borrow().contains(&"line"));
            assert_eq!(word.load(Relaxed) & WAITING != 0, has_line, "bars others");
            if SHORT.with(Cell::get) {
                leaves(word);
            }
            word.load(Relaxed) & bits == 0
        }

        fn wait_lacks(word: &AtomicU32, bits: u32, until: u64) -> bool {
            assert_eq!(until, NEVER);
            called("wait");
            assert_ne!(word.load(Relaxed) & WAITING, 0, "bars others");
            leaves(word);
            word.load(Relaxed) & bits == 0
        }

        fn wake_all(_: *const AtomicU32) {
            called("wake");
        }
    }

    /// What a reader and a writer call that meet a writer.
    fn calls(short: bool) -> [Vec<&'static str>; 2] {
        SHORT.with(|it| it.set(short));
        [Shared::read, Shared::write].map(|enter: fn(&Shared<Fake>, u64) -> bool| {
            let lock = Shared::<Fake>::with_line(());
            assert!(lock.try_write());
            assert!(enter(&lock, NEVER));
            assert_eq!(lock.word.load(Relaxed) & WAITING, 0);
            CALLS.with(RefCell::take)
        })
    }

    #[test]
    fn whoever_finds_it_free_in_time_does_not_line_up() {
        assert_eq!(calls(true), [["poll"], ["poll"]]);
    }

    #[test]
    fn whoever_does_not_lines_up_and_bars_others() {
        let all = ["poll", "line", "poll", "wait", "next"];
        assert_eq!(calls(false), [all, all]);
    }
}
