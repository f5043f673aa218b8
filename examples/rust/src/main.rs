// SPDX-License-Identifier: MIT
use overlock::Mutex;

static COUNT: Mutex<u32> = Mutex::new(0);

fn main() {
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| (0..1000).for_each(|_| *COUNT.lock() += 1));
        }
    });
    println!("{}", COUNT.lock());
}
