// SPDX-License-Identifier: MIT
fn main() {
    for option in ["-nostartfiles", "-nostdlib", "-static", "-no-pie"] {
        println!("cargo:rustc-link-arg={}", option);
    }
}
