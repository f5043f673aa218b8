# SPDX-License-Identifier: MIT
# Forwards to CMake (build/) and to the overlock command (.venv/). `make` alone lists the targets.
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_FLAGS ?=
OVERLOCK = .venv/bin/overlock
PYTHON = .venv/bin/python
ARGS ?=
PICTURED = ticket,mcs,twa,preemptable_ticket,pv_preemptable_ticket,tas_yield,pthread_mutex

export OVERLOCK_NATIVE := $(abspath $(BUILD))/native

.DEFAULT_GOAL := help
.PHONY: help native demo test build checker peers install clean lint format bench aa matrix papers picture measured real instructions docs setup

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | \
		while IFS='	' read -r target what; do printf '  make %-17s %s\n' "$$target" "$$what"; done

demo: ## install missing packages, then show lock collapse and its cure on this machine; five minutes
	@tools/setup demo
	@$(MAKE) --no-print-directory native
	@$(OVERLOCK) demo $(ARGS)

test: ## install missing packages, then run the quick suites and those that the change touches; ARGS="--only NAME"
	@tools/setup test
	@$(CONFIGURE) WITH_TESTS=ON
	@.venv/bin/python tests/gate --build $(BUILD) $(ARGS)

.PHONY: test-all check-quick
test-all: ## run all suites but those of hours; ARGS=--long for these too
	@$(MAKE) --no-print-directory test ARGS="--all $(ARGS)"

check-quick: ## lint, and explore every lock at the smallest size: for an edit loop
	@$(MAKE) --no-print-directory test ARGS="--only lint --only check-quick"

build: ## build the library, the interposer and the benchmarks into build/
	@tools/setup demo
	@$(MAKE) --no-print-directory native

# The launcher takes the place of tools/overlock.py, and finds the rest by the link.
LAUNCHER = { ln -sfn $(OVERLOCK_NATIVE) .venv/lib/overlock && \
	{ cmp -s $(BUILD)/native/overlock .venv/bin/overlock || \
		install $(BUILD)/native/overlock .venv/bin/overlock; }; }

# CI's log and a newcomer's terminal want to hear of errors and warnings, not of every file.
.PHONY: configure
CONFIGURE = $(MAKE) --no-print-directory configure
configure:
	@[ ! -e $(BUILD)/Makefile ] || { echo "$(BUILD) was built by make, not by Ninja: remove it (make clean)" >&2; exit 2; }
	@cmake -S . -B $(BUILD) -G Ninja -DOVERLOCK_TESTS=$(or $(WITH_TESTS),OFF) -DCMAKE_INSTALL_PREFIX=$(PREFIX) \
		$(CMAKE_FLAGS) --log-level=WARNING >/dev/null

# With WITH_TESTS=ON, TARGETS chooses among the tests' programs: tests/all.
native: configure
	@[ -d $(BUILD)/native ] || echo "building into $(BUILD)/ ..."
	@cmake --build $(BUILD) --parallel $(JOBS) --target $(or $(TARGETS),all) -- --quiet
	@[ ! -x .venv/bin/overlock-tools ] || $(LAUNCHER)

checker: ## also build the model checker, for `overlock check`
	@tools/setup test
	@$(MAKE) --no-print-directory native CMAKE_FLAGS="$(CMAKE_FLAGS) -DOVERLOCK_CHECKER=ON"

peers: ## install other libraries' locks and build them in, for `overlock bench --locks peers`
	@tools/setup peers
	@$(MAKE) --no-print-directory native

.PHONY: bundle
bundle: checker ## make one archive that measures a machine without network or Python; WITH="programs guest": with these
	@tools/setup bundle
	@$(PYTHON) tools/bundle.py $(addprefix --with ,$(WITH)) $(ARGS)

.PHONY: image
image: build ## make a container image, build/overlock-image-*.tar, with run, doctor and profile; needs no builder
	@tools/setup image
	@$(PYTHON) tools/image.py $(ARGS)

# Without an argument it refuses a commit that has no tag, and a tree that is changed.
.PHONY: release
release: checker ## make all artefacts of a tagged commit in build/release, and try each on Debian 12, 13 and sid; ARGS="--untagged"
	@tools/setup bare bundle deb image release test
	@$(PYTHON) tools/release.py $(ARGS)

