// SPDX-License-Identifier: MIT
// parking_lot's RawMutex with parking_lot_core's queues, for the files that bring them.

// What it allocates is never freed.
mod small {
    use core::cell::UnsafeCell;
    use core::ops::{Deref, DerefMut};
    use core::sync::atomic::{AtomicUsize, Ordering};

    const SIZE: usize = 8192;
    #[repr(align(64))]
    struct Area(UnsafeCell<[u8; SIZE]>);
    unsafe impl Sync for Area {}
    static AREA: Area = Area(UnsafeCell::new([0; SIZE]));
    static USED: AtomicUsize = AtomicUsize::new(0);

    fn room<T>(n: usize) -> *mut T {
        let size = (n * core::mem::size_of::<T>() + 63) & !63;
        let at = USED.fetch_add(size, Ordering::Relaxed);
        if at + size > SIZE {
            panic!();
        }
        unsafe { (AREA.0.get() as *mut u8).add(at) as *mut T }
    }

    pub struct Box<T: ?Sized>(*mut T);
    impl<T> Box<T> {
        pub fn new(value: T) -> Box<T> {
            let at = room::<T>(1);
            unsafe { at.write(value) };
            Box(at)
        }
    }
    impl<T: ?Sized> Box<T> {
        pub fn into_raw(b: Box<T>) -> *mut T {
            b.0
        }
        pub unsafe fn from_raw(at: *mut T) -> Box<T> {
            Box(at)
        }
    }
    impl<T: ?Sized> Deref for Box<T> {
        type Target = T;
        fn deref(&self) -> &T {
            unsafe { &*self.0 }
        }
    }
    impl<T: ?Sized> DerefMut for Box<T> {
        fn deref_mut(&mut self) -> &mut T {
            unsafe { &mut *self.0 }
        }
    }

    pub struct Vec<T>(*mut T, usize);
    impl<T> Vec<T> {
        pub fn with_capacity(n: usize) -> Vec<T> {
            Vec(room::<T>(n), 0)
        }
        pub fn new() -> Vec<T> {
            Vec::with_capacity(16)
        }
        pub fn push(&mut self, value: T) {
            unsafe { self.0.add(self.1).write(value) };
            self.1 += 1;
        }
        pub fn into_boxed_slice(self) -> Box<[T]> {
            Box(core::ptr::slice_from_raw_parts_mut(self.0, self.1))
        }
    }

    // parking_lot_core's lists of threads to wake: of eight, and more is not needed here.
    pub struct SmallVec<A>(core::marker::PhantomData<A>);
    pub struct List<T>([Option<T>; 8], usize);
    impl<T> SmallVec<[T; 8]> {
        pub fn new() -> List<T> {
            List([const { None }; 8], 0)
        }
    }
    impl<T> List<T> {
        pub fn push(&mut self, value: T) {
            self.0[self.1] = Some(value);
            self.1 += 1;
        }
        pub fn len(&self) -> usize {
            self.1
        }
        pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
            self.0.iter_mut().flatten()
        }
        pub fn into_iter(self) -> impl Iterator<Item = T> {
            self.0.into_iter().flatten()
        }
    }
}

mod util {
    use crate::std::time::{Duration, Instant};
    include!(concat!(env!("OVERLOCK_BROUGHT"), "/util.rs"));
    pub fn to_deadline(timeout: Duration) -> Option<Instant> {
        Instant::now().checked_add(timeout)
    }
}

mod parking_lot_core {
    mod queues {
        include!(concat!(env!("OVERLOCK_BROUGHT"), "/parking_lot.rs"));
    }
    pub use crate::spinwait::SpinWait;
    pub use queues::*;
}

pub struct GuardMarker;

mod deadlock {
    pub unsafe fn acquire_resource(_: usize) {}
    pub unsafe fn release_resource(_: usize) {}
}

mod lock_api {
    pub unsafe trait RawMutex {
        const INIT: Self;
        type GuardMarker;
        fn lock(&self);
        fn try_lock(&self) -> bool;
        unsafe fn unlock(&self);
        fn is_locked(&self) -> bool;
    }
    pub unsafe trait RawMutexFair {
        unsafe fn unlock_fair(&self);
        unsafe fn bump(&self);
    }
    pub unsafe trait RawMutexTimed {
        type Duration;
        type Instant;
        fn try_lock_for(&self, timeout: Self::Duration) -> bool;
        fn try_lock_until(&self, timeout: Self::Instant) -> bool;
    }
}

mod raw_mutex {
    include!(concat!(env!("OVERLOCK_BROUGHT"), "/raw_mutex.rs"));
}
use lock_api::{RawMutex as _, RawMutexFair};
use raw_mutex::RawMutex;

unsafe fn mutex<'a>(o: *mut c_void) -> &'a RawMutex {
    &*(o as *const RawMutex)
}

unsafe extern "C" fn lock(o: *mut c_void) {
    mutex(o).lock()
}

unsafe extern "C" fn try_to_lock(o: *mut c_void) -> bool {
    mutex(o).try_lock()
}

unsafe extern "C" fn release(o: *mut c_void) {
    if cfg!(fair) {
        mutex(o).unlock_fair()
    } else {
        mutex(o).unlock()
    }
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static overlock_checked: CheckedLock = CheckedLock {
    name: b"parking_lot RawMutex\0".as_ptr(),
    size: 4,
    lock: Some(lock),
    trylock: Some(try_to_lock),
    unlock: Some(release),
    ..NO_LOCK
};
