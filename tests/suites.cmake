# SPDX-License-Identifier: MIT
# The suites, one list. `make test` runs those marked QUICK, and the others whose PATHS the change touches;
# `make test-all` runs all but the LONG ones. tests/gate chooses, CTest runs.
#
#	suite(NAME [QUICK | LONG] [ALONE] SECONDS n WHAT text [PATHS path...] COMMAND text)
#
# SECONDS	the budget on 2 idle CPUs. A suite over it is reported as slow and does not fail, since the
#		machine may be busy. A suite that takes 10 budgets, and 15 minutes, is a hang, and is killed.
# ALONE		nothing else runs beside it; other suites run two at a time
# COMMAND	for bash, in the top folder, with BUILD set and .venv/bin on PATH
include(${CMAKE_CURRENT_LIST_DIR}/suite.cmake)

suite(lint QUICK SECONDS 60
	WHAT "formatters and linters for C, C++, Python and shell; the layers of the Python packages"
	COMMAND "tests/lint")

suite(tidy SECONDS 120
	WHAT "clang-tidy over all shipped C and C++"
	PATHS include lib preload bench engine tests/tidy .clang-tidy
	COMMAND "tests/tidy")

suite(analyzer LONG SECONDS 180
	WHAT "clang's static analyzer over all shipped C and C++"
	COMMAND "tests/tidy --analyze")

suite(tools QUICK SECONDS 240
	WHAT "the overlock command: help, errors, exit codes, Ctrl-C, JSON, statistics, the report"
	COMMAND "pytest tests/tools --ignore-glob='*/test_stats*' --ignore-glob='*/test_compare.py' --ignore-glob='*/test_papers.py' --ignore-glob='*/test_plan.py' --ignore-glob='*/test_measure.py' --ignore-glob='*/test_sweep.py'")

suite(measuring ALONE SECONDS 100
	WHAT "overlock-bench: it reports planted tails, gaps and lost exclusion, and a sampler with a stride misses them; copies, phases, slices and endings verified from outside"
	PATHS bench include lib workload tests/measuring
	COMMAND "pytest tests/measuring")

suite(workloads QUICK ALONE SECONDS 45
	WHAT "every workload detects a lock without mutual exclusion and accepts correct ones; workload sources in C, C++, the simulator and a kernel; mt19937, lengths and Zipf against theory; the locks that a C++ throw takes"
	COMMAND "pytest tests/workloads")

suite(statistics SECONDS 220
	WHAT "intervals, verdicts, ministat, comparisons and the papers' claims on data with a known truth; mutants of each"
	PATHS src/overlock_tools/analyze src/overlock_tools/model src/overlock_tools/render tests/tools
	COMMAND "pytest tests/tools/test_stats*.py tests/tools/test_compare.py tests/tools/test_papers.py")

suite(plan SECONDS 160
	WHAT "measurement plans: order, pilot, resuming, presets, the matrix, other load on the machine"
	PATHS src/overlock_tools/cli src/overlock_tools/measure src/overlock_tools/model tests/tools
	COMMAND "pytest tests/tools/test_plan.py tests/tools/test_measure.py")

suite(sweep SECONDS 110
	WHAT "sweeps of a tunable: values, locks, the plot, Ctrl-C; a better value is found, the best of equal values is not reported as better"
	PATHS src/overlock_tools/measure src/overlock_tools/model src/overlock_tools/render tests/tools
	COMMAND "pytest tests/tools/test_sweep.py")

suite(demo QUICK ALONE SECONDS 60
	WHAT "overlock demo end to end, shortened, and interrupted at every stage"
	COMMAND "pytest tests/demo")

suite(kernel QUICK SECONDS 100
	WHAT "every 4-byte lock in a Linux module: no warnings, no libc, TLS or floating point; mutants are refused; the kernel series applies and is small"
	COMMAND "pytest tests/kernel/test_module.py tests/kernel/test_series.py")

suite(kernel-boot LONG SECONDS 120
	WHAT "the module's self-test in Debian's kernel under QEMU; a lock without mutual exclusion fails"
	COMMAND "pytest tests/kernel/test_boot.py")

suite(guest SECONDS 160
	WHAT "virtual machines with a fake QEMU: start, communication, cleanup after every kind of end, answers as results; a real kernel if `overlock guest build` has built one"
	PATHS guest src/overlock_tools/kernel src/overlock_tools/measure tests/guest
	COMMAND "pytest -rs tests/guest")

suite(monitor SECONDS 60
	WHAT "readers of the slice page, including mutants that trust wrong data; overlock-hostd: slices, refused files, reused thread ids; a QEMU that sends without end"
	PATHS monitor include/overlock src/overlock_tools/cli/commands/hostd.py tests/monitor
	COMMAND "pytest -rs tests/monitor")

