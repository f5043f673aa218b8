// SPDX-License-Identifier: MIT
// Four threads, one lock of the standard library's.
use std::sync::Mutex;

fn main() {
	let count = Mutex::new(0u64);
	std::thread::scope(|scope| {
		for _ in 0..4 {
			scope.spawn(|| {
				for _ in 0..200_000 {
					*count.lock().unwrap() += 1;
				}
			});
		}
	});
	assert_eq!(*count.lock().unwrap(), 800_000);
}
