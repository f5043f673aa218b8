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

suite(tidy SECONDS 120
	WHAT "clang-tidy over all shipped C and C++"
	PATHS include lib preload bench engine tests/tidy .clang-tidy
	NEEDS clang
	COMMAND "tests/tidy")

suite(analyzer LONG SECONDS 180
	WHAT "clang's static analyzer over all shipped C and C++"
	NEEDS clang
	COMMAND "tests/tidy --analyze")

suite(tools QUICK SECONDS 120
	WHAT "the overlock command: help, errors, exit codes, Ctrl-C, JSON, stacks, tune; the gate"
	BUILD all
	COMMAND "pytest tests/python/cli tests/python/system tests/python/preload tests/gate_tests")

suite(report SECONDS 60
	WHAT "reports: the page in a browser, figures, CSV"
	PATHS src/overlock_tools/render src/overlock_tools/analyze src/overlock_tools/model tests/python/render tests/python/planted.py
	NEEDS browser
	BUILD all
	COMMAND "pytest tests/python/render")

suite(measuring ALONE SECONDS 100
	WHAT "overlock-bench: it reports planted tails, gaps and lost exclusion, and a sampler with a stride misses them; copies, phases, slices and endings verified from outside"
	PATHS bench include lib workload tests/measuring
	BUILD all tests/measuring/all
	COMMAND "pytest tests/measuring")

suite(workloads QUICK ALONE SECONDS 45
	WHAT "every workload detects a lock without mutual exclusion and accepts correct ones; mt19937, lengths and Zipf against theory; the locks that a C++ throw takes"
	BUILD all tests/workloads/all
	COMMAND "pytest tests/workloads/test_*.py")

suite(workload-texts SECONDS 30
	WHAT "workload sources in C, C++, the checker and a kernel"
	PATHS workload bench include tests/workloads
	NEEDS clang kernel-module
	BUILD all
	COMMAND "pytest tests/workloads/texts")

suite(statistics SECONDS 220
	WHAT "intervals, verdicts, ministat, comparisons and the papers' claims on data with a known truth; mutants of each"
	PATHS src/overlock_tools/analyze src/overlock_tools/model tests/python/analyze tests/python/model tests/python/planted.py
	NEEDS statistics
	BUILD all
	COMMAND "pytest tests/python/model tests/python/analyze")

suite(measure SECONDS 270
	WHAT "measurement plans: order, pilot, resuming, presets, the matrix, other load on the machine; sweeps of a tunable: values, locks, the plot, Ctrl-C, and whether a better value is found"
	PATHS src/overlock_tools/cli src/overlock_tools/measure src/overlock_tools/model src/overlock_tools/render tests/python/measure tests/python/planted.py
	NEEDS statistics
	BUILD all
	COMMAND "pytest tests/python/measure")

suite(demo QUICK ALONE SECONDS 60
	WHAT "overlock demo end to end, shortened, and interrupted at every stage"
	BUILD all
	COMMAND "pytest tests/demo")

suite(kernel SECONDS 100
	WHAT "every 4-byte lock in a Linux module: no warnings, no libc, TLS or floating point; mutants are refused; the kernel series applies; what a guest reads of its slices; how it gives a CPU away, and counts waiters; the modules of its loads build"
	PATHS include guest tests/kernel
	NEEDS kernel-module
	BUILD all
	COMMAND "pytest tests/kernel/test_module.py tests/kernel/test_loads.py tests/kernel/test_series.py tests/kernel/test_slices.py tests/kernel/test_waits.py")

suite(kernel-boot LONG SECONDS 120
	WHAT "the module's self-test in Debian's kernel under QEMU; a lock without mutual exclusion fails"
	NEEDS guest kernel-module
	COMMAND "pytest tests/kernel/test_boot.py")

suite(guest SECONDS 160
	WHAT "virtual machines with a fake QEMU: start, communication, cleanup after every kind of end, answers as results; a real kernel if `overlock guest build` has built one"
	PATHS guest preload/chaos/guest.c preload/chaos/guest.h src/overlock_tools/kernel src/overlock_tools/measure tests/python/kernel
	NEEDS bpf
	BUILD all
	COMMAND "pytest -rs tests/python/kernel")

suite(monitor SECONDS 100
	WHAT "readers of the slice page, including mutants that trust wrong data; overlock-hostd: slices, refused files, reused thread ids; a QEMU that sends without end; overlock-monitord: what programs learn, abuse, and services with a fault"
	PATHS monitor include/overlock lib/slices.c lib/knowledge.c src/overlock_tools/system/monitord.py packaging/overlock-monitord.service src/overlock_tools/kernel/hostd.py tests/monitor
	NEEDS bpf clang
	BUILD all
	COMMAND "pytest -rs tests/monitor")

