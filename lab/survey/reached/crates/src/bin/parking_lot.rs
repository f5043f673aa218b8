// SPDX-License-Identifier: MIT
// Four threads, one lock of parking_lot's.
use parking_lot::Mutex;

fn main() {
	let count = Mutex::new(0u64);
	std::thread::scope(|scope| {
		for _ in 0..4 {
			scope.spawn(|| {
				for _ in 0..200_000 {
					*count.lock() += 1;
				}
			});
		}
	});
	assert_eq!(*count.lock(), 800_000);
}