.PHONY: guest guest-test guest-nested-test
guest: ## install missing packages, then build Linux 6.1 or KERNEL=7.3 with all the locks, for `overlock guest`; six minutes
	@tools/setup guest
	@$(MAKE) --no-print-directory native
	@$(OVERLOCK) guest build $(if $(KERNEL),--kernel $(KERNEL)) $(ARGS)

guest-test: guest ## boot that kernel and an instrumented one: locktorture, loads, detection of a broken lock
	@$(OVERLOCK) guest build --variant counted
	@tools/setup test
	@OVERLOCK_GUEST_TEST=1 .venv/bin/pytest tests/guest/command tests/lab/sched/test_vm.py

guest-nested-test: ## test nested guests (KVM in a host that QEMU emulates): PV locks, steal time; 15 minutes
	@$(MAKE) --no-print-directory guest ARGS="--accel nested"
	@tools/setup test
	@OVERLOCK_NESTED_TEST=1 .venv/bin/pytest tests/lab/nested/test_real.py

install: build ## install library, headers and man pages; DESTDIR= and PREFIX= as usual
	@$(PYTHON) tools/man_pages.py $(BUILD)/man
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || \
		echo "the loader does not know the library yet: run ldconfig as root, or set LD_LIBRARY_PATH"

.PHONY: bare deb third-party
bare: ## follow README, install the packages and run the pod's manifest on a bare Debian 12; five minutes, root
	@$(MAKE) --no-print-directory test ARGS="--only packages $(ARGS)"

deb: ## build Debian packages of library, headers, interposer and command into build/deb
	@tools/setup deb
	@$(MAKE) --no-print-directory native
	@tools/deb $(BUILD)/deb

third-party: ## run third-party test suites under the locks and natively; an hour; ARGS="--only NAME", --help
	@tools/setup third-party
	@$(MAKE) --no-print-directory native
	@$(PYTHON) -m tests.run.thirdparty.run --build $(BUILD) $(ARGS)

# What was checked is kept: after Ctrl-C the same command goes on.
.PHONY: newest reached
newest: ## build and test on Debian 12, 13 and sid, each in a root, for docs/architecture.md; root, two hours; ARGS="--only sid --check spins"
	@tools/setup test
	@tools/setup bare
	@$(MAKE) --no-print-directory native WITH_TESTS=ON
	@$(PYTHON) -m tests.newest.run $(ARGS)
	@$(PYTHON) tools/docs_tables.py

reached: build ## count what `overlock run` reaches in the programs of lab/survey/reached.toml; root, perf, half an hour; ARGS="--only xz"
	@$(PYTHON) tools/reached.py $(ARGS)
	@$(PYTHON) tools/docs_tables.py

bench: build ## compare the locks; ARGS="--threads 4,8,16 --json FILE"
	@$(OVERLOCK) bench sections $(ARGS)

matrix: ## measure every workload, lock and peer at 1 to 64 threads into build/matrix; resumable; 40 minutes
	@$(MAKE) --no-print-directory peers
	@$(OVERLOCK) bench matrix -o $(BUILD)/matrix --threads 1,2,4,8,16,32,64 --budget 40 $(ARGS)
	@$(OVERLOCK) report $(BUILD)/matrix -o $(BUILD)/matrix.html

# The papers' figures that need no kernel, in less than the papers' own time: the result says so.
OF_DICE2019 = --as-in dice2019 --threads=1,2,4,8,16,32,64 --locks byte,ticket,mcs,twa,pthread_mutex
FIGURES = "invalidation $(OF_DICE2019) --seconds 0.1" "mutexbench $(OF_DICE2019) --seconds 0.3" \
	"throw $(OF_DICE2019) --seconds 0.3" "stress_latency $(OF_DICE2019) --seconds 0.3" \
	"lockloop --as-in long --locks byte,unfair_qspin,unfair_qspin@steal_first=0,qspin,pthread_mutex" \
	"fairness --as-in teabe2017 --locks ticket,i_spin,preemptable_ticket,pv_ticket,oticket,pthread_mutex" \
	"sections --as-in ouyang2013 --locks ticket,preemptable_ticket,pv_ticket,pv_preemptable_ticket,oticket,i_spin,byte"
