// SPDX-License-Identifier: MIT
// Tokio's runtime of four workers: tasks that hand numbers to each other.
use tokio::sync::mpsc;

fn main() {
	let mut builder = tokio::runtime::Builder::new_multi_thread();
	let runtime = builder.worker_threads(4).build().unwrap();
	let sum = runtime.block_on(async {
		let (to, mut from) = mpsc::channel::<u64>(16);
		for _ in 0..8 {
			let to = to.clone();
			tokio::spawn(async move {
				for number in 0..10_000 {
					to.send(number).await.unwrap();
				}
			});
		}
		drop(to);
		let mut sum = 0;
		while let Some(number) = from.recv().await {
			sum += number;
		}
		sum
	});
	assert_eq!(sum, 8 * 49_995_000);
}
