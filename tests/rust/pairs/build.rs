// SPDX-License-Identifier: MIT
//! The two requests to callgrind are macros of C.
use std::{env, process::Command};

fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let (object, archive) = (format!("{}/requests.o", out), format!("{}/librequests.a", out));
    let compiled =
        Command::new("cc").args(["-O2", "-fPIC", "-c", "requests.c", "-o", &object]).status();
    assert!(compiled.unwrap().success());
    assert!(Command::new("ar").args(["crs", &archive, &object]).status().unwrap().success());
    println!("cargo:rustc-link-search=native={}", out);
    println!("cargo:rustc-link-lib=static=requests");
    println!("cargo:rerun-if-changed=requests.c");
}
