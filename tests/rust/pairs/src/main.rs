// SPDX-License-Identifier: MIT
//! Every loop runs PAIRS and then 2 * PAIRS times, so that the difference is free of what comes once.

use overlock::raw::{self, RawLock};
use std::ffi::CString;
use std::os::raw::c_char;

extern "C" {
    fn pairs_begin();
    fn pairs_end(trigger: *const c_char);
}

const PAIRS: u64 = 1000; // as in pairs.c

fn count<T>(name: &str, run: fn(&T, u64), subject: T) {
    for times in 1..=2 {
        run(&subject, 1); // what is bound at the first call
        let trigger = CString::new(format!("{} {}", name, times)).unwrap();
        unsafe { pairs_begin() };
        run(&subject, times * PAIRS);
        unsafe { pairs_end(trigger.as_ptr()) };
    }
}

/// The compiler keeps no memory in registers over it, as in C.
#[inline(always)]
fn barrier() {
    unsafe { std::arch::asm!("", options(nostack, preserves_flags)) }
}

#[inline(never)]
fn nothing(_: &(), n: u64) {
    for _ in 0..n {
        barrier();
    }
}

#[inline(never)]
fn pair<L: RawLock>(lock: &L, n: u64) {
    for _ in 0..n {
        lock.lock();
        unsafe { lock.unlock() };
        barrier();
    }
}

#[inline(never)]
fn mutex(mutex: &overlock::Mutex<()>, n: u64) {
    for _ in 0..n {
        drop(mutex.lock());
        barrier();
    }
}

#[inline(never)]
fn std_mutex(mutex: &std::sync::Mutex<()>, n: u64) {
    for _ in 0..n {
        drop(mutex.lock().unwrap());
        barrier();
    }
}

#[inline(never)]
fn reads(lock: &overlock::RwLock<()>, n: u64) {
    for _ in 0..n {
        drop(lock.read());
        barrier();
    }
}

#[inline(never)]
fn writes(lock: &overlock::RwLock<()>, n: u64) {
    for _ in 0..n {
        drop(lock.write());
        barrier();
    }
}

#[inline(never)]
fn std_reads(lock: &std::sync::RwLock<()>, n: u64) {
    for _ in 0..n {
        drop(lock.read().unwrap());
        barrier();
    }
}

#[inline(never)]
fn std_writes(lock: &std::sync::RwLock<()>, n: u64) {
    for _ in 0..n {
        drop(lock.write().unwrap());
        barrier();
    }
}

macro_rules! locks {
    ($(($id:ident, $Name:ident, $gives_up:ident, $elides:ident, $what:literal))*) => {
        $(locks!(one $id $Name $elides);)*
    };
    (one $id:ident $Name:ident elides) => {};
    (one $id:ident $Name:ident plain) => {
        count(stringify!($id), pair::<raw::$Name>, raw::$Name::INIT)
    };
}

fn main() {
    count("nothing", nothing, ());
    count("Mutex", mutex, overlock::Mutex::new(()));
    count("std::Mutex", std_mutex, std::sync::Mutex::new(()));
    count("RwLock::read", reads, overlock::RwLock::new(()));
    count("RwLock::write", writes, overlock::RwLock::new(()));
    count("std::RwLock::read", std_reads, std::sync::RwLock::new(()));
    count("std::RwLock::write", std_writes, std::sync::RwLock::new(()));
    overlock_sys::for_each_lock!(locks);
}
