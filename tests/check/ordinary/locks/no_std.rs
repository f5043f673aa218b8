// SPDX-License-Identifier: MIT
#![no_std]
//! A ticket lock without std, of a private type.
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU16, Ordering};

#[repr(C)]
struct Ticket {
    next: AtomicU16,
    serving: AtomicU16,
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ticket_lock(l: *mut Ticket) {
    let mine = (*l).next.fetch_add(1, Ordering::Relaxed);
    while (*l).serving.load(Ordering::Acquire) != mine {}
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ticket_unlock(l: *mut Ticket) {
    let mine = (*l).serving.load(Ordering::Relaxed);
    (*l).serving.store(mine.wrapping_add(1), Ordering::Release);
}