suite(monitor-hostile LONG SECONDS 60
	WHAT "overlock-monitord with ten times the hostile clients: others have their page as soon"
	NEEDS bpf clang
	BUILD all
	COMMAND "OVERLOCK_HOSTILE_SIZE=10 pytest -rs tests/monitor/test_hostile.py")

# Its real-time threads take all CPUs, and a group must be able to use up its quota.
suite(profile ALONE SECONDS 240
	WHAT "overlock profile: programs with planted causes against what they measure themselves, healthy ones, Ctrl-C, SIGKILL, bounds; loops that wait, kinds, advice"
	PATHS monitor src/overlock_tools/profile src/overlock_tools/system/symbols.py tests/profile tests/python/profile
	NEEDS bpf clang
	BUILD all
	COMMAND "pytest -rs tests/profile tests/python/profile")

suite(chaos SECONDS 60
	WHAT "overlock chaos: its library answers as glibc, decisions by seed alone; planted bugs are found at their sites, healthy programs pass; bisection, interrupts; when the plugin of overlock guest chaos stops a vCPU"
	PATHS preload/chaos preload/diag/symbols.c src/overlock_tools/chaos src/overlock_tools/cli/commands/chaos.py tests/chaos tests/python/chaos
	BUILD all
	COMMAND "pytest tests/chaos tests/python/chaos")

suite(record SECONDS 30
	WHAT "overlock run --record and overlock bench --replay: planted programs' order, waits, losses, forks, kills; the trace's reader refuses what is broken; replays cannot deadlock; comparisons and mixes on made-up traces"
	PATHS preload/record preload/diag/symbols.c bench/replay.h bench/replay_plan.c workload/replay_format.h workload/replay_turns.h src/overlock_tools/trace src/overlock_tools/preload/recording.py src/overlock_tools/measure/replaying.py tests/record tests/python/trace
	BUILD all
	COMMAND "pytest tests/record tests/python/trace")

suite(scx SECONDS 180
	WHAT "overlock sched in a guest whose time is counted: ends of slices, the words of threads, liars, nice, a killed loader, each switch; a program and its page"
	PATHS monitor/sched monitor/programs.c monitor/service.c monitor/thread.c monitor/times.c bench/sched_load.c lib/slices.c include/overlock/slice_page.h include/overlock/slice_reader.h include/overlock/sched_socket.h guest/sched src/overlock_tools/kernel/scx.py src/overlock_tools/kernel/scx_run.py preload/chaos/by.c tests/sched
	NEEDS guest
	BUILD all
	COMMAND "pytest -rs tests/sched tests/python/kernel/test_scx.py")

suite(fuzz SECONDS 240
	WHAT "what reads what others wrote: seeds and generated inputs under libFuzzer and Atheris; planted faults are found"
	PATHS monitor include/overlock/slice_reader.h lib/tunable.c preload src tests/fuzz
	NEEDS bpf clang
	BUILD all
	COMMAND "pytest -rs tests/fuzz")

suite(kernel-series LONG SECONDS 3600
	WHAT "a Linux kernel with the series: each patch applies, builds and passes checkpatch; every lock passes locktorture, which detects the busted lock"
	NEEDS guest
	COMMAND "pytest tests/kernel/test_kernel.py")

suite(instructions SECONDS 120
	WHAT "an uncontended lock+unlock takes no more instructions than Concurrency Kit's of the same kind; without counters, each lock compiles to the same object code as one without counter calls"
	PATHS include lib tests/instructions
	NEEDS valgrind ck
	BUILD all
	COMMAND "pytest tests/instructions")

suite(native QUICK ALONE SECONDS 40
	WHAT "every lock and the library: exclusion at 1-4 threads through the wrap, trylock, timeouts, order, signals, fork, quota, shortage of ids and nodes, thread churn"
	BUILD native-plain
	COMMAND "tests/native/run quick")

suite(native-counted ALONE SECONDS 40
	WHAT "the same with counters, and exclusion at 1-64 threads"
	PATHS include lib tests/native
	BUILD native-plain native-counted
	COMMAND "tests/native/run many counted")

suite(sanitizers ALONE SECONDS 290
	WHAT "the same under ThreadSanitizer, which must also report a mutant, and under AddressSanitizer with UBSan"
	PATHS include lib tests/native
	BUILD native-thread native-address
	COMMAND "tests/native/run thread address")

