// SPDX-License-Identifier: MIT
//! Compiles Overlock's C into this crate, with the system's C compiler and no other crate.
//!
//! `locks.def` lists the locks. This writes what follows from it: their headers and lines for `glue.c`, and for Rust
//! a module of functions for each, and `for_each_lock!`.
//!
//! CC, AR and CFLAGS are read as the crate `cc` reads them: `CC_<target>`, then `TARGET_CC`, then `CC`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of lib/, what is no part of the library: two are compiled per lock or list, and one makes Overlock's own tables.
const NOT_HERE: [&str; 3] = ["defs_json.c", "lock_unit.c", "locks.c"];

struct Lock {
    id: String,
    line: String, // OL_LOCK(...) of locks.def
    what: String,
    timed: bool,
}

struct Build {
    target: String,
    out: PathBuf,
    hosted: bool, // all of the library, not only the locks that stand alone
    told: RefCell<BTreeSet<String>>, // cargo knows that the build depends on these
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=glue.c");
    println!("cargo:rerun-if-changed=vendor");
    let build = Build {
        target: env::var("TARGET").unwrap(),
        out: PathBuf::from(env::var("OUT_DIR").unwrap()),
        hosted: env::var_os("CARGO_FEATURE_LIBRARY").is_some(),
        told: RefCell::default(),
    };
    if env::var("CARGO_CFG_TARGET_OS").unwrap() != "linux" {
        panic!("overlock-sys: the target {} has no futexes; expected Linux", build.target);
    }
    let locks: Vec<Lock> =
        read_locks().into_iter().filter(|l| build.hosted || l.line.contains("OL_ALONE")).collect();
    let mut text = String::from("/* By build.rs. */\n");
    for lock in &locks {
        writeln!(text, "#include <overlock/lock/{}.h>", lock.id).unwrap();
    }
    let lines: Vec<&str> = locks.iter().map(|l| l.line.as_str()).collect();
    writeln!(text, "#define OL_RUST_LOCKS {}", lines.join(" ")).unwrap();
    fs::write(build.out.join("overlock_rust_locks.h"), text).unwrap();

    build.compile_library();
    fs::write(build.out.join("locks.rs"), build.bindings(&locks)).unwrap();
}

/// The entries of locks.def, each on one line.
fn read_locks() -> Vec<Lock> {
    let text = fs::read_to_string("vendor/include/overlock/locks.def").unwrap();
    let mut locks = Vec::new();
    for entry in text.split("\nOL_LOCK(").skip(1) {
        let entry = entry.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut fields = entry.splitn(3, ", ");
        let id = fields.next().unwrap().to_string();
        let timed = fields.next().unwrap() == "timed";
        let what = entry.rsplit('"').nth(1).unwrap().to_string();
        locks.push(Lock { id, line: format!("OL_LOCK({}", entry), what, timed });
    }
    assert!(!locks.is_empty(), "overlock-sys: locks.def has no lock");
    locks
}

impl Build {
    /// A tool and its arguments, from the environment.
    fn tool(&self, name: &str) -> Option<Vec<String>> {
        let kind = if self.is_cross() { "TARGET" } else { "HOST" };
        let names = [
            format!("{}_{}", name, self.target),
            format!("{}_{}", name, self.target.replace('-', "_")),
            format!("{}_{}", kind, name),
            name.to_string(),
        ];
        if self.told.borrow_mut().insert(name.to_string()) {
            for name in &names {
                println!("cargo:rerun-if-env-changed={}", name);
            }
        }
        let found = names.iter().find_map(|name| env::var(name).ok())?;
        Some(found.split_whitespace().map(str::to_string).collect())
    }

    fn is_cross(&self) -> bool {
        env::var("HOST").unwrap() != self.target
    }

    /// As Debian and most distributions name cross-compilers.
    fn or_usual(&self, name: &str, here: &str, cross: &str) -> Vec<String> {
        self.tool(name).unwrap_or_else(|| {
            let mut parts = self.target.split('-');
            let processor = parts.next().unwrap();
            let libc = parts.next_back().unwrap();
            vec![if self.is_cross() {
                format!("{}-linux-{}-{}", processor, libc, cross)
            } else {
                here.to_string()
            }]
        })
    }

