# SPDX-License-Identifier: MIT
# The suites, one list. `make test` runs those marked QUICK, and of the others whose PATHS the change touches as
# much as fits in its time; `make test-all` runs all but the LONG ones. tests/gate chooses, CTest runs.
#
#	suite(NAME [QUICK | LONG] [ALONE] SECONDS n [PARTS n] WHAT text [PATHS path...] [NEEDS group...] [BUILD target...]
#		COMMAND text)
#
# SECONDS	the budget on 2 idle CPUs. A suite over it is reported as slow and does not fail, since the
#		machine may be busy. A suite that takes 10 budgets, and 15 minutes, is a hang, and is killed.
# PARTS		tests/gate may choose some of them, each of about a minute, or of five in a long suite. Those of
#		pytest are divided by tests/conftest.py; every other command reads OVERLOCK_PARTS.
# ALONE		nothing else runs beside it; other suites run two at a time
# NEEDS		groups of tools/packages.txt beside `test`
# BUILD		targets: `all` is what is shipped, FOLDER/all what the folder's CMakeLists.txt has
# COMMAND	for bash, in the top folder, with BUILD set and .venv/bin on PATH
include(${CMAKE_CURRENT_LIST_DIR}/suite.cmake)


suite(lint QUICK SECONDS 60
	WHAT "formatters and linters for C, C++, Python and shell; the layers of the Python packages"
	COMMAND "tests/lint")

suite(tidy SECONDS 300 PARTS 5
	WHAT "clang-tidy and clang's static analyzer over all shipped C and C++"
	PATHS include lib run chaos bench check/engine tests/tidy .clang-tidy
	NEEDS clang
	COMMAND "tests/tidy")

suite(tools QUICK SECONDS 120
	WHAT "the overlock command: help, errors, exit codes, Ctrl-C, JSON, stacks, tune; overlock collect, and archives that somebody sent; the wheel; prebuilt BPF objects are of today's sources; the gate"
	BUILD all
	COMMAND "pytest tests/cli tests/collect tests/profile/prebuilt tests/core/system tests/run/test_tune.py tests/run/test_least_glibc.py tests/gate_tests")

suite(report SECONDS 280
	WHAT "reports: the page in a browser, figures, CSV; intervals, verdicts, ministat, comparisons and the papers' claims on data with a known truth; mutants of each"
	PATHS python/overlock_tools/core/render python/overlock_tools/core/analyze python/overlock_tools/core/model tests/core/render tests/core/planted.py tests/core/analyze tests/core/model
	NEEDS browser statistics
	BUILD all
	COMMAND "pytest -rs tests/core/render tests/core/model tests/core/analyze")

suite(bench-alone ALONE SECONDS 280
	WHAT "overlock-bench: it reports planted tails, gaps and lost exclusion, and a sampler with a stride misses them; copies, phases, slices and endings verified from outside; other libraries' locks: each excludes at 1-64 threads, trylock, many held at once; missing ones are named; each scenario verified from outside, and refuted where it does not hold; no leftovers after any end of bench; cgroup v2 on files"
	PATHS bench include lib tests/bench/measuring tests/bench/peers python/overlock_tools/bench tests/bench/conditions
	NEEDS peers
	BUILD all tests/bench/measuring/all
	COMMAND "pytest -rs tests/bench/measuring tests/bench/peers tests/bench/conditions")

suite(workloads QUICK ALONE SECONDS 45
	WHAT "every workload detects a lock without mutual exclusion and accepts correct ones; mt19937, lengths and Zipf against theory; the locks that a C++ throw takes"
	BUILD all tests/bench/workloads/all
	COMMAND "pytest tests/bench/workloads/test_*.py")

suite(bench SECONDS 300
	WHAT "measurement plans: order, pilot, resuming, presets, the matrix, other load on the machine; sweeps of a tunable: values, locks, the plot, Ctrl-C, and whether a better value is found; workload sources in C, C++, the checker and a kernel"
	PATHS python/overlock_tools/cli python/overlock_tools/bench python/overlock_tools/core/model python/overlock_tools/core/render tests/bench/command tests/core/planted.py bench include tests/bench/workloads
	NEEDS statistics clang kernel-module
	BUILD all
	COMMAND "pytest -rs tests/bench/command tests/bench/workloads/texts")