suite(install SECONDS 180
	WHAT "the installed library from outside: pkg-config, CMake, static, vendored, dlopen, two ABIs, musl; headers under -pedantic-errors; thread-safety analysis"
	PATHS include lib cmake packaging CMakeLists.txt tests/install
	NEEDS arm clang musl
	BUILD all
	COMMAND "pytest tests/install")

suite(compat SECONDS 150
	WHAT "overlock/compat: programs in other libraries' APIs find the same with their headers and with ours; locks that are refused; mutants of the headers"
	PATHS include lib tests/compat
	NEEDS compat
	BUILD all
	COMMAND "pytest -rs tests/compat")

suite(abi QUICK SECONDS 20
	WHAT "the library's symbols and the public types against lib/abi; removals and changes are caught, additions are reported"
	BUILD all
	COMMAND "pytest -rP tests/abi")

suite(compilers LONG SECONDS 2400 PARTS 20
	WHAT "gcc 12 to 14, clang 14 to 19, with -O3, -flto and -march=native, on Debian 12 and 13: no warnings, the same symbols, locks exclude, overlock run answers as glibc"
	NEEDS compilers
	BUILD all
	COMMAND "tests/compilers/run && tests/compilers/debian13 tests/compilers/run \$BUILD/native")

suite(sim SECONDS 130
	WHAT "every lock under 32 000 seeded adversaries, 36 contexts at once, long preemptions, the papers' illustrations"
	PATHS include/overlock check engine tests/sim
	BUILD all sim-scripts sim-nap
	COMMAND "tests/sim/run")

suite(checking SECONDS 180
	WHAT "overlock check: messages, exit codes, Ctrl-C, cache, chart widths, timelines, weakening; end to end with the checker"
	PATHS check engine src/overlock_tools/modelcheck src/overlock_tools/cli tests/python/modelcheck
	BUILD all
	COMMAND "pytest tests/python/modelcheck")

suite(lock-mutants SECONDS 110
	WHAT "seeded adversaries catch every mutant of a lock"
	PATHS include/overlock check engine tests/mutants
	BUILD all sim-nap tests/mutants/all
	COMMAND "pytest -s tests/mutants")

suite(check-quick SECONDS 90 PARTS 2
	WHAT "every lock explored exhaustively in every scenario at 2x1 under TSO, except long ones; no failure"
	PATHS include/overlock check engine tests/check
	BUILD all
	COMMAND "tests/check/exhaust --quick")

suite(check ALONE SECONDS 900 PARTS 15
	WHAT "every lock explored exhaustively: 2x2 and 3x1 under SC and TSO, 2x2 under C11, every scenario at 2x1 under SC and C11 (TSO: check-quick), except long ones; no failure"
	PATHS include/overlock check engine tests/check
	BUILD all
	COMMAND "tests/check/exhaust")

suite(check-heavy LONG ALONE SECONDS 14400 PARTS 48
	WHAT "the long checks left out there (heavy.txt), five minutes each; no failure"
	BUILD all
	COMMAND "tests/check/exhaust --heavy")

suite(check-mutants SECONDS 240 PARTS 4
	WHAT "at least three broken locks of each kind: the checker names the fault, and holds where the fault cannot show; schedules that cannot be read; the page of counterexamples"
	PATHS include/overlock check engine tests/check tests/mutants
	BUILD all tests/mutants/all
	COMMAND "pytest -s tests/check/test_mutants.py tests/check/test_sleep.py tests/check/test_path.py tests/check/test_counterexamples.py")

suite(check-foreign SECONDS 50
	WHAT "locks in C that GCC instruments, on futexes, plain variables and stacks: every fault is named; what a file brings and replaces"
	PATHS check engine include/overlock/checked.h src/overlock_tools/modelcheck tests/check/foreign
	BUILD overlock-check
	COMMAND "pytest tests/check/foreign")

suite(check-ordinary SECONDS 120
	WHAT "ordinary locks in C, C++ and Rust as they are: which functions are taken, each planted mistake at its line, errors, wrappers; measured natively"
	PATHS check/places.cpp check/instrumented.cpp include/overlock/checked.h include/overlock/foreign src/overlock_tools/ordinary src/overlock_tools/modelcheck src/overlock_tools/cli/commands/new.py tests/check/ordinary tests/python/ordinary
	BUILD all
	COMMAND "pytest tests/check/ordinary tests/python/ordinary")

