// SPDX-License-Identifier: MIT
// Four threads at one lock: a monitor, or with an argument java.util.concurrent's.
import java.util.concurrent.locks.ReentrantLock;

class Locks {
	static long count;

	public static void main(String[] args) throws InterruptedException {
		ReentrantLock lock = new ReentrantLock();
		Object monitor = new Object();
		Thread[] threads = new Thread[4];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> {
				for (int n = 0; n < 200_000; n++) {
					if (args.length > 0) {
						lock.lock();
						count++;
						lock.unlock();
					} else {
						synchronized (monitor) {
							count++;
						}
					}
				}
			});
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		if (count != 800_000)
			throw new AssertionError(count);
	}
}