suite(fuzz SECONDS 240
	WHAT "what reads what others wrote: seeds and generated inputs under libFuzzer and Atheris; planted faults are found"
	PATHS monitor include/overlock/slice_reader.h lib/tunable.c preload src tests/fuzz
	COMMAND "pytest -rs tests/fuzz")

suite(kernel-series LONG SECONDS 3600
	WHAT "a Linux kernel with the series: each patch applies, builds and passes checkpatch; every lock passes locktorture, which detects the busted lock"
	COMMAND "pytest tests/kernel/test_kernel.py")

suite(instructions QUICK SECONDS 120
	WHAT "an uncontended lock+unlock takes no more instructions than Concurrency Kit's of the same kind; without counters, each lock compiles to the same object code as one without counter calls"
	COMMAND "pytest tests/instructions")

suite(native QUICK ALONE SECONDS 150
	WHAT "every lock and the library: exclusion at 1-64 threads through the wrap, trylock, timeouts, order, signals, fork, quota, shortage of ids and nodes, thread churn"
	COMMAND "tests/native/run plain")

suite(native-counted ALONE SECONDS 150
	WHAT "the same with counters"
	PATHS include lib tests/native
	COMMAND "tests/native/run counted")

suite(sanitizers ALONE SECONDS 290
	WHAT "the same under ThreadSanitizer, which must also report a mutant, and under AddressSanitizer with UBSan"
	PATHS include lib tests/native
	COMMAND "tests/native/run thread address")

suite(install SECONDS 180
	WHAT "the installed library from outside: pkg-config, CMake, static, vendored, dlopen, two ABIs; headers under -pedantic-errors; thread-safety analysis"
	PATHS include lib cmake packaging tests/install
	COMMAND "pytest tests/install")

suite(sim QUICK SECONDS 200
	WHAT "every lock under 120 000 seeded adversaries in the engine, long preemptions, the papers' illustrations"
	COMMAND "tests/sim/run")

suite(checking SECONDS 180
	WHAT "overlock check: messages, exit codes, Ctrl-C, cache, chart widths, timelines, weakening; end to end with the checker"
	PATHS check engine src/overlock_tools/modelcheck src/overlock_tools/cli tests/checking
	COMMAND "pytest tests/checking")

suite(lock-mutants QUICK SECONDS 100
	WHAT "the tests catch every mutant; they detect every dropped memory order, or list it as detectable only by the model checker"
	COMMAND "pytest -s tests/mutants")

suite(check-quick QUICK SECONDS 90
	WHAT "every lock explored exhaustively in every scenario at 2x1 under TSO, except long ones; no failure"
	COMMAND "tests/check/exhaust --quick")

suite(check ALONE SECONDS 900
	WHAT "every lock explored exhaustively: 2x2 and 3x1 under SC and TSO, 2x2 under C11, every scenario at 2x1 under all three, except long ones; no failure"
	PATHS include/overlock check engine tests/check
	COMMAND "tests/check/exhaust")

suite(check-heavy LONG SECONDS 14400
	WHAT "the long checks left out there (heavy.txt), five minutes each; no failure"
	COMMAND "tests/check/exhaust --heavy")

suite(check-mutants QUICK SECONDS 130
	WHAT "at least three broken locks of each kind: the checker names the fault, and holds where the fault cannot show"
	COMMAND "pytest -s tests/check/test_mutants.py tests/check/test_sleep.py")

suite(weakening SECONDS 140
	WHAT "every memory order of every lock, dropped: the checker reports the failure under C11"
	PATHS include/overlock check engine tests/check
	COMMAND "pytest -s tests/check/test_weakening.py")

suite(genmc QUICK SECONDS 100
	WHAT "the client emitted for another checker compiles alone and runs natively, for every lock"
	COMMAND "pytest tests/genmc")

suite(tx-list QUICK SECONDS 60
	WHAT "Long's inode list on the engine's transactions: 200 000 sections by two contexts, the list verified, commits counted; the same with transactions that read the lock word"
	COMMAND "\$BUILD/tests/tx-list --sections 200000 && \$BUILD/tests/tx-list --sections 50000 --lock elided --contexts 4 --rate 100 --retries 0")

suite(claims QUICK SECONDS 140
	WHAT "the papers' claims about order and waiting hold in all executions or have a counterexample; which contexts wait for which after one stops for ever"
	COMMAND "pytest tests/check/test_claims.py")

suite(check-transactions QUICK SECONDS 40
	WHAT "transactions in the checker, under SC and TSO: guarantees, endings, an elided counter; outcomes of random programs against plain enumeration"
	COMMAND "\$BUILD/tests/check-transactions --gtest_brief=1")