suite(check-loops SECONDS 60
	WHAT "loops that count their turns, and loops without end: a fault behind a loop is found, what was not explored is told"
	PATHS check engine src/overlock_tools/modelcheck tests/check/loops
	BUILD all
	COMMAND "pytest tests/check/loops")

suite(check-calls SECONDS 90
	WHAT "what is made of any lock, in the model checker: condition variables lose no wake-up, also beside deadlines, and the last waiter may free one; lock_or_fail notices each circle of waits and nothing else; the lock of examples/; mutants"
	PATHS examples include/overlock/cond.h include/overlock/or_fail.h include/overlock/checked.h check engine tests/check/conditions tests/check/or_fail tests/check/examples
	BUILD overlock-check
	COMMAND "pytest tests/check/conditions tests/check/or_fail tests/check/examples")

suite(weakening SECONDS 140
	WHAT "every memory order of every lock, dropped: the checker reports the failure under C11"
	PATHS include/overlock check engine tests/check
	BUILD all
	COMMAND "pytest -s tests/check/test_weakening.py")

suite(genmc SECONDS 100
	WHAT "the client emitted for another checker compiles alone and runs natively, for every lock"
	PATHS include/overlock check/genmc src/overlock_tools/modelcheck tests/genmc
	NEEDS clang
	BUILD all
	COMMAND "pytest tests/genmc")

suite(tx-list SECONDS 60
	WHAT "Long's inode list on the checker's transactions: 200 000 sections by two contexts, the list verified, commits counted; the same with transactions that read the lock word"
	PATHS include/overlock check engine tests/sim
	BUILD tx-list
	COMMAND "\$BUILD/tests/tx-list --sections 200000 && \$BUILD/tests/tx-list --sections 50000 --lock elided --contexts 4 --rate 100 --retries 0")

suite(proofs SECONDS 90
	WHAT "ticket locks and overlock for any number of contexts: invariants hold, broken models and invariants fail, and the checker's executions are steps of the models"
	PATHS include/overlock/lock check engine tests/proofs
	BUILD overlock-check
	COMMAND "pytest tests/proofs")

suite(claims SECONDS 140
	WHAT "the papers' claims about order and waiting hold in all executions or have a counterexample; which contexts wait for which after one stops for ever"
	PATHS include/overlock check engine tests/check
	BUILD all tests/check/claims/all tests/mutants/all
	COMMAND "pytest tests/check/test_claims.py")

suite(check-transactions SECONDS 5
	WHAT "transactions in the checker, under SC and TSO: guarantees, endings, an elided counter; outcomes of random programs against plain enumeration"
	PATHS include/overlock check engine
	BUILD check-transactions
	COMMAND "\$BUILD/tests/check-transactions --gtest_brief=1")

suite(litmus SECONDS 20
	WHAT "litmus tests under SC, TSO and C11: the literature's verdicts, all outcomes against plain enumeration and an oracle, random programs; faulty models are detected; errors in .litmus files"
	PATHS check tests/litmus
	BUILD litmus-tests
	COMMAND "\$BUILD/tests/litmus-tests --plain 10000 --random 80 && pytest tests/litmus")

suite(litmus-long LONG SECONDS 900 PARTS 6
	WHAT "the same with 4000 random programs"
	BUILD litmus-tests
	COMMAND "for part in \${OVERLOCK_PARTS:-0 1 2 3 4 5}; do \$BUILD/tests/litmus-tests --quiet --random 700 --seed \$((10000 + 700 * part)) || exit; done")

suite(search SECONDS 70
	WHAT "the checker's reduced search against plain enumeration: random programs with every kind of wait, under every model and adversary; every lock in every scenario"
	PATHS include/overlock check engine tests/check/search
	BUILD search-fuzz
	COMMAND "\$BUILD/tests/search-fuzz --programs 900 --seed 9000 --locks 100 && \$BUILD/tests/search-fuzz --programs 1 --seed 10258 --model c11")

suite(search-mutants SECONDS 70
	WHAT "every mutant of the reduced search loses an outcome of the same programs"
	PATHS check engine tests/check
	BUILD tests/check/search/all
	COMMAND "pytest tests/check/search")

suite(search-long LONG SECONDS 3000 PARTS 36
	WHAT "the same with 34 000 random programs, and longer enumeration"
	BUILD search-fuzz
	COMMAND "for part in \${OVERLOCK_PARTS:-\$(seq 0 35)}; do \$BUILD/tests/search-fuzz --programs 950 --seed \$((100000 + 950 * part)) --locks 550 || exit; done")

