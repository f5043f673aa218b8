// SPDX-License-Identifier: MIT
#![cfg(all(feature = "lock_api", feature = "std"))]

use overlock::{raw, RawRwLock};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(3);

fn of_a_mutex<R: lock_api::RawMutex + Sync>() {
    let count = lock_api::Mutex::<R, u64>::new(0);
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| (0..50).for_each(|_| *count.lock() += 1));
        }
    });
    let guard = count.lock();
    assert!(count.is_locked());
    assert!(count.try_lock().is_none());
    assert_eq!(*guard, 150);
    drop(guard);
    assert!(count.try_lock().is_some());
}

fn of_a_timed_mutex<R>()
where
    R: lock_api::RawMutexTimed<Duration = Duration, Instant = Instant>,
{
    let mutex = lock_api::Mutex::<R, ()>::new(());
    let guard = mutex.lock();
    assert!(mutex.try_lock_for(SHORT).is_none());
    assert!(mutex.try_lock_until(Instant::now() + SHORT).is_none());
    drop(guard);
    assert!(mutex.try_lock_for(SHORT).is_some());
}

macro_rules! tests {
    ($(($id:ident, $Name:ident, $gives_up:ident, $elides:ident, $what:literal))*) => {
        $(tests!(one $id $Name $gives_up $elides);)*
    };
    (one $id:ident $Name:ident $gives_up:ident elides) => {};
    (one $id:ident $Name:ident waits plain) => {
        #[test]
        fn $id() {
            of_a_mutex::<raw::$Name>();
        }
    };
    (one $id:ident $Name:ident timed plain) => {
        #[test]
        fn $id() {
            of_a_mutex::<raw::$Name>();
            of_a_timed_mutex::<raw::$Name>();
        }
    };
}

overlock_sys::for_each_lock!(tests);

#[test]
fn the_rwlock() {
    let lock = lock_api::RwLock::<RawRwLock, u32>::new(1);
    let (a, b) = (lock.read(), lock.read());
    assert_eq!(*a + *b, 2);
    assert!(lock.is_locked() && !lock.is_locked_exclusive());
    assert!(lock.try_write_for(SHORT).is_none());
    drop((a, b));
    *lock.write() += 1;
    let guard = lock.write();
    assert!(lock.is_locked_exclusive());
    assert!(lock.try_read_for(SHORT).is_none());
    assert_eq!(*guard, 2);
}
