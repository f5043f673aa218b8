// SPDX-License-Identifier: MIT
// Rayon's pool of four threads, many short parallel loops.
use rayon::prelude::*;

fn main() {
	rayon::ThreadPoolBuilder::new().num_threads(4).build_global().unwrap();
	let numbers: Vec<u64> = (0..10_000).collect();
	for _ in 0..1_000 {
		assert_eq!(numbers.par_iter().sum::<u64>(), 49_995_000);
	}
}