suite(demo QUICK ALONE SECONDS 60
	WHAT "overlock demo end to end, shortened, and interrupted at every stage"
	BUILD all
	COMMAND "pytest tests/demo")

suite(guest SECONDS 240
	WHAT "every 4-byte lock and the waits in a Linux module: no warnings, no libc, TLS or floating point; mutants are refused; the kernel series applies, and checkpatch has no complaints; what a guest reads of its slices; how it gives a CPU away, and counts waiters; the modules of its loads build; virtual machines with a fake QEMU: start, communication, cleanup after every kind of end, answers as results; a real kernel if `overlock guest build` has built one"
	PATHS include guest bench/workload tests/guest/kernel chaos/guest.c chaos/guest.h python/overlock_tools/guest python/overlock_tools/bench tests/guest/command
	NEEDS kernel-module guest
	BUILD all
	COMMAND "pytest -rs tests/guest/kernel/test_module.py tests/guest/kernel/test_loads.py tests/guest/kernel/test_series.py tests/guest/kernel/test_checkpatch.py tests/guest/kernel/test_tiny.py tests/guest/command")

suite(guest-long LONG SECONDS 240 PARTS 4
	WHAT "the module's self-test in Debian's kernel under QEMU; a lock without mutual exclusion fails; quotas of cgroup v2 from five places in Debian's kernel under QEMU"
	NEEDS guest kernel-module
	COMMAND "pytest -rs tests/guest/kernel/test_boot.py tests/bench/conditions/boot_v2.py")

# Not in parts: each would build the kernel.
suite(kernel-series LONG SECONDS 3600
	WHAT "a Linux kernel with the series: each patch applies and builds; every lock passes locktorture, which detects the busted lock"
	NEEDS guest
	COMMAND "pytest tests/guest/kernel/test_kernel.py")

suite(agents SECONDS 100
	WHAT "readers of the slice page, including mutants that trust wrong data; overlock-hostd: slices, refused files, reused thread ids; a QEMU that sends without end; overlock-monitord: what programs learn, abuse, and services with a fault"
	PATHS lab/hostd lab/monitord lab/slices profile/agent include/overlock lib/slices.c lib/knowledge.c python/overlock_tools/core/system/monitord.py packaging/overlock-monitord.service python/overlock_tools/lab/hostd.py tests/lab/agents
	NEEDS bpf clang
	BUILD all
	COMMAND "pytest -rs tests/lab/agents")

suite(lab SECONDS 320
	WHAT "the client emitted for GenMC compiles alone and runs natively, for every lock; how its verdicts are read; guests in a nested host and under Xen, with a fake QEMU, apt and make; the papers' experiments, in the simulator and in guests, and how what they found is judged; overlock reproduce: its rows, what it runs and keeps, its page; overlock sched in a guest whose time is counted: ends of slices, the words of threads, liars, nice, a killed loader, each switch; a program and its page"
	PATHS lab include sim profile/agent/service.c bench/sched_load.c lib/slices.c chaos/by.c python/overlock_tools/lab python/overlock_tools/guest python/overlock_tools/sim tests/lab
	NEEDS clang bpf guest
	BUILD all
	COMMAND "pytest -rs tests/lab --ignore tests/lab/agents")

# Its real-time threads take all CPUs, and a group must be able to use up its quota.
suite(profile ALONE SECONDS 330
	WHAT "overlock profile: programs with planted causes against what they measure themselves, healthy ones, Ctrl-C, SIGKILL, bounds; loops that wait, kinds, advice"
	PATHS profile lib/loops python/overlock_tools/profile python/overlock_tools/core/system/symbols.py tests/profile
	NEEDS bpf clang
	BUILD all
	COMMAND "pytest -rs tests/profile")

suite(chaos SECONDS 90
	WHAT "overlock chaos: its library answers as glibc, decisions by seed alone; planted bugs are found at their sites, healthy programs pass; bisection, interrupts; when the plugin of overlock guest chaos stops a vCPU; overlock run --record and overlock bench --replay: planted programs' order, waits, losses, forks, kills; the trace's reader refuses what is broken; replays cannot deadlock; comparisons and mixes on made-up traces"
	PATHS chaos run/diag/symbols.c python/overlock_tools/chaos python/overlock_tools/cli/commands/chaos.py tests/chaos run/record bench/replay.h bench/replay_plan.c bench/workload/replay_format.h bench/workload/replay_turns.h python/overlock_tools/core/trace python/overlock_tools/run/recording.py python/overlock_tools/bench/replaying.py tests/run/record tests/core/trace
	BUILD all
	COMMAND "pytest -rs tests/chaos tests/run/record tests/core/trace")

