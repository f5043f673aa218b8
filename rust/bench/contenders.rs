// SPDX-License-Identifier: MIT
//! The locks that are compared, and what each thread does with them.

use std::hint::black_box;

pub fn work(seed: u64, turns: u64) -> u64 {
    (0..turns).fold(seed, |n, _| black_box(n.wrapping_mul(6364136223846793005).wrapping_add(1)))
}

/// On cache lines of its own.
#[repr(align(128))]
pub struct Apart<T>(pub T);

/// A lock around a number.
pub trait Lock: Sync {
    fn make() -> Self;
    fn write(&self, section: impl FnOnce(&mut u64));
    fn read(&self, section: impl FnOnce(&u64));
}

macro_rules! mutex {
    ($name:ident, $type:ty, $new:expr, $lock:ident $(, $unwrap:ident)?) => {
        pub struct $name($type);
        impl Lock for $name {
            fn make() -> Self {
                $name($new(0))
            }
            #[inline]
            fn write(&self, section: impl FnOnce(&mut u64)) {
                section(&mut self.0.$lock()$(.$unwrap())?)
            }
            #[inline]
            fn read(&self, section: impl FnOnce(&u64)) {
                section(&self.0.$lock()$(.$unwrap())?)
            }
        }
    };
}

macro_rules! rwlock {
    ($name:ident, $type:ty, $new:expr $(, $unwrap:ident)?) => {
        pub struct $name($type);
        impl Lock for $name {
            fn make() -> Self {
                $name($new(0))
            }
            #[inline]
            fn write(&self, section: impl FnOnce(&mut u64)) {
                section(&mut self.0.write()$(.$unwrap())?)
            }
            #[inline]
            fn read(&self, section: impl FnOnce(&u64)) {
                section(&self.0.read()$(.$unwrap())?)
            }
        }
    };
}

mutex!(OverlockMutex, overlock::Mutex<u64>, overlock::Mutex::new, lock);
mutex!(StdMutex, std::sync::Mutex<u64>, std::sync::Mutex::new, lock, unwrap);
mutex!(ParkingLotMutex, parking_lot::Mutex<u64>, parking_lot::Mutex::new, lock);
mutex!(SpinMutex, spin::Mutex<u64>, spin::Mutex::new, lock);
rwlock!(OverlockRwLock, overlock::RwLock<u64>, overlock::RwLock::new);
rwlock!(StdRwLock, std::sync::RwLock<u64>, std::sync::RwLock::new, unwrap);
rwlock!(ParkingLotRwLock, parking_lot::RwLock<u64>, parking_lot::RwLock::new);