suite(arch ALONE SECONDS 300
	WHAT "the library and its native tests cross-compiled for AArch64 and run under qemu-user, which does not test memory order"
	PATHS include lib tests/native tests/arch
	NEEDS arm
	BUILD all
	COMMAND "tests/arch/run")

suite(docs QUICK SECONDS 60
	WHAT "links, generated tables, diagrams, man pages, error messages"
	BUILD all
	COMMAND "pytest tests/docs/test_*.py")

suite(tables QUICK SECONDS 40
	WHAT "the list of published tables: each names its sources, which have changed no more than its page says; samples of the checker's and the simulator's tables, made again"
	BUILD all
	COMMAND "pytest tests/tables")

suite(site SECONDS 120
	WHAT "the documentation as a site, and every command of its pages"
	PATHS README.md CONTRIBUTING.md docs mkdocs.yml tools src/overlock_tools/cli tests/docs
	BUILD all
	COMMAND "pytest tests/docs/commands tests/docs/site")

suite(sim-coverage ALONE SECONDS 120
	WHAT "the seeded walks take every branch of every lock header both ways; no source line that overlock check reports as not reached has a count of gcov's; mutants of the engine's contexts and of transactions are caught"
	PATHS include engine check src/overlock_tools/modelcheck tests/sim
	BUILD all tests/sim/all
	COMMAND "pytest -s tests/sim")

suite(simulator SECONDS 120
	WHAT "the simulator: events, cache lines, schedulers, whole runs; mutants of each"
	PATHS include engine sim workload tests/simulator
	BUILD all simulator-tests simulator-mutants
	COMMAND "pytest tests/simulator --ignore tests/simulator/builds")

suite(simulator-builds LONG SECONDS 600 PARTS 5
	WHAT "the simulator's results are the same bytes by gcc and clang, -O0 and -O3, alone and beside others"
	BUILD overlock-sim
	COMMAND "pytest tests/simulator/builds")

suite(simulate SECONDS 150
	WHAT "overlock sim: scenarios and their errors, runs in every ending, Ctrl-C here and on a cluster, timelines and explanations against a second reading of the events, calibration, validation; mutants"
	PATHS sim src/overlock_tools/simulate src/overlock_tools/cli src/overlock_tools/schema tests/python/simulate
	BUILD all
	COMMAND "pytest tests/python/simulate")

suite(run SECONDS 450
	WHAT "overlock run: POSIX answers, conditions, cancellation, fork, jumps, events at single instructions, deadlines, rwlocks, spinlocks, locks by site, deadlocks and misuse, stacks of waits, reports on demand, real programs"
	PATHS include lib preload src/overlock_tools/preload tests/run
	NEEDS run
	BUILD all
	COMMAND "pytest tests/run/test_*.py")

suite(paths QUICK SECONDS 30
	WHAT "no wait for a lock, no release and no child of a fork allocates, uses stdio or the loader, or can be cancelled: the machine code of the built libraries; planted calls are found"
	BUILD all
	COMMAND "pytest tests/paths")

suite(soak SECONDS 40
	WHAT "memory, mappings and descriptors under overlock run stay flat while threads, mutexes and forked children come and go; interposers that leak are caught"
	PATHS lib preload tests/run/soak
	BUILD all
	COMMAND "pytest tests/run/soak")

suite(faults SECONDS 120
	WHAT "system calls that a sandbox forbids or that fail, a full disk, limits of files, beneath the library, overlock run, doctor and overlock-hostd: right, refused in one line, or as natively"
	PATHS lib preload monitor src/overlock_tools/doctor tests/faults
	NEEDS bpf
	BUILD all
	COMMAND "pytest -rs tests/faults")

suite(faults-nth LONG SECONDS 60
	WHAT "each single call of the interposer's fails or is late, from the first to the last: the program is right, or refused in one line"
	BUILD all
	COMMAND "OVERLOCK_EVERY_CALL=1 pytest -rs tests/faults/test_nth.py")

suite(third-party SECONDS 150
	WHAT "third-party test suites under the locks: how their results are judged; a part of GLib's and CPython's passes, and detects a lock without mutual exclusion"
	PATHS include lib preload tests/thirdparty
	NEEDS third-party
	BUILD all
	COMMAND "pytest -rs tests/thirdparty")

