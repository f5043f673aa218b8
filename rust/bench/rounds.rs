// SPDX-License-Identifier: MIT
//! Overlock's Mutex and RwLock beside those of std and parking_lot, in rounds in which all take turns.
//!
//!     cargo bench --bench rounds                          all
//!     cargo bench --bench rounds -- mutex/8x short        what has all of these words in its name
//!     cargo bench --bench rounds -- --rounds 5 --ms 300   so many rounds; so long for each lock in each
//!
//! A round in which other programs used more than `OTHERS` of the CPUs is repeated after a second, `REPEATS` times at
//! most. Judge by the ratios, which are taken within each round. Each number is the median of the rounds, and the least and the greatest. `ns`: wall time over the sections of
//! all threads together. `CPU ns`: the same of the CPU time of all threads. `overlock's rate`: that lock's `ns` over overlock's in the same round; more than 1 means that
//! overlock was faster. `sleeps`,
//! `preemptions`: voluntary and other context switches in a million sections. `least share`: the sections of the thread that had fewest, over the mean of all threads.

#[allow(dead_code)] // spin's
mod contenders;

use contenders::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Turns of arithmetic with the lock and without it; for rwlocks, one section in `writes` writes.
struct Load {
    name: &'static str,
    inside: u64,
    outside: u64,
    writes: u64,
}

const LOADS: [Load; 4] = [
    Load { name: "short", inside: 25, outside: 100, writes: 16 }, // that of `locks`
    Load { name: "long", inside: 500, outside: 500, writes: 16 },
    Load { name: "rare", inside: 25, outside: 2000, writes: 16 },
    Load { name: "half", inside: 25, outside: 100, writes: 2 },
];
const OTHERS: f64 = 0.06;
const REPEATS: usize = 60;
const PER_CPU: [usize; 3] = [1, 4, 8];

#[derive(Clone, Copy)]
struct Rate {
    ns: f64,
    cpu: f64,
    switches: [f64; 2], // voluntary or not, in a million sections
    least: f64,
    others: f64,
}

/// The ticks of 10 ms that the CPUs did not idle. The first line of /proc/stat: user, nice, system, idle, iowait, ...
fn busy_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let ticks = text.lines().next().unwrap().split_whitespace().skip(1).take(8).enumerate();
    1e7 * ticks
        .filter(|(i, _)| *i != 3 && *i != 4)
        .map(|(_, n)| n.parse::<f64>().unwrap())
        .sum::<f64>()
}

/// The CPU time of the process in ns, and its context switches, voluntary or not.
fn used() -> [f64; 3] {
    let usage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let ns = |t: libc::timeval| t.tv_sec as f64 * 1e9 + t.tv_usec as f64 * 1e3;
    [ns(usage.ru_utime) + ns(usage.ru_stime), usage.ru_nvcsw as f64, usage.ru_nivcsw as f64]
}

type Measure = fn(usize, &Load, Duration) -> Rate;

fn contend<L: Lock>(n: usize, load: &Load, time: Duration, writes: u64) -> Rate {
    let (lock, start) = (Apart(L::make()), Barrier::new(n + 1));
    let over = Apart(AtomicBool::new(false));
    thread::scope(|threads| {
        let threads: Vec<_> = (0..n as u64)
            .map(|me| {
                let (lock, start, over) = (&lock.0, &start, &over.0);
                threads.spawn(move || {
                    start.wait();
                    let (mut own, mut turn) = (me, 0);
                    while !over.load(Relaxed) {
                        if (turn + me) % writes == 0 {
                            lock.write(|n| *n = work(*n, load.inside));
                        } else {
                            lock.read(|n| own ^= work(*n, load.inside));
                        }
                        own = work(own, load.outside);
                        turn += 1;
                    }
                    turn
                })
            })
            .collect();
        let (before, busy) = (used(), busy_ns());
        let begin = Instant::now(); // before the last comes: no thread has begun
        start.wait();
        thread::sleep(time);
        over.0.store(true, Relaxed);
        let turns: Vec<u64> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        let (ns, all) = (begin.elapsed().as_nanos() as f64, turns.iter().sum::<u64>() as f64);
        let (after, busy) = (used(), busy_ns() - busy);
        let spent = |what: usize| (after[what] - before[what]) / all;
        Rate {
            ns: ns / all,
            cpu: spent(0),
            switches: [1e6 * spent(1), 1e6 * spent(2)],
            least: *turns.iter().min().unwrap() as f64 * n as f64 / all,
            others: (busy - (after[0] - before[0])) / ns / cpus() as f64,
        }
    })
}

fn mutex<L: Lock>(n: usize, load: &Load, time: Duration) -> Rate {
    contend::<L>(n, load, time, 1)
}

fn rwlock<L: Lock>(n: usize, load: &Load, time: Duration) -> Rate {
    contend::<L>(n, load, time, load.writes)
}