papers: build ## repeat the papers' figures and tables (--as-in ouyang2013, teabe2017, long, dice2019); 15 minutes, an idle machine
	@mkdir -p $(BUILD)/papers
	@set -e; for figure in $(FIGURES); do \
		$(OVERLOCK) bench $$figure \
			--json $(BUILD)/papers/$${figure%% *}.json $(ARGS); done
	@$(OVERLOCK) report $(BUILD)/papers -o $(BUILD)/papers.html

# How late callers give up: reported, not asserted, for it is the machine's answer too.
.PHONY: abi compilers
abi: ## write lib/abi anew, with which the ABI is compared: lib/ABI.md
	@tools/setup test
	@$(MAKE) --no-print-directory native
	@$(PYTHON) tests/lib/abi/abi.py

compilers: ## build and test with each compiler, also those of Debian 13, and with -O3, -flto, -march=native; 40 minutes
	@tools/setup compilers
	@$(MAKE) --no-print-directory native
	@tests/lib/compilers/run && tests/lib/compilers/debian13 tests/lib/compilers/run $(OVERLOCK_NATIVE)

.PHONY: timed
timed: ## measure the CPU time of timed callers after their deadline, per lock; ARGS=SECONDS
	@tools/setup test
	@$(MAKE) --no-print-directory native WITH_TESTS=ON TARGETS="all native-timed-plain"
	@$(BUILD)/tests/native-timed-plain --report $(ARGS)

# Every tunable but the switches; one that no lock reads is left out, and says so.
SWEPT = $(shell sed -n '/, 0, 1, [a-z]*,$$/!s/^OL_TUNABLE.\([a-z_]*\),.*/\1/p' include/overlock/tunables.def)
.PHONY: sweeps
sweeps: build ## measure throughput over each tunable into build/sweeps; an hour, an idle machine
	@mkdir -p $(BUILD)/sweeps
	@for tunable in $(SWEPT); do file=$(BUILD)/sweeps/$$tunable; \
		$(OVERLOCK) bench sweep $$tunable --threads 1x,2x,4x,8x --if-busy wait \
			--json $$file.json -o $$file.png -o $$file.svg $(ARGS) || [ $$? = 2 ] || exit; done

real: ## measure real programs under every lock and natively; ARGS="--rounds 3 --json FOLDER"
	@tools/setup demo
	@$(MAKE) --no-print-directory native
	@$(PYTHON) tests/run/real_programs.py $(ARGS)

.PHONY: conformance
conformance: ## compare every pthread call in every state with glibc, under every lock; five minutes
	@tools/setup test
	@$(MAKE) --no-print-directory native WITH_TESTS=ON
	@$(PYTHON) tests/run/conformance/generate.py
	@OVERLOCK_CONFORMANCE=all BUILD=$(BUILD) .venv/bin/pytest -q tests/run/conformance/test_conformance.py $(ARGS)

instructions: ## count the instructions of each lock and of Concurrency Kit's; ARGS="--json FILE"
	@tools/setup test valgrind ck
	@$(MAKE) --no-print-directory native
	@$(PYTHON) tests/lib/instructions/run.py $(ARGS)

# What is found is kept in build/fuzz/NAME: inputs that reach new code, and one that fails.
FUZZ_SECONDS ?= 180
.PHONY: fuzz
fuzz: ## fuzz what reads what others wrote, FUZZ_SECONDS=180 for each target; ARGS="--only NAME"
	@tools/setup test clang bpf
	@$(MAKE) --no-print-directory native
	@$(PYTHON) tests/fuzz/run --build $(BUILD) --seconds $(FUZZ_SECONDS) $(ARGS)

# SOAK_SECONDS are shared by the variants: natively, three locks, sites, counters, stacks, the misuse detector.
SOAK_SECONDS ?= 3600
.PHONY: soak
soak: ## the interposer under threads, mutexes and forks that come and go: memory stays flat; SOAK_SECONDS=3600
	@tools/setup demo
	@$(MAKE) --no-print-directory native
	@$(PYTHON) tests/run/soak/soak.py --seconds $(SOAK_SECONDS) $(ARGS)

.PHONY: bpf
bpf: ## compile the BPF programs anew into prebuilt/, after a change of their sources
	@tools/setup bpf
	@$(CONFIGURE)
	@cmake --build $(BUILD) --target bpf -- --quiet

.PHONY: start-up
start-up: build ## measure program startup: plain, with a bare LD_PRELOAD, with `overlock run`; ARGS="--json FILE"
	@$(PYTHON) tools/start_up.py $(ARGS)

