// SPDX-License-Identifier: MIT
#![cfg(feature = "std")]

use overlock::{Barrier, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(3);
const THREADS: usize = 8;

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

#[test]
fn what_may_be_sent_and_shared() {
    is_send::<Mutex<Cell<u8>>>();
    is_sync::<Mutex<Cell<u8>>>();
    is_sync::<MutexGuard<'_, u8>>();
    is_send::<RwLock<Cell<u8>>>();
    is_sync::<RwLock<u8>>();
    is_sync::<RwLockReadGuard<'_, u8>>();
    is_sync::<RwLockWriteGuard<'_, u8>>();
    is_sync::<Condvar>();
    is_sync::<Barrier>();
}

#[test]
fn sizes() {
    assert_eq!(std::mem::size_of::<Mutex<()>>(), 4);
    assert_eq!(std::mem::size_of::<Mutex<u32>>(), 8);
    assert_eq!(std::mem::size_of::<RwLock<()>>(), 8);
    assert_eq!(std::mem::size_of::<Barrier>(), 8);
}

#[test]
fn a_mutex_counts_with_more_threads_than_cpus() {
    let count = Mutex::new(0u64);
    std::thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                for _ in 0..50_000 {
                    *count.lock() += 1;
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 50_000 * THREADS as u64);
}

#[test]
fn a_panic_releases_the_mutex_and_keeps_what_was_done() {
    let mutex = Mutex::new(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut guard = mutex.lock();
        *guard = 2;
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert!(!mutex.is_locked());
    assert_eq!(*mutex.lock(), 2);
}

#[test]
fn a_panic_releases_the_rwlock() {
    let lock = RwLock::new(1);
    for write in [false, true] {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let (_r, _w);
            if write {
                _w = lock.write();
            } else {
                _r = lock.read();
            }
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert!(lock.try_write().is_some());
    }
}

#[test]
fn a_panic_in_a_condition_of_a_wait_releases_the_mutex() {
    let (mutex, changed) = (Mutex::new(()), Condvar::new());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        changed.wait_while(&mut mutex.lock(), |_| panic!("on purpose"));
    }));
    assert!(panicked.is_err());
    assert!(!mutex.is_locked());
}

#[test]
fn unsized_data() {
    let mutex: Box<Mutex<[u8]>> = Box::new(Mutex::new([1, 2, 3]));
    mutex.lock()[0] = 9;
    assert_eq!(&*mutex.lock(), &[9, 2, 3]);
    let lock: Box<RwLock<[u8]>> = Box::new(RwLock::new([1, 2, 3]));
    lock.write()[0] = 9;
    assert_eq!(lock.read().len(), 3);
}

#[test]
fn without_a_lock() {
    let mut mutex: Mutex<String> = Mutex::default();
    mutex.get_mut().push('a');
    assert_eq!(format!("{:?}", mutex), r#"Mutex("a")"#);
    let guard = mutex.lock();
    assert_eq!(format!("{:?} {} {:?}", guard, guard, mutex), r#""a" a Mutex(<locked>)"#);
    drop(guard);
    assert_eq!(mutex.into_inner(), "a");
    let mut lock = RwLock::from(1);
    *lock.get_mut() = 2;
    assert_eq!(format!("{:?}", lock), "RwLock(2)");
    let guard = lock.write();
    assert_eq!(format!("{:?} {:?}", guard, lock), "2 RwLock(<locked>)");
}

#[test]
fn a_wait_ends_by_its_limit() {
    let (mutex, changed) = (Mutex::new(0), Condvar::new());
    let begin = Instant::now();
    let mut guard = mutex.lock();
    // Nobody calls; a wait may return unwoken.
    while !changed.wait_for(&mut guard, SHORT).timed_out() {}
    assert!(begin.elapsed() >= SHORT);
    while !changed.wait_until(&mut guard, begin).timed_out() {}
    assert!(changed.wait_while_for(&mut guard, |n| *n == 0, SHORT).timed_out());
    assert!(!changed.wait_while_for(&mut guard, |n| *n == 1, SHORT).timed_out());
    assert!(mutex.is_locked());
    changed.notify_one();
    changed.notify_all();
}

#[test]
fn notify_all_wakes_all() {
    let (waiting, changed) = (Mutex::new(0), Condvar::new());
    let gone = Condvar::new();
    std::thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                let mut guard = waiting.lock();
                *guard += 1;
                changed.wait_while(&mut guard, |n| *n < 100);
                *guard += 1;
                gone.notify_one();
            });
        }
        let mut guard = waiting.lock();
        while *guard != THREADS {
            drop(guard);
            std::thread::yield_now();
            guard = waiting.lock();
        }
        *guard = 100;
        changed.notify_all();
        gone.wait_while(&mut guard, |n| *n != 100 + THREADS);
    });
}