const MUTEXES: [(&str, Measure); 3] = [
    ("overlock", mutex::<OverlockMutex>),
    ("std", mutex::<StdMutex>),
    ("parking_lot", mutex::<ParkingLotMutex>),
];
const RWLOCKS: [(&str, Measure); 3] = [
    ("overlock", rwlock::<OverlockRwLock>),
    ("std", rwlock::<StdRwLock>),
    ("parking_lot", rwlock::<ParkingLotRwLock>),
];

fn told(mut numbers: Vec<f64>, digits: usize) -> String {
    numbers.sort_by(|a, b| a.total_cmp(b));
    let (least, most) = (numbers[0], numbers[numbers.len() - 1]);
    let median = (numbers[(numbers.len() - 1) / 2] + numbers[numbers.len() / 2]) / 2.0;
    format!("{median:.digits$} [{least:.digits$}, {most:.digits$}]")
}

fn cpus() -> usize {
    thread::available_parallelism().unwrap().get()
}

/// Each round begins with another lock.
fn compare(locks: &[(&str, Measure)], n: usize, load: &Load, rounds: usize, time: Duration) {
    let mut rates = vec![Vec::new(); locks.len()];
    let mut repeated = 0;
    'next: while rates[0].len() < rounds {
        let mut round = vec![None; locks.len()];
        for turn in 0..locks.len() {
            let which = (rates[0].len() + turn) % locks.len();
            let rate = locks[which].1(n, load, time);
            if rate.others > OTHERS && repeated < REPEATS {
                repeated += 1;
                thread::sleep(Duration::from_secs(1));
                continue 'next;
            }
            round[which] = Some(rate);
        }
        round.into_iter().flatten().zip(&mut rates).for_each(|(rate, all)| all.push(rate));
    }
    let disturbed = rates[0].iter().filter(|rate| rate.others > OTHERS).count();
    println!("{repeated} rounds repeated, {disturbed} disturbed");
    println!(
        "  {:<11} {:<17} {:<19} {:<17} {:<15} {:<15} least share",
        "", "ns", "overlock's rate", "CPU ns", "sleeps", "preemptions"
    );
    for (which, (name, _)) in locks.iter().enumerate() {
        let rates_of_it = &rates[which];
        let ratios = rates_of_it.iter().zip(&rates[0]).map(|(it, ours)| it.ns / ours.ns).collect();
        let column =
            |what: fn(&Rate) -> f64, digits| told(rates_of_it.iter().map(what).collect(), digits);
        println!(
            "  {name:<11} {:<17} {:<19} {:<17} {:<15} {:<15} {}",
            column(|r| r.ns, 0),
            told(ratios, 2),
            column(|r| r.cpu, 0),
            column(|r| r.switches[0], 0),
            column(|r| r.switches[1], 0),
            column(|r| r.least, 2),
        );
    }
}

const HELP: &str = "Overlock's Mutex and RwLock beside those of std and parking_lot, in rounds in which all take turns.

usage: cargo bench --bench rounds -- [--rounds N] [--ms N] [WORD]...

    --rounds N   so many rounds, 7 by default
    --ms N       so long for each lock in each round, 400 by default
    WORD         only loads with all these words in their names, as mutex/8x or short

example: cargo bench --bench rounds -- --rounds 5 --ms 300 rwlock short";

fn fail(why: &str) -> ! {
    eprintln!("rounds: {why}; see --help");
    std::process::exit(2)
}

fn main() {
    let (mut words, mut rounds, mut ms) = (Vec::new(), 7, 400);
    let mut arguments = std::env::args().skip(1);
    while let Some(word) = arguments.next() {
        let mut number = || match arguments.next().and_then(|n| n.parse::<u64>().ok()) {
            Some(n) if n > 0 => n,
            _ => fail(&format!("{word} needs a number above 0")),
        };
        match word.as_str() {
            "--bench" => {} // cargo's
            "--help" => return println!("{HELP}"),
            "--rounds" => rounds = number() as usize,
            "--ms" => ms = number(),
            _ if word.starts_with('-') => fail(&format!("there is no option {word}")),
            _ => words.push(word),
        }
    }
    let mut found = false;
    for (kind, locks) in [("mutex", MUTEXES), ("rwlock", RWLOCKS)] {
        for load in LOADS.iter().filter(|load| kind == "rwlock" || load.name != "half") {
            for per_cpu in PER_CPU {
                let name = format!("{kind}/{per_cpu}x/{}", load.name);
                if words.iter().all(|word| name.contains(word.as_str())) {
                    found = true;
                    print!("{name}: {} threads, {rounds} rounds of {ms} ms, ", per_cpu * cpus());
                    compare(&locks, per_cpu * cpus(), load, rounds, Duration::from_millis(ms));
                }
            }
        }
    }
    if !found {
        fail("no load has all these words in its name");
    }
}