aa: build ## test the statistics with 100 comparisons of equal and 5 % different locks; 13 minutes, an idle machine
	@$(PYTHON) tools/aa.py $(ARGS)

# Another checker's opinion; its program is yours to bring. ARGS="--page docs/results/genmc.md"
# renews the page's tables.
.PHONY: genmc
genmc: build ## check every lock, memory order and mutant of lab/genmc with GENMC=PATH, at most two minutes each, into build/genmc
	@mkdir -p $(BUILD)/genmc
	@for lock in $$(sed -n 's|^\([a-z].*\):.*|\1|p' lab/genmc/mutants.txt); do \
		$(PYTHON) tests/mutant.py apply tests/check/mutants/$$lock.toml $(BUILD)/genmc/mutants || exit; done
	@mutants=$$(awk -F '[: ]+' '/^[a-z]/ { for (i = 2; i <= NF; i++) print $$1 "=$(BUILD)/genmc/mutants/" $$i }' \
		lab/genmc/mutants.txt); set -e; \
	for what in locks "mutants $$mutants" orders; do \
		$(PYTHON) -m overlock_tools.lab.genmc.run $$what --genmc "$(GENMC)" \
			--json $(BUILD)/genmc/$${what%% *}.json $(ARGS); done

# Exit codes 3 and 4 say that something was not exhausted or reached, and so do tables. What was exhausted is cached.
PROOF_SECONDS ?= 3600
PROVEN = all preemptable_ticket@tau=0 preemptable_ticket@tau=inf
PROVE = prove() { file=$(BUILD)/proof/$$1.json; shift; \
	$(OVERLOCK) check $(PROVEN) --json $$file "$$@" $(ARGS) || case $$? in 3|4) ;; *) false; esac; }
.PHONY: proof
proof: checker ## check every lock at larger sizes, PROOF_SECONDS each, for the tables of docs/results/proof.md; resumable; hours
	@mkdir -p $(BUILD)/proof
	@set -e; $(PROVE); prove scenarios --seconds $(PROOF_SECONDS) --scenario all --model all --size 2x1; \
		prove small --seconds $(PROOF_SECONDS) --model all --size 2x2 --size 3x1; \
		prove random --search pct --seed 1 --size 6x4 --seconds 60; \
		prove large --seconds $(PROOF_SECONDS) --model sc --model tso --size 2x3 --size 3x2 --size 4x1
	@$(PYTHON) tools/proof_tables.py $(BUILD)/proof/*.json

.PHONY: foreign
foreign: checker ## check other people's locks for docs/results/foreign.md; fetches Debian's sources, others by ARGS="--source NAME=FOLDER"; an hour
	$(PYTHON) tools/foreign_locks.py $(ARGS)

# KERNEL_SOURCE=FOLDER for a kernel that is not Debian's.
.PHONY: kernel-series
kernel-series: export KERNEL := $(KERNEL)
kernel-series: ## build Linux 6.1 or KERNEL=7.3 with the locks in four configurations, and boot it with each lock; an hour
	@tools/setup test
	@tools/setup guest
	@$(MAKE) --no-print-directory native WITH_TESTS=ON
	@.venv/bin/pytest -rs tests/guest/kernel/test_kernel.py $(ARGS)

# The README's picture, and how it was made.
picture: build ## repeat the measurement of docs/img/collapse.png; four minutes, an idle machine
	@$(OVERLOCK) bench sections --locks $(PICTURED) --threads 1,2,3,4,6,8,12,16 --rounds 9 --seconds 0.3 \
		--json $(BUILD)/collapse.json
	@$(OVERLOCK) report $(BUILD)/collapse.json --png docs/img/collapse.png

# The locks' pages: every lock at 1 to 16 times as many threads as CPUs. A cell is to be several times
# as long as it takes until each thread has had the CPU: with 16 on each, some 0.1 s.
OURS = $(shell sed -n 's/^OL_LOCK.\([a-z_]*\),.*/\1/p' include/overlock/locks.def | paste -sd,)
.PHONY: measured
measured: build ## measure every lock for its page of the site; a quarter of an hour, an idle machine
	@$(OVERLOCK) bench sections --locks $(OURS),pthread_mutex --threads 1,1x,2x,4x,8x,16x --rounds 7 \
		--seconds 0.6 --if-busy wait --json $(BUILD)/sections.json $(ARGS)
	@$(PYTHON) tools/measured.py $(BUILD)/sections.json