suite(fuzz SECONDS 240
	WHAT "what reads what others wrote: seeds and generated inputs under libFuzzer and Atheris; planted faults are found"
	PATHS profile lab/hostd lab/slices include/overlock/slice_reader.h lib/loops lib/tunable.c run chaos python tests/fuzz
	NEEDS bpf clang
	BUILD all
	COMMAND "pytest -rs tests/fuzz")

suite(library SECONDS 450
	WHAT "an uncontended lock+unlock takes no more instructions than Concurrency Kit's of the same kind; without counters, each lock compiles to the same object code as one without counter calls; the installed library from outside: pkg-config, CMake, static, vendored, dlopen, two ABIs, musl; headers under -pedantic-errors; thread-safety analysis; overlock/compat: programs in other libraries' APIs find the same with their headers and with ours; locks that are refused; mutants of the headers"
	PATHS include lib tests/lib/instructions cmake packaging CMakeLists.txt tests/lib/install tests/lib/compat
	NEEDS valgrind ck arm clang musl compat
	BUILD all
	COMMAND "pytest -rs tests/lib/instructions tests/lib/install tests/lib/compat")

suite(native QUICK ALONE SECONDS 40
	WHAT "every lock and the library: exclusion at 1-4 threads through the wrap, trylock, timeouts, order, signals, fork, quota, shortage of ids and nodes, thread churn"
	BUILD native-plain
	COMMAND "tests/lib/native/run quick")

suite(native-all ALONE SECONDS 630 PARTS 5
	WHAT "the same with counters, and exclusion at 1-64 threads; the same under ThreadSanitizer, which must also report a mutant, and under AddressSanitizer with UBSan; the library and its native tests cross-compiled for AArch64 and run under qemu-user, which does not test memory order"
	PATHS include lib tests/lib/native tests/lib/arch
	NEEDS arm
	BUILD native-plain native-counted native-thread native-address all
	COMMAND "tests/lib/native/run many counted thread address arch")

suite(arch-guest LONG SECONDS 300
	WHAT "the interposer and the locks without a library in a guest of AArch64, with and without LSE, under Debian's kernel; it does not test memory order"
	NEEDS arm-guest
	COMMAND "tests/lib/arch/guest")

suite(compilers LONG SECONDS 2400 PARTS 20
	WHAT "gcc 12 to 14, clang 14 to 19, with -O3, -flto and -march=native, on Debian 12 and 13: no warnings, the same symbols, locks exclude, overlock run answers as glibc"
	NEEDS compilers
	BUILD all
	COMMAND "tests/lib/compilers/run && tests/lib/compilers/debian13 tests/lib/compilers/run \$BUILD/native")

suite(check-command SECONDS 500
	WHAT "overlock check: messages, exit codes, Ctrl-C, cache, chart widths, timelines, weakening; end to end with the checker; locks in C that GCC instruments, on futexes, plain variables and stacks: every fault is named; what a file brings and replaces; ordinary locks in C, C++ and Rust as they are: which functions are taken, each planted mistake at its line, errors, wrappers; measured natively; loops that count their turns, and loops without end: a fault behind a loop is found, what was not explored is told; what is made of any lock, in the model checker: condition variables lose no wake-up, also beside deadlines, and the last waiter may free one; lock_or_fail notices each circle of waits and nothing else; the lock of examples/; mutants"
	PATHS check python/overlock_tools/check python/overlock_tools/cli tests/check/command include/overlock/checked.h tests/check/foreign include/overlock/foreign python/overlock_tools/core/ordinary tests/check/ordinary tests/core/ordinary tests/check/loops examples include/overlock/cond.h include/overlock/or_fail.h tests/check/conditions tests/check/or_fail tests/check/examples
	BUILD all
	COMMAND "pytest -rs tests/check/command tests/check/foreign tests/check/ordinary tests/core/ordinary tests/check/loops tests/check/conditions tests/check/or_fail tests/check/examples")