suite(packages SECONDS 280
	WHAT "Debian packages of library, headers, interposer and command: built, unpacked, linked with, preloaded; installed on a bare Debian 12, where each command runs or names what is missing"
	PATHS include lib preload packaging tests/packages tests/bare
	NEEDS deb bare
	BUILD all
	COMMAND "pytest -rs tests/packages")

suite(bare SECONDS 240
	WHAT "README word for word on a bare Debian 12: install, compile, run, a first profile; the manifest of docs/containers.md in containers"
	PATHS README.md Makefile packaging tools/setup tools/packages.txt tests/bare
	NEEDS bare
	COMMAND "pytest -rs tests/bare")

suite(conformance SECONDS 220
	WHAT "overlock run: a part of the 6,500 cases (each call in each state), another part under each lock; mutants of the interposer are caught"
	PATHS include lib preload tests/run
	NEEDS run
	BUILD all
	COMMAND "pytest tests/run/conformance")

suite(glibc SECONDS 120
	WHAT "overlock run on newer versions of glibc, Debian 13's and the newest: a part of the cases, condition variables, forks, C++; the same built on their headers"
	PATHS lib preload tests/run/glibc tests/run/conftest.py
	NEEDS glibc
	BUILD all
	COMMAND "pytest tests/run/glibc")

suite(openmp SECONDS 120
	WHAT "OpenMP's locks and critical sections of libomp and libgomp under overlock run: every routine by each name, constructs, tools, two runtimes in one process; mutants are caught"
	PATHS include lib preload tests/run/openmp tests/run/conformance tests/run/conftest.py
	NEEDS openmp
	BUILD all
	COMMAND "pytest tests/run/openmp")

suite(waits-long LONG SECONDS 600 PARTS 10
	WHAT "each lock and each build of the interposer, with jemalloc, tcmalloc, mimalloc and an allocator that refuses calls in waits, all threads cancelled, on terminals that are paused or stop their background"
	NEEDS run
	BUILD all
	COMMAND "pytest -rs tests/run/waits_at_size.py")

suite(races SECONDS 120
	WHAT "the interposer with its reports and findings, and the library, under ThreadSanitizer; planted races are reported"
	PATHS include lib preload tests/run/races
	BUILD overlock_thread
	COMMAND "pytest tests/run/races")

suite(run-stepped LONG SECONDS 9000 PARTS 30
	WHAT "calls of nine locks in each build of the interposer: at a hundred instructions of each a signal comes, the process forks, the thread is cancelled, a handler jumps"
	NEEDS run
	BUILD all
	COMMAND "pytest -s tests/run/stepped_at_size.py")

suite(run-scale LONG SECONDS 3600 PARTS 16
	WHAT "overlock run at scale: 10,000 threads at once, a million over time, a million mutexes, 2,000 forks while locks are held; their costs"
	NEEDS run
	BUILD all
	COMMAND "pytest -s tests/run/scale_at_size.py")

suite(apps ALONE SECONDS 120
	WHAT "overlock apps: a program that is correct, wrong, slow, dead or interrupted; the check of each program's work, also with wrong work; pbzip2, HAProxy, Velvet and, if installed, LevelDB, nginx, DNS servers, DPDK, PostgreSQL, ABySS and Kraken 2"
	PATHS preload src/overlock_tools/apps src/overlock_tools/measure tests/python/apps
	NEEDS apps
	BUILD all
	COMMAND "pytest -rs tests/python/apps")

suite(peers ALONE SECONDS 40
	WHAT "other libraries' locks: each excludes at 1-64 threads, trylock, many held at once; missing ones are named"
	PATHS bench include tests/peers
	NEEDS peers
	BUILD all
	COMMAND "pytest tests/peers")

suite(doctor ALONE SECONDS 100
	WHAT "overlock doctor: facts and rules on recorded machines, planted wrong rules; on this machine, in a container, under a quota, on programs"
	PATHS src/overlock_tools/doctor src/overlock_tools/system lib monitor tests/python/doctor
	BUILD all
	COMMAND "pytest tests/python/doctor")

suite(scenarios ALONE SECONDS 140
	WHAT "each scenario verified from outside, and refuted where it does not hold; no leftovers after any end of bench; cgroup v2 on files"
	PATHS bench src/overlock_tools/measure tests/python/conditions
	BUILD all
	COMMAND "pytest tests/python/conditions")

suite(scenarios-v2 LONG SECONDS 120
	WHAT "quotas of cgroup v2 from five places in Debian's kernel under QEMU"
	NEEDS guest kernel-module
	BUILD all
	COMMAND "pytest tests/python/conditions/boot_v2.py")