#[test]
fn a_barrier_has_one_leader_in_each_round() {
    const ROUNDS: usize = 200;
    let (barrier, leaders) = (Barrier::new(THREADS), AtomicU32::new(0));
    let came: Vec<AtomicU32> = (0..ROUNDS).map(|_| AtomicU32::new(0)).collect();
    std::thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                for round in &came {
                    round.fetch_add(1, Relaxed);
                    let leads = barrier.wait().is_leader();
                    assert_eq!(round.load(Relaxed) as usize, THREADS);
                    leaders.fetch_add(leads as u32, Relaxed);
                }
            });
        }
    });
    assert_eq!(leaders.into_inner() as usize, ROUNDS);
    assert!(Barrier::new(0).wait().is_leader());
    assert!(catch_unwind(|| Barrier::new(1 << 31)).is_err());
}

#[test]
fn readers_read_together() {
    let (lock, both) = (RwLock::new(5), Barrier::new(2));
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let guard = lock.read();
                both.wait(); // returns only if two are inside
                assert_eq!(*guard, 5);
            });
        }
    });
}

#[test]
fn what_excludes_what() {
    let lock = RwLock::new(());
    let reads = lock.read();
    assert!(lock.try_read().is_some());
    assert!(lock.try_write().is_none());
    assert!(lock.try_write_for(SHORT).is_none());
    assert!(lock.try_read().is_some(), "one who gave up bars nobody");
    drop(reads);
    let writes = lock.try_write().unwrap();
    assert!(lock.try_read().is_none());
    assert!(lock.try_write().is_none());
    let begin = Instant::now();
    assert!(lock.try_read_for(SHORT).is_none());
    assert!(lock.try_write_for(SHORT).is_none());
    assert!(begin.elapsed() >= 2 * SHORT);
    assert!(lock.try_read_until(begin).is_none() && lock.try_write_until(begin).is_none());
    drop(writes);
    assert!(lock.try_read_for(Duration::ZERO).is_some());
    assert!(lock.try_write_for(Duration::ZERO).is_some());
}

#[test]
fn readers_wait_behind_a_writer_that_waits() {
    let lock = RwLock::new(0);
    std::thread::scope(|threads| {
        let reads = lock.read();
        threads.spawn(|| *lock.write() = 1);
        while lock.try_read().is_some() {
            std::thread::yield_now();
        }
        let reader = threads.spawn(|| *lock.read());
        std::thread::sleep(SHORT);
        drop(reads);
        assert_eq!(reader.join().unwrap(), 1);
    });
}

#[test]
fn writers_exclude_all_with_more_threads_than_cpus() {
    let lock = RwLock::new((0u64, 0u64));
    std::thread::scope(|threads| {
        for me in 0..THREADS {
            let lock = &lock;
            threads.spawn(move || {
                for turn in 0..5_000 {
                    if turn % 4 == me % 4 {
                        let mut pair = lock.write();
                        pair.0 += 1;
                        if turn % 64 == 0 {
                            std::thread::yield_now();
                        }
                        pair.1 += 1;
                    } else {
                        let pair = lock.read();
                        assert_eq!(pair.0, pair.1);
                    }
                }
            });
        }
    });
    let total = 5_000 / 4 * THREADS as u64;
    assert_eq!(lock.into_inner(), (total, total));
}

/// Waiters with limits come and go among those that wait for ever; at the end the lock is free.
#[test]
fn who_gives_up_leaves_nothing_behind() {
    let lock = RwLock::new(0u32);
    let (inside, taken) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|threads| {
        for me in 0..THREADS {
            let (lock, inside, taken) = (&lock, &inside, &taken);
            threads.spawn(move || {
                let limit = Duration::from_micros(20 * me as u64);
                for turn in 0..500 {
                    let guard = match turn % 3 {
                        0 => Some(lock.write()),
                        1 => lock.try_write_for(limit),
                        _ => {
                            drop(lock.try_read_for(limit));
                            None
                        }
                    };
                    if let Some(mut guard) = guard {
                        assert_eq!(inside.fetch_add(1, Relaxed), 0);
                        *guard += 1;
                        taken.fetch_add(1, Relaxed);
                        inside.fetch_sub(1, Relaxed);
                    }
                }
            });
        }
    });
    assert!(lock.try_write().is_some());
    assert_eq!(lock.into_inner(), taken.into_inner());
}