suite(check-mutants SECONDS 630
	WHAT "seeded adversaries catch every mutant of a lock; at least three broken locks of each kind: the checker names the fault, and holds where the fault cannot show; schedules that cannot be read; the page of counterexamples; every memory order of every lock, dropped: the checker reports the failure under C11; the papers' claims about order and waiting hold in all executions or have a counterexample; which contexts wait for which after one stops for ever"
	PATHS include/overlock check tests/mutant.py tests/mutants.cmake tests/check
	BUILD all sim-nap tests/check/mutants/all tests/check/claims/all
	COMMAND "pytest -rs tests/check/mutants tests/check/test_sleep.py tests/check/test_path.py tests/check/test_counterexamples.py tests/check/test_weakening.py tests/check/test_claims.py")

suite(check-waits SECONDS 110
	WHAT "barriers, latches and other ways to wait, each in scenarios of its own: two contexts in all executions under SC, TSO and C11, three under SC, more in random walks; every mutant is caught where it says"
	PATHS include/overlock/wait include/overlock/port include/overlock/waits.def check tests/mutant.py tests/mutants.cmake tests/check/waits
	BUILD all tests/check/waits/all
	COMMAND "pytest -rs tests/check/waits")

suite(check-quick SECONDS 90 PARTS 2
	WHAT "every lock explored exhaustively in every scenario at 2x1 under TSO, except long ones; no failure"
	PATHS include/overlock check tests/check
	BUILD all
	COMMAND "tests/check/exhaust --quick")

suite(check ALONE SECONDS 900 PARTS 15
	WHAT "every lock explored exhaustively: 2x2 and 3x1 under SC and TSO, 2x2 under C11, every scenario at 2x1 under SC and C11 (TSO: check-quick), except long ones; no failure"
	PATHS include/overlock check tests/check
	BUILD all
	COMMAND "tests/check/exhaust")

suite(check-heavy LONG ALONE SECONDS 14400 PARTS 48
	WHAT "the long checks left out there (heavy.txt), five minutes each; no failure"
	BUILD all
	COMMAND "tests/check/exhaust --heavy")

suite(check-proofs SECONDS 190
	WHAT "ticket locks and rota for any number of contexts: invariants hold, broken models and invariants fail, and the checker's executions are steps of the models"
	PATHS check tests/check/proofs include/overlock python/overlock_tools/check
	BUILD all
	COMMAND "pytest -rs tests/check/proofs")

suite(search SECONDS 225
	WHAT "the checker's reduced search against plain enumeration: random programs with every kind of wait, under every model and adversary; every lock in every scenario; Long's inode list on the checker's transactions: 200 000 sections by two contexts, the list verified, commits counted; the same with transactions that read the lock word; transactions in the checker, under SC and TSO: guarantees, endings, an elided counter; outcomes of random programs against plain enumeration; litmus tests under SC, TSO and C11: the literature's verdicts, all outcomes against plain enumeration and an oracle, random programs; faulty models are detected; errors in .litmus files; every mutant of the reduced search loses an outcome of the same programs"
	PATHS include/overlock check tests/check tests/mutant.py tests/mutants.cmake
	BUILD search-fuzz tx-list check-transactions litmus-tests tests/check/search/all
	COMMAND "\$BUILD/tests/search-fuzz --programs 900 --seed 9000 --locks 100 && \$BUILD/tests/search-fuzz --programs 1 --seed 10258 --model c11 && \$BUILD/tests/tx-list --sections 200000 && \$BUILD/tests/tx-list --sections 50000 --lock elided --contexts 4 --rate 100 --retries 0 && \$BUILD/tests/check-transactions --gtest_brief=1 && \$BUILD/tests/litmus-tests --plain 10000 --random 80 && pytest tests/check/litmus tests/check/search")

suite(search-long LONG SECONDS 3900 PARTS 42
	WHAT "the same with 34 000 random programs, and longer enumeration; litmus tests with 4200 random programs"
	BUILD search-fuzz litmus-tests
	COMMAND "for part in \${OVERLOCK_PARTS:-\$(seq 0 41)}; do tests/check/search/long \$part || exit; done")

suite(docs QUICK SECONDS 100
	WHAT "links, generated tables, diagrams, man pages, error messages; the list of published tables: each names its sources, which have changed no more than its page says; samples of the checker's and the simulator's tables, made again"
	BUILD all
	COMMAND "pytest -rs tests/docs/test_*.py tests/docs/tables")

