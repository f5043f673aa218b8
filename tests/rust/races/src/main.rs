// SPDX-License-Identifier: MIT
//! Plain data under each of the crate's types. Threads are pthreads and nothing of std synchronises: std is not
//! instrumented, so ThreadSanitizer would not see that it does.
use overlock::{Barrier, Condvar, Mutex, RwLock};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::time::Duration;

extern "C" {
    fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        start: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> i32;
    fn pthread_join(thread: usize, result: *mut *mut c_void) -> i32;
    fn sched_yield() -> i32;
}

const THREADS: usize = 4;
const ROUNDS: u64 = 2000;

struct Shared {
    mutex: Mutex<u64>,
    rwlock: RwLock<u64>,
    turn: Mutex<u64>,
    changed: Condvar,
    barrier: Barrier,
    rows: UnsafeCell<[u64; THREADS]>, // each thread writes its own between two barriers, and reads all after the second
}

unsafe impl Sync for Shared {}

static ALL: Shared = Shared {
    mutex: Mutex::new(0),
    rwlock: RwLock::new(0),
    turn: Mutex::new(0),
    changed: Condvar::new(),
    barrier: Barrier::new(THREADS),
    rows: UnsafeCell::new([0; THREADS]),
};

extern "C" fn start(me: *mut c_void) -> *mut c_void {
    let me = me as usize;
    for round in 0..ROUNDS {
        *ALL.mutex.lock() += 1;
        if let Some(mut n) = ALL.mutex.try_lock_for(Duration::from_micros(1)) {
            *n += 1;
            *n -= 1;
        }
        if (round as usize + me) % 4 == 0 {
            *ALL.rwlock.write() += 1;
        } else {
            assert!(*ALL.rwlock.read() <= THREADS as u64 * ROUNDS);
        }
        if round % 16 == 0 {
            unsafe { sched_yield() };
        }
    }
    for round in 0..ROUNDS / 20 {
        let mut turn = ALL.turn.lock();
        ALL.changed.wait_while(&mut turn, |t| *t % THREADS as u64 != me as u64);
        *turn += 1;
        drop(turn);
        ALL.changed.notify_all();
        ALL.barrier.wait();
        let rows = ALL.rows.get();
        unsafe { (*rows)[me] = round };
        ALL.barrier.wait();
        assert!((0..THREADS).all(|other| unsafe { (*rows)[other] } == round));
    }
    std::ptr::null_mut()
}

fn main() {
    let mut threads = [0; THREADS];
    for (me, thread) in threads.iter_mut().enumerate() {
        assert_eq!(
            unsafe { pthread_create(thread, std::ptr::null(), start, me as *mut c_void) },
            0
        );
    }
    for thread in threads {
        assert_eq!(unsafe { pthread_join(thread, std::ptr::null_mut()) }, 0);
    }
    assert_eq!(*ALL.mutex.lock(), THREADS as u64 * ROUNDS);
    assert_eq!(*ALL.rwlock.read(), THREADS as u64 * ROUNDS / 4);
    assert_eq!(*ALL.turn.lock(), THREADS as u64 * (ROUNDS / 20));
}
