// SPDX-License-Identifier: MIT
//! Answers a line for each line of standard input.

use std::io::BufRead;

fn main() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line == "version" {
            println!(); // of the compiler
        } else {
            let of_std = std::thread::available_parallelism().map_or(0, |n| n.get());
            println!("{} {} {}", of_std, num_cpus::get(), rayon::current_num_threads());
        }
    }
}