# The programs of docs/survey.md: alone, beside copies of themselves, and with half of the CPUs.
HALF = $(shell nproc | awk '{ print $$1 / 2 }')
.PHONY: survey
survey: build ## measure the programs of docs/survey.md that are installed; two hours, an idle machine, root; ARGS="--rounds 3"
	@mkdir -p $(BUILD)/survey
	@set -e; run() { folder=$(BUILD)/survey/$$1; shift; \
		$(OVERLOCK) apps run $$($(PYTHON) tools/survey.py --apps) --locks tas_yield --threads 1x,4x,8x --rounds 6 \
			--seconds 1 --warm-up 1 --if-busy wait -o $$folder "$$@" $(ARGS); \
		$(PYTHON) tools/survey.py $$folder; }; \
	run alone; run copies --neighbours 4; run quota --quota $(HALF)

# Ouyang & Lange's k virtual machines of as many CPUs as the host: docs/measured/neighbours.json.
NEIGHBOURS = ticket,preemptable_ticket,pv_ticket,pv_preemptable_ticket,oticket,i_spin,i_spin_pv,byte,pv_byte
NEIGHBOURS := $(NEIGHBOURS),unfair_qspin,owner_qspin,qspin,pv_qspin,mcs,mcs_tp,twa,tas_yield,pthread_mutex
.PHONY: neighbours
neighbours: build ## measure 2 to 5 programs at once, each with one thread per CPU at most, into build/neighbours; four minutes
	@mkdir -p $(BUILD)/neighbours
	@set -e; for copies in 2 3 4 5; do \
		$(OVERLOCK) bench sections --neighbours $$copies --threads 1x --locks $(NEIGHBOURS) --rounds 9 \
			--seconds 0.25 --if-busy wait --json $(BUILD)/neighbours/$$copies.json $(ARGS); done
	@$(OVERLOCK) report $(BUILD)/neighbours -o $(BUILD)/neighbours.html

.PHONY: machines
machines: build ## measure this machine for docs/results/machines.md, at the points of the others; three minutes, an idle machine
	@$(PYTHON) tools/machines.py --here $(ARGS)
	@$(PYTHON) tools/docs_tables.py

.PHONY: openmp
openmp: build ## measure what OpenMP's settings and `overlock run` do with more threads than CPUs, into docs/measured/openmp.json; five minutes
	@$(PYTHON) tools/openmp.py $(ARGS)

# What was measured is kept in build/spins: after Ctrl-C the same command goes on, and ARGS=--again begins anew.
.PHONY: spins-measured
spins-measured: build ## measure programs whose waiting spins: natively, by `overlock run --spins`, by free settings; three hours, an idle machine, root; ARGS="--only NAME --rounds N"
	@$(OVERLOCK) apps install $$($(PYTHON) tools/spins_measured.py --programs)
	@$(PYTHON) tools/spins_measured.py --kept $(BUILD)/spins $(ARGS)

# Commands that measure or search for hours have targets of their own: measured, proof, genmc, papers.
docs: ## regenerate what docs/ and README have from the sources: tables, pictures, counterexamples, claims
	@tools/setup test
	@$(MAKE) --no-print-directory native WITH_TESTS=ON \
		TARGETS="all tests/check/mutants/all tests/check/claims/all"
	@$(PYTHON) tools/docs_tables.py
	@$(PYTHON) tools/diagrams.py
	@$(PYTHON) tools/tree_diagram.py
	@$(PYTHON) tools/counterexamples.py
	@$(PYTHON) tools/chart_picture.py
	@$(PYTHON) -m tests.check.claims_page

# Not --quiet: it also silences the warnings that a strict build fails for.
.PHONY: site
site: checker ## build the documentation as a site in build/site, readable without a network
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --clean --site-dir $(abspath $(BUILD))/site

lint: ## run formatters and linters without changes
	@tools/setup test
	@tests/lint

format: ## run the formatters and change the files
	@tools/setup test
	@git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | xargs .venv/bin/clang-format -i
	@.venv/bin/ruff check --quiet --fix . ; .venv/bin/ruff format --quiet .

setup: ## install the packages that demo and test need (both targets do so themselves)
	@tools/setup test

clean: ## remove build/; keeps .venv
	@cmake -E rm -rf $(BUILD)