suite(site SECONDS 120
	WHAT "the documentation as a site, and every command of its pages"
	PATHS README.md CONTRIBUTING.md docs mkdocs.yml tools python/overlock_tools/cli tests/docs
	BUILD all
	COMMAND "pytest tests/docs/commands tests/docs/site")

suite(engine ALONE SECONDS 250
	WHAT "every lock under 32 000 seeded adversaries, 36 contexts at once, long preemptions, the papers' illustrations; these walks take every branch of every lock header both ways; no source line that overlock check reports as not reached has a count of gcov's; mutants of the engine's contexts and of transactions are caught"
	PATHS include check python/overlock_tools/check tests/check/engine tests/mutant.py tests/mutants.cmake
	BUILD all tests/check/engine/all
	COMMAND "tests/check/engine/walks && pytest -s tests/check/engine")

suite(sim SECONDS 270
	WHAT "the simulator: events, cache lines, schedulers, whole runs; mutants of each; overlock sim: scenarios and their errors, runs in every ending, Ctrl-C here and on a cluster, timelines and explanations against a second reading of the events, calibration, validation; mutants"
	PATHS include check/engine sim bench/workload tests/sim/native python/overlock_tools/sim python/overlock_tools/cli python/overlock_tools/core/schema tests/sim/command tests/sim/mutants tests/mutant.py tests/mutants.cmake
	BUILD all simulator-tests simulator-mutants
	COMMAND "pytest -rs tests/sim/native --ignore tests/sim/native/builds tests/sim/command")

suite(same-bits LONG SECONDS 1800 PARTS 6
	WHAT "the simulator's results are the same bytes by gcc and clang, -O0 and -O3, alone and beside others, and cross-compiled for AArch64, where the model checker explores the same; two builds of the wheel, in folders of different names, are the same bytes"
	NEEDS arm
	BUILD overlock-sim overlock-check
	COMMAND "pytest -rs tests/sim/native/builds tests/packaging/twice_at_size.py")

suite(run SECONDS 1220
	WHAT "overlock run: POSIX answers, conditions, cancellation, fork, jumps, events at single instructions, deadlines, rwlocks, spinlocks, locks by site, deadlocks and misuse, stacks of waits, reports on demand, real programs; overlock run: a part of the 6,500 cases (each call in each state), another part under each lock; mutants of the interposer are caught; overlock run on newer versions of glibc, Debian 13's and the newest: a part of the cases, condition variables, forks, C++; the same built on their headers; OpenMP's locks and critical sections of libomp and libgomp under overlock run: every routine by each name, constructs, tools, two runtimes in one process; mutants are caught; memory, mappings and descriptors under overlock run stay flat while threads, mutexes and forked children come and go; interposers that leak are caught; the interposer under ThreadSanitizer, which reports planted races; third-party test suites under the locks: how their results are judged; a part of GLib's and CPython's passes, and detects a lock without mutual exclusion"
	PATHS include lib run chaos python/overlock_tools/run tests/run
	NEEDS run glibc openmp third-party
	BUILD all overlock_thread
	COMMAND "pytest -rs tests/run/test_*.py tests/run/conformance tests/run/glibc tests/run/openmp tests/run/soak tests/run/races tests/run/thirdparty")

suite(spins SECONDS 90
	WHAT "overlock run --spins: which loops wait, of what kind, and which can be retargeted; registers, flags, vectors and the red zone stay as they were; stacks are unwound at each instruction of a stub; forks, libraries that come and go, filters of system calls, realtime threads; what is kept of an object; mutants of the finder and the stubs are caught"
	PATHS lib/loops run/spins run/launch.c run/program.c python/overlock_tools/run tests/run/spins tests/mutant.py
	BUILD all
	COMMAND "pytest -rs tests/run/spins")

suite(fit SECONDS 40
	WHAT "overlock run --fit: all ways of asking for CPUs agree under masks, quotas, nested groups and while they change; what is configured stays; allocators, signal handlers and threads ask; mutants are caught"
	PATHS run/fit lib/cgroup.c python/overlock_tools/run tests/run/fit tests/mutant.py
	BUILD all
	COMMAND "pytest -rs tests/run/fit")

