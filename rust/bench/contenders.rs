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

macro_rules! lock {
    ($name:ident, $type:ty, $new:expr, $read:ident, $write:ident $(, $unwrap:ident)?) => {
        pub struct $name($type);
        impl Lock for $name {
            fn make() -> Self {
                $name($new(0))
            }
            #[inline]
            fn write(&self, section: impl FnOnce(&mut u64)) {
                section(&mut self.0.$write()$(.$unwrap())?)
            }
            #[inline]
            fn read(&self, section: impl FnOnce(&u64)) {
                section(&self.0.$read()$(.$unwrap())?)
            }
        }
    };
}

lock!(OverlockMutex, overlock::Mutex<u64>, overlock::Mutex::new, lock, lock);
lock!(StdMutex, std::sync::Mutex<u64>, std::sync::Mutex::new, lock, lock, unwrap);
lock!(ParkingLotMutex, parking_lot::Mutex<u64>, parking_lot::Mutex::new, lock, lock);
lock!(SpinMutex, spin::Mutex<u64>, spin::Mutex::new, lock, lock);
lock!(OverlockRwLock, overlock::RwLock<u64>, overlock::RwLock::new, read, write);
lock!(StdRwLock, std::sync::RwLock<u64>, std::sync::RwLock::new, read, write, unwrap);
lock!(ParkingLotRwLock, parking_lot::RwLock<u64>, parking_lot::RwLock::new, read, write);
