// SPDX-License-Identifier: MIT
//! Each lock of Overlock's list, by its traits.
#![cfg(feature = "std")]

use overlock::raw::{self, RawLock, RawTimedLock};
use overlock::{Barrier, Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::time::{Duration, Instant};

const THREADS: usize = 4;
const SECTIONS: usize = 15;

/// How often two threads were inside at once. Each section yields, so that without a lock the others come in.
fn intrusions<L: RawLock + Sync>(lock: &L) -> u32 {
    let (inside, found, start) = (AtomicU32::new(0), AtomicU32::new(0), Barrier::new(THREADS));
    std::thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                start.wait();
                for _ in 0..SECTIONS {
                    lock.lock();
                    found.fetch_add(inside.fetch_add(1, Relaxed), Relaxed);
                    std::thread::sleep(Duration::from_micros(10));
                    inside.fetch_sub(1, Relaxed);
                    unsafe { lock.unlock() };
                }
            });
        }
    });
    found.into_inner()
}

fn excludes<L: RawLock + Sync>() {
    assert_eq!(intrusions(&L::INIT), 0);
}

fn tries<L: RawLock + Sync>() {
    let lock = L::INIT;
    assert!(!lock.is_locked());
    assert!(lock.try_lock());
    assert!(lock.is_locked());
    std::thread::scope(|threads| {
        assert!(!threads.spawn(|| lock.try_lock()).join().unwrap());
    });
    unsafe { lock.unlock() };
    assert!(!lock.is_locked());
    assert!(lock.try_lock());
    unsafe { lock.unlock() };
}

fn gives_up<L: RawTimedLock + Sync>() {
    let (lock, limit) = (L::INIT, Duration::from_millis(3));
    lock.lock();
    let begin = Instant::now();
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| assert!(!lock.try_lock_for(limit)));
        }
    });
    assert!(begin.elapsed() >= limit);
    assert!(!lock.try_lock_until(begin), "of the past");
    // It is handed to one who has time.
    let waits = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            waits.store(true, Relaxed);
            assert!(lock.try_lock_for(Duration::from_secs(600)));
            unsafe { lock.unlock() };
        });
        while !waits.load(Relaxed) {
            std::thread::yield_now();
        }
        std::thread::sleep(limit);
        unsafe { lock.unlock() };
    });
    assert!(lock.try_lock_for(Duration::ZERO), "free");
    unsafe { lock.unlock() };
    assert!(lock.try_lock_for(Duration::MAX), "free");
    unsafe { lock.unlock() };
}

/// A token goes from thread to thread, by notify_one and by notify_all.
fn waits<L: RawLock + Send + Sync>() {
    let (turn, changed) = (Mutex::<usize, L>::with_lock(0), Condvar::new());
    std::thread::scope(|threads| {
        for me in 0..3 {
            let (turn, changed) = (&turn, &changed);
            threads.spawn(move || {
                for round in 0..4 {
                    let mut guard = turn.lock();
                    changed.wait_while(&mut guard, |t| *t != 3 * round + me);
                    *guard += 1;
                    drop(guard);
                    changed.notify_all();
                }
            });
        }
    });
    assert_eq!(turn.into_inner(), 12);

    let tokens = Mutex::<usize, L>::with_lock(0);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                for _ in 0..10 {
                    let mut guard = tokens.lock();
                    changed.wait_while(&mut guard, |t| *t == 0);
                    *guard -= 1;
                }
            });
        }
        for _ in 0..20 {
            *tokens.lock() += 1;
            changed.notify_one();
        }
    });
    assert_eq!(tokens.into_inner(), 0);
}

macro_rules! timed_test {
    (waits, $Name:ident) => {};
    (timed, $Name:ident) => {
        #[test]
        fn gives_up() {
            super::gives_up::<raw::$Name>();
        }
    };
}

macro_rules! tests {
    ($(($id:ident, $Name:ident, $gives_up:ident, $elides:ident, $what:literal))*) => {
        $(tests!(one $id $Name $gives_up $elides);)*

        #[test]
        fn the_list_is_whole() {
            let names: &[&str] = &[$(stringify!($id)),*];
            let list = include_str!("../../overlock-sys/vendor/include/overlock/locks.def");
            assert_eq!(names.len(), list.matches("\nOL_LOCK(").count());
            assert!(names.len() >= 30);
            for name in names {
                assert!(list.contains(&format!("\nOL_LOCK({}, ", name)), "{}", name);
            }
        }
    };
    (one $id:ident $Name:ident $gives_up:ident elides) => {};
    (one $id:ident $Name:ident $gives_up:ident plain) => {
        mod $id {
            use super::raw;

            #[test]
            fn excludes() {
                super::excludes::<raw::$Name>();
            }

            #[test]
            fn tries() {
                super::tries::<raw::$Name>();
            }

            #[test]
            fn waits() {
                super::waits::<raw::$Name>();
            }

            timed_test!($gives_up, $Name);

            #[test]
            fn has_the_size_of_the_c() {
                assert_eq!(core::mem::size_of::<raw::$Name>(), overlock_sys::$id::SIZE);
                assert_eq!(core::mem::align_of::<raw::$Name>(), overlock_sys::$id::ALIGN);
            }
        }
    };
}

overlock_sys::for_each_lock!(tests);

struct NoLock;

unsafe impl RawLock for NoLock {
    const INIT: Self = NoLock;
    fn lock(&self) {}
    fn try_lock(&self) -> bool {
        true
    }
    unsafe fn unlock(&self) {}
    fn is_locked(&self) -> bool {
        false
    }
}

#[test]
fn a_lock_that_does_not_exclude_is_noticed() {
    assert!(intrusions(&NoLock) > 0);
}
