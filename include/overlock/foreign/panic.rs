// SPDX-License-Identifier: MIT
// Of a lock without std: a panic is a failure, and nothing unwinds.

extern "C" {
    pub fn ol_checked_fail(why: *const u8) -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { ol_checked_fail(b"it panics\0".as_ptr()) }
}

#[no_mangle]
pub extern "C" fn rust_eh_personality() {}