suite(rust SECONDS 700 PARTS 4
	WHAT "the crates, by each Rust that is here: every lock's tests, examples, formatting and lints; a program without a libc; what is published builds by itself; instructions beside the C's; the Rust in the model checker and under ThreadSanitizer; the tests on AArch64, under qemu-user; mutants of each"
	PATHS rust examples/rust tests/rust include/overlock/locks.def include/overlock/lock/rota.h include/overlock/cond.h include/overlock/wait lib cmake/locks.cmake
	NEEDS rust
	BUILD all
	COMMAND "pytest -rs tests/rust")

suite(symbols QUICK SECONDS 50
	WHAT "no wait for a lock, no release and no child of a fork allocates, uses stdio or the loader, or can be cancelled: the machine code of the built libraries; planted calls are found; the library's symbols and the public types against lib/abi; removals and changes are caught, additions are reported"
	BUILD all
	COMMAND "pytest -rs tests/lib/paths tests/lib/abi")

suite(faults SECONDS 120
	WHAT "system calls that a sandbox forbids or that fail, a full disk, limits of files, beneath the library, overlock run, doctor and overlock-hostd: right, refused in one line, or as natively"
	PATHS lib run chaos profile lab/monitord python/overlock_tools/doctor tests/faults
	NEEDS bpf
	BUILD all
	COMMAND "pytest -rs tests/faults")

suite(packages SECONDS 800
	WHAT "Debian packages of library, headers, interposer and command: built, unpacked, linked with, preloaded; installed on a bare Debian 12, where each command runs or names what is missing; the wheel on a bare Debian 12 without a compiler: an exact profile, less than 40 MB; README word for word on a bare Debian 12: install, compile, run, a first profile; a first program in C, C++, Rust and Python, three commands each; the manifest of docs/throttled.md in containers; the container image, and docs/throttled.md line by line; what make release refuses"
	PATHS include lib run chaos examples rust docs/using.md packaging tests/packaging README.md tools/image.py tools/bundle.py tools/release.py docs/throttled.md Makefile tools/setup tools/packages.txt
	NEEDS deb bare bundle image
	BUILD all
	COMMAND "pytest -rs tests/packaging/packages tests/packaging/bare tests/packaging/release")

suite(run-long LONG SECONDS 13500 PARTS 72
	WHAT "each lock and each build of the interposer, with jemalloc, tcmalloc, mimalloc and an allocator that refuses calls in waits, all threads cancelled, on terminals that are paused or stop their background; overlock run at scale: 10,000 threads at once, a million over time, a million mutexes, 2,000 forks while locks are held; their costs; each single call of the interposer's fails or is late, from the first to the last, also on a full disk: the program is right, or refused in one line; overlock-monitord with ten times the hostile clients: others have their page as soon; at a hundred instructions of each call of the interposer a signal comes, the process forks, the thread is cancelled, a handler jumps; a waiting loop's jump is retargeted and taken back 100,000 times while threads wait in it"
	NEEDS run bpf clang
	BUILD all
	COMMAND "OVERLOCK_EVERY_CALL=1 OVERLOCK_HOSTILE_SIZE=10 pytest -rs tests/run/spins/toggled_at_size.py tests/run/waits_at_size.py tests/run/scale_at_size.py tests/run/stepped_at_size.py tests/faults/test_nth.py tests/faults/test_room.py tests/lab/agents/test_hostile.py")

suite(apps ALONE SECONDS 120
	WHAT "overlock apps: a program that is correct, wrong, slow, dead or interrupted; the check of each program's work, also with wrong work; pbzip2, HAProxy, Velvet and, if installed, LevelDB, nginx, DNS servers, DPDK, PostgreSQL, ABySS and Kraken 2; runtimes that count CPUs, under masks and quotas"
	PATHS run chaos python/overlock_tools/apps python/overlock_tools/bench tests/apps
	NEEDS apps
	BUILD all
	COMMAND "pytest -rs tests/apps")

suite(doctor ALONE SECONDS 100
	WHAT "overlock doctor: facts and rules on recorded machines, planted wrong rules; on this machine, in a container, under a quota, on programs"
	PATHS python/overlock_tools/doctor python/overlock_tools/core/system lib lab/monitord lab/slices tests/doctor
	BUILD all
	COMMAND "pytest tests/doctor")