suite(litmus QUICK SECONDS 30
	WHAT "litmus tests under SC, TSO and C11: the literature's verdicts, all outcomes against plain enumeration and an oracle, random programs; faulty models are detected"
	COMMAND "\$BUILD/tests/litmus-tests --plain 10000 --random 80")

suite(litmus-long LONG SECONDS 900
	WHAT "the same with 4000 random programs"
	COMMAND "\$BUILD/tests/litmus-tests --quiet --random 4000 --seed 10000")

suite(search QUICK SECONDS 70
	WHAT "the checker's reduced search against plain enumeration: random programs with every kind of wait, under every model and adversary; every lock in every scenario"
	COMMAND "\$BUILD/tests/search-fuzz --programs 760 --seed 442 --locks 100")

suite(search-mutants SECONDS 70
	WHAT "every mutant of the reduced search loses an outcome of the same programs"
	PATHS check engine tests/check
	COMMAND "pytest tests/check/search")

suite(search-long LONG SECONDS 900
	WHAT "the same with 20 000 random programs, and longer enumeration"
	COMMAND "\$BUILD/tests/search-fuzz --programs 20000 --seed 10000 --locks 20000")

suite(arch ALONE SECONDS 300
	WHAT "the library and its native tests cross-compiled for AArch64 and run under qemu-user, which does not test memory order"
	PATHS include lib tests/native tests/arch
	COMMAND "tests/arch/run")

suite(docs QUICK SECONDS 240
	WHAT "the site, links, generated tables, diagrams, man pages, and the commands of the pages"
	COMMAND "pytest tests/docs")

suite(sim-coverage ALONE SECONDS 120
	WHAT "the seeded schedules take every branch of every lock header both ways; mutants of the engine's contexts and transactions are caught"
	PATHS include engine tests/sim
	COMMAND "pytest -s tests/sim")

suite(run ALONE SECONDS 400
	WHAT "overlock run: POSIX answers, conditions, cancellation, fork, deadlines, rwlocks, spinlocks, locks by site, deadlocks and misuse, stacks of waits, reports on demand, real programs"
	PATHS include lib preload src/overlock_tools/preload tests/run
	COMMAND "pytest tests/run --ignore=tests/run/test_conformance.py --ignore=tests/run/test_mutants.py")

suite(third-party SECONDS 150
	WHAT "third-party test suites under the locks: how their results are judged; a part of GLib's and CPython's passes, and detects a lock without mutual exclusion"
	PATHS include lib preload tests/thirdparty
	COMMAND "pytest -rs tests/thirdparty")

suite(packages SECONDS 80
	WHAT "Debian packages of library, headers and interposer: built, unpacked, linked with, preloaded"
	PATHS include lib preload packaging tests/packages
	COMMAND "pytest -rs tests/packages")

suite(conformance SECONDS 220
	WHAT "overlock run: a part of the 6,500 cases (each call in each state), another part under each lock; mutants of the interposer are caught"
	PATHS include lib preload tests/run
	COMMAND "pytest tests/run/test_conformance.py tests/run/test_mutants.py")

suite(run-scale LONG SECONDS 3600
	WHAT "overlock run at scale: 10,000 threads at once, a million over time, a million mutexes, 2,000 forks while locks are held; their costs"
	COMMAND "pytest -s tests/run/scale_at_size.py")

suite(apps ALONE SECONDS 90
	WHAT "overlock apps: a program that is correct, wrong, slow, dead or interrupted; the check of each program's work, also with wrong work; pbzip2 and, if installed, LevelDB"
	PATHS preload src/overlock_tools/apps src/overlock_tools/measure tests/apps
	COMMAND "pytest -rs tests/apps")

suite(peers ALONE SECONDS 40
	WHAT "other libraries' locks: each excludes at 1-64 threads, trylock, many held at once; missing ones are named"
	PATHS bench include tests/peers
	COMMAND "pytest tests/peers")

suite(doctor QUICK ALONE SECONDS 100
	WHAT "overlock doctor: facts and rules on recorded machines, planted wrong rules; on this machine, in a container, under a quota, on programs"
	COMMAND "pytest tests/doctor")

suite(scenarios ALONE SECONDS 140
	WHAT "each scenario verified from outside, and refuted where it does not hold; no leftovers after any end of bench; cgroup v2 on files"
	PATHS bench src/overlock_tools/measure tests/scenarios
	COMMAND "pytest tests/scenarios")

suite(scenarios-v2 LONG SECONDS 120
	WHAT "quotas of cgroup v2 from five places in Debian's kernel under QEMU"
	COMMAND "pytest tests/scenarios/boot_v2.py")