    fn compiler(&self, options: &[&str]) -> Command {
        let words = self.or_usual("CC", "cc", "gcc");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["-std=gnu11", "-O2", "-fPIC", "-ffunction-sections"]);
        command.args(["-fdata-sections", "-fvisibility=hidden", "-D_GNU_SOURCE", "-pthread"]);
        command.args(["-Ivendor/include", "-Ivendor/lib"]).arg("-I").arg(&self.out);
        if self.hosted {
            command.arg("-DOL_RUST_LIBRARY");
        } else {
            command.arg("-ffreestanding"); // no header of a libc
        }
        command.args(self.tool("CFLAGS").unwrap_or_default()).args(options);
        command
    }

    fn compile_library(&self) {
        let mut sources = vec![PathBuf::from("glue.c")];
        if self.hosted {
            sources.extend(library_sources());
        }
        let archive = self.out.join("liboverlock_rust.a");
        let _ = fs::remove_file(&archive);
        let words = self.or_usual("AR", "ar", "ar");
        let mut ar = Command::new(&words[0]);
        ar.args(&words[1..]).arg("crs").arg(&archive);
        for source in &sources {
            let object = self.out.join(source.file_name().unwrap()).with_extension("o");
            run(self.compiler(&["-c"]).arg(source).arg("-o").arg(&object));
            ar.arg(object);
        }
        run(&mut ar);
        println!("cargo:rustc-link-search=native={}", self.out.display());
        println!("cargo:rustc-link-lib=static=overlock_rust");
    }

    /// A listing with sizes, alignments and traits, as the compiler for the target knows them.
    fn sizes(&self) -> String {
        let listing = self.out.join("sizes.s");
        // -flto would leave no assembly to read.
        run(self.compiler(&["-DOL_RUST_SIZES", "-fno-lto", "-S", "glue.c", "-o"]).arg(&listing));
        fs::read_to_string(listing).unwrap()
    }

    fn bindings(&self, locks: &[Lock]) -> String {
        let listing = self.sizes();
        let mut numbers = listing
            .lines()
            .filter_map(|line| line.trim().strip_prefix(".ascii")?.trim().strip_prefix("\"->"))
            .map(|text| text.trim_end_matches('"'));
        let mut modules = String::from("// By build.rs.\n");
        let mut list = String::new();
        for lock in locks {
            let fields: Vec<&str> = numbers.next().unwrap().split_whitespace().collect();
            assert_eq!(fields[1], lock.id);
            let (size, align) = (fields[2], fields[3]);
            let traits: u32 = fields[4].parse().unwrap();
            modules.push_str(&module(lock, size, align));
            let kind = if lock.timed && self.hosted { "timed" } else { "waits" };
            // OL_ELIDES of ops.h: sections may run more than once.
            let elides = if traits & 1 << 19 != 0 { "elides" } else { "plain" };
            writeln!(
                list,
                "        ({}, {}, {}, {}, {:?})",
                lock.id,
                camel(&lock.id),
                kind,
                elides,
                lock.what
            )
            .unwrap();
        }
        if self.hosted {
            let fields: Vec<&str> = numbers.next().unwrap().split_whitespace().collect();
            writeln!(
                modules,
                "/// `ol_cond_t`. All zero is one without waiters.\n#[repr(C, align({}))]\n\
                 pub struct Cond(UnsafeCell<[u8; {}]>);\n\
                 impl Cond {{\n    pub const INIT: Cond = Cond(UnsafeCell::new([0; {1}]));\n\
                 \x20   pub fn get(&self) -> *mut c_void {{\n        self.0.get().cast()\n    }}\n}}\n\
                 unsafe impl Sync for Cond {{}}\nunsafe impl Send for Cond {{}}",
                fields[2], fields[1]
            )
            .unwrap();
            let bits = numbers.next().unwrap().split_whitespace().skip(1);
            let bits: Vec<u32> = bits.map(|b| b.parse::<i32>().unwrap() as u32).collect();
            writeln!(
                modules,
                "/// Of `rota.h`: held, claimed, wake, sleepers.\npub const ROTA_BITS: [u32; 4] = {:?};",
                bits
            )
            .unwrap();
        }
        write!(
            modules,
            "/// Calls `$callback!` with a `(module, Type, timed | waits, plain | elides, \"what it is\")` for each lock.\n\
             #[macro_export]\nmacro_rules! for_each_lock {{\n    ($callback:path) => {{\n        $callback! {{\n{}        \
             }}\n    }};\n}}\n",
            list
        )
        .unwrap();
        modules
    }
}

fn library_sources() -> Vec<PathBuf> {
    let mut sources: Vec<PathBuf> = fs::read_dir("vendor/lib")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().map_or(false, |e| e == "c"))
        .filter(|path| !NOT_HERE.iter().any(|name| path.ends_with(Path::new(name))))
        .collect();
    sources.sort(); // the same archive in each build
    sources
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("overlock-sys: {:?}: {}", command, status),
        Err(error) => panic!(
            "overlock-sys: {:?}: {}; expected a C compiler and its binutils: install gcc, or set CC and AR",
            command.get_program(),
            error
        ),
    }
}

fn camel(id: &str) -> String {
    let mut name = String::new();
    for part in id.split('_') {
        name.push_str(&part[..1].to_uppercase());
        name.push_str(&part[1..]);
    }
    name
}

fn module(lock: &Lock, size: &str, align: &str) -> String {
    let mut text = String::new();
    let id = &lock.id;
    writeln!(text, "/// `ol_{}_t`: {}.\npub mod {} {{", id, lock.what, id).unwrap();
    writeln!(
        text,
        "    pub const SIZE: usize = {};\n    pub const ALIGN: usize = {};",
        size, align
    )
    .unwrap();
    writeln!(
        text,
        "    /// All zero is a free lock.\n    #[repr(C, align({}))]\n    pub struct Lock(\
         core::cell::UnsafeCell<[u8; {}]>);\n    impl Lock {{\n        pub const INIT: Lock = \
         Lock(core::cell::UnsafeCell::new([0; {1}]));\n        pub fn get(&self) -> *mut \
         core::ffi::c_void {{\n            self.0.get().cast()\n        }}\n    }}\n    unsafe impl \
         Sync for Lock {{}}\n    unsafe impl Send for Lock {{}}",
        align, size
    )
    .unwrap();
    text.push_str("    extern \"C\" {\n");
    let mut calls = vec![
        ("lock", "l: *mut core::ffi::c_void", ""),
        ("trylock", "l: *mut core::ffi::c_void", " -> bool"),
        ("unlock", "l: *mut core::ffi::c_void", ""),
        ("is_locked", "l: *const core::ffi::c_void", " -> bool"),
    ];
    if lock.timed && env::var_os("CARGO_FEATURE_LIBRARY").is_some() {
        calls.push(("timedlock", "l: *mut core::ffi::c_void, until: u64", " -> bool"));
    }
    for (name, parameters, result) in calls {
        writeln!(
            text,
            "        #[link_name = \"ol_rust_{}_{}\"]\n        pub fn {1}({}){};",
            id, name, parameters, result
        )
        .unwrap();
    }
    text.push_str("    }\n}\n");
    text
}
