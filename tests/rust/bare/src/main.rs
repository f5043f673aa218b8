// SPDX-License-Identifier: MIT
//! Ends with 0 if each lock that needs no library works.
#![no_std]
#![no_main]

use core::arch::asm;
use overlock::raw::{Anderson, Byte, Dec, PartitionedTicket, RawLock, Tas, Ttas};
use overlock::Mutex;

static COUNT: Mutex<u32> = Mutex::new(0);

fn works<L: RawLock>(lock: &L, bit: u32) {
    lock.lock();
    if lock.is_locked() && !lock.try_lock() {
        unsafe { lock.unlock() };
        if lock.try_lock() {
            *COUNT.lock() |= bit;
        }
    }
}

#[no_mangle]
extern "C" fn begin() -> ! {
    static TAS: Tas = Tas::INIT;
    static TTAS: Ttas = Ttas::INIT;
    static DEC: Dec = Dec::INIT;
    static BYTE: Byte = Byte::INIT;
    static PARTITIONEDTICKET: PartitionedTicket = PartitionedTicket::INIT;
    static ANDERSON: Anderson = Anderson::INIT;
    works(&TAS, 1);
    works(&TTAS, 2);
    works(&DEC, 4);
    works(&BYTE, 8);
    works(&PARTITIONEDTICKET, 16);
    works(&ANDERSON, 32);
    exit((*COUNT.lock() != 63) as u64)
}

// The stack is as the kernel leaves it, and is to be as in a call.
core::arch::global_asm!(".globl _start", "_start: call begin");

fn exit(code: u64) -> ! {
    unsafe { asm!("syscall", in("rax") 231, in("rdi") code, options(noreturn)) }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    exit(2)
}
