// SPDX-License-Identifier: MIT
// What parking_lot's files find in std and in other crates, in our words. Memory comes from a variable of the file,
// and time stands still: no unlock is fair for being late.

pub mod std {
    pub mod time {
        pub use core::time::Duration;

        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct Instant(Duration);
        impl Instant {
            pub fn now() -> Instant {
                Instant(Duration::ZERO)
            }
            pub fn checked_add(&self, d: Duration) -> Option<Instant> {
                self.0.checked_add(d).map(Instant)
            }
        }
        impl core::ops::Add<Duration> for Instant {
            type Output = Instant;
            fn add(self, d: Duration) -> Instant {
                Instant(self.0 + d)
            }
        }
        impl core::ops::Sub<Instant> for Instant {
            type Output = Duration;
            fn sub(self, i: Instant) -> Duration {
                self.0 - i.0
            }
        }
    }
    pub mod thread {
        pub fn yield_now() {
            unsafe { crate::ol_checked_spin() }
        }
    }
}

#[allow(non_camel_case_types)]
pub mod libc {
    pub type c_int = i32;
    pub type c_long = i64;
    pub type time_t = i64;
    #[repr(C)]
    pub struct timespec {
        pub tv_sec: time_t,
        pub tv_nsec: c_long,
    }
    pub const SYS_futex: c_long = 202;
    pub const FUTEX_WAIT: c_int = 0;
    pub const FUTEX_WAKE: c_int = 1;
    pub const FUTEX_PRIVATE_FLAG: c_int = 128;
    pub const EINTR: c_int = 4;
    pub const EAGAIN: c_int = 11;
    pub const EFAULT: c_int = 14;
    pub const ETIMEDOUT: c_int = 110;
    extern "C" {
        pub fn syscall(number: c_long, ...) -> c_long;
        pub fn __errno_location() -> *mut c_int;
    }
}

pub mod thread_parker {
    use crate::std::time::Instant;

    pub trait ThreadParkerT {
        type UnparkHandle: UnparkHandleT;
        const IS_CHEAP_TO_CONSTRUCT: bool;
        fn new() -> Self;
        unsafe fn prepare_park(&self);
        unsafe fn timed_out(&self) -> bool;
        unsafe fn park(&self);
        unsafe fn park_until(&self, timeout: Instant) -> bool;
        unsafe fn unpark_lock(&self) -> Self::UnparkHandle;
    }
    pub trait UnparkHandleT {
        unsafe fn unpark(self);
    }
    mod imp {
        include!(concat!(env!("OVERLOCK_BROUGHT"), "/linux.rs"));
    }
    pub use imp::{thread_yield, ThreadParker};
}

pub mod spinwait {
    include!(concat!(env!("OVERLOCK_BROUGHT"), "/spinwait.rs"));
}

pub mod word_lock {
    include!(concat!(env!("OVERLOCK_BROUGHT"), "/word_lock.rs"));
}
