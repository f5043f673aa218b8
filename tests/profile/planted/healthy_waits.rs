// SPDX-License-Identifier: MIT
// Four workers that wait for work in one of Rust's ways: no lock is fought for.
use std::sync::{mpsc, Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

fn work() {
    let end = Instant::now() + Duration::from_micros(500);
    while Instant::now() < end {}
}

fn main() {
    let kind = std::env::args().nth(1).unwrap();
    let (sender, receiver) = mpsc::channel::<()>();
    let receiver = Arc::new(Mutex::new(receiver));
    let queue = Arc::new((Mutex::new((0, false)), Condvar::new()));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (kind, receiver, queue) = (kind.clone(), receiver.clone(), queue.clone());
            thread::spawn(move || loop {
                if kind == "channel" {
                    if receiver.lock().unwrap().recv().is_err() {
                        break;
                    }
                } else {
                    let mut items = queue.0.lock().unwrap();
                    while items.0 == 0 && !items.1 {
                        items = queue.1.wait(items).unwrap();
                    }
                    if items.0 == 0 {
                        break;
                    }
                    items.0 -= 1;
                }
                work();
            })
        })
        .collect();
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(5));
        if kind == "channel" {
            sender.send(()).unwrap();
        } else {
            queue.0.lock().unwrap().0 += 1;
            queue.1.notify_one();
        }
    }
    drop(sender);
    queue.0.lock().unwrap().1 = true;
    queue.1.notify_all();
    for worker in workers {
        worker.join().unwrap();
    }
    println!("{{}}");
}
