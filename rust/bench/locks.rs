// SPDX-License-Identifier: MIT
//! Overlock's Mutex and RwLock beside those of std, parking_lot and spin.
//!
//!     cargo bench                        all
//!     cargo bench -- mutex/4x            one load
//!     cargo bench -- --test              each once, to see that it runs
//!
//! `uncontended`: a lock and unlock by one thread. `mutex/Nx`: N threads per CPU, each takes the lock, does `INSIDE`
//! turns of arithmetic on what it protects, releases it, and does `OUTSIDE` turns of its own. The time is that of a
//! section: the wall time of all sections, of all threads, divided by their number. `rwlock/Nx`: the same; one section in
//! `WRITES` writes.
//!
//! Criterion measures one lock after the other, so a load that comes and goes on the machine may decide a comparison:
//! `rounds` alternates. spin is not measured with more threads than CPUs but once, at 4x.

mod contenders;

use contenders::*;
use criterion::{criterion_group, criterion_main, Criterion};
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

const INSIDE: u64 = 25;
const OUTSIDE: u64 = 100;
const WRITES: u64 = 16;

/// The time of `each` sections of each of `n` threads, over `n`.
fn contend<L: Lock>(n: usize, each: u64, writes: u64) -> Duration {
    let (lock, start) = (Apart(L::make()), Barrier::new(n + 1));
    let mut begin = None;
    thread::scope(|threads| {
        for me in 0..n as u64 {
            let (lock, start) = (&lock.0, &start);
            threads.spawn(move || {
                start.wait();
                let mut own = me;
                for turn in 0..each {
                    if (turn + me) % writes == 0 {
                        lock.write(|n| *n = work(*n, INSIDE));
                    } else {
                        lock.read(|n| own ^= work(*n, INSIDE));
                    }
                    own = work(own, OUTSIDE);
                }
            });
        }
        begin = Some(Instant::now()); // before the last comes: no thread has begun
        start.wait();
    });
    begin.unwrap().elapsed() / n as u32
}

fn alone<L: Lock>(c: &mut Criterion, group: &str, name: &str) {
    let Apart(lock) = &Apart(L::make());
    c.bench_function(&format!("uncontended/{}/{}", group, name), |b| {
        b.iter(|| lock.write(|n| *n = black_box(*n)))
    });
}

fn crowd<L: Lock>(c: &mut Criterion, group: &str, name: &str, per_cpu: usize, writes: u64) {
    let cpus = thread::available_parallelism().unwrap().get();
    c.bench_function(&format!("{}/{}x/{}", group, per_cpu, name), |b| {
        b.iter_custom(|each| contend::<L>(per_cpu * cpus, each, writes))
    });
}

fn locks(c: &mut Criterion) {
    alone::<OverlockMutex>(c, "mutex", "overlock");
    alone::<StdMutex>(c, "mutex", "std");
    alone::<ParkingLotMutex>(c, "mutex", "parking_lot");
    alone::<SpinMutex>(c, "mutex", "spin");
    alone::<OverlockRwLock>(c, "rwlock", "overlock");
    alone::<StdRwLock>(c, "rwlock", "std");
    alone::<ParkingLotRwLock>(c, "rwlock", "parking_lot");
    for per_cpu in [1, 4, 8] {
        crowd::<OverlockMutex>(c, "mutex", "overlock", per_cpu, 1);
        crowd::<StdMutex>(c, "mutex", "std", per_cpu, 1);
        crowd::<ParkingLotMutex>(c, "mutex", "parking_lot", per_cpu, 1);
        if per_cpu < 8 {
            crowd::<SpinMutex>(c, "mutex", "spin", per_cpu, 1);
        }
        crowd::<OverlockRwLock>(c, "rwlock", "overlock", per_cpu, WRITES);
        crowd::<StdRwLock>(c, "rwlock", "std", per_cpu, WRITES);
        crowd::<ParkingLotRwLock>(c, "rwlock", "parking_lot", per_cpu, WRITES);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .sample_size(30)
        .without_plots();
    targets = locks
}
criterion_main!(benches);
