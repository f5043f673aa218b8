// SPDX-License-Identifier: MIT
// As two_mutexes.c, by Rust's own mutex.
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

#[inline(never)]
fn first_section(mutex: &Mutex<u64>) -> Duration {
    let before = Instant::now();
    let mut number = mutex.lock().unwrap();
    let waited = before.elapsed();
    *number += 1;
    thread::sleep(Duration::from_millis(2));
    waited
}

#[inline(never)]
fn second_section(mutex: &Mutex<u64>) -> Duration {
    let before = Instant::now();
    let mut number = mutex.lock().unwrap();
    let waited = before.elapsed();
    *number += 2;
    thread::sleep(Duration::from_millis(4));
    waited
}

fn main() {
    let mutexes = Arc::new((Mutex::new(0), Mutex::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|me| {
            let mutexes = mutexes.clone();
            thread::spawn(move || {
                let mut waited = Duration::ZERO;
                for _ in 0..50 {
                    waited += if me < 2 { first_section(&mutexes.0) } else { second_section(&mutexes.1) };
                    thread::sleep(Duration::from_millis(1));
                }
                waited
            })
        })
        .collect();
    let waited: Vec<_> = threads.into_iter().map(|one| one.join().unwrap().as_nanos()).collect();
    println!(
        "{{\"first_section\": {}, \"second_section\": {}}}",
        waited[0] + waited[1],
        waited[2] + waited[3]
    );
}
