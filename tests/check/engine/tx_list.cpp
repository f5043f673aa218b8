// SPDX-License-Identifier: MIT
// Long's proof of concept on the checked world's transactions: the workload `tx`, elided in several
// ways. A model of RTM, not hardware: there are no times, but what commits, and why what does not.
//
// Any step of a transaction may be its last, once in `rate` steps: an interrupt, a preemption. What
// the others lose by that is the question: the fallback of `tx` aborts nobody, that of elision with
// the lock in the read set everybody.
#include <check/world.h>
#include <check/engine/subjects.h>

#define TX_ROWS 8u
#define TX_INODES 256u
struct workload_lock;
struct workload_me;
static inline void workload_acquire(workload_me *me, workload_lock *lock);
static inline void workload_release(workload_me *me, workload_lock *lock);
#include <random.h>
struct workload_me {
    uint32_t index;
    workload_random random;
    const ol_lock_ops *ops;
};
#include <tx.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <bit>
#include <iostream>

extern const ol_lock_ops ol_sim_elided;

using namespace ol;
using check::bit;
using check::Mask;
using engine::find_subject;
using engine::never;

static inline void workload_acquire(workload_me *me, workload_lock *lock) {
    me->ops->lock(lock);
}
static inline void workload_release(workload_me *me, workload_lock *lock) {
    me->ops->unlock(lock);
}

namespace {

struct Options {
    std::string lock = "tx";
    size_t contexts = 2;
    uint64_t sections = 1'000'000, rate = 100'000, seed = 1;
    uint64_t scan = 0, retries = 3;
    bool tally = false, shared_line = false;
};

// Contexts on CPUs of their own, of which each does a few steps now and a few then.
class Parallel final : public check::Search {
public:
    Parallel(uint64_t seed, uint64_t rate) : rate_(rate) { workload_random_seed(&random_, seed); }
    void begin(size_t) override {}
    int pick(Mask enabled, int, bool) override {
        if (left_ && enabled & bit(who_)) {
            left_--;
            return static_cast<int>(who_);
        }
        Mask rest = enabled;
        for (uint32_t skip = below(static_cast<uint32_t>(std::popcount(enabled))); skip; skip--)
            rest &= rest - 1;
        who_ = static_cast<size_t>(std::countr_zero(rest));
        left_ = below(4);
        return static_cast<int>(who_);
    }
    // The only question is whether a step aborts its transaction, and for what.
    unsigned choose(unsigned n) override {
        return n > 1 && below(static_cast<uint32_t>(rate_)) == 0 ? 1 + below(n - 1) : 0;
    }
    void did(const check::Footprint &, int, bool) override {}
    bool next() override { return false; }
    check::Path path() const override { return {}; }

private:
    uint32_t below(uint32_t n) { return workload_random_below(&random_, n); }

    workload_random random_{};
    uint64_t rate_;
    size_t who_ = 0;
    uint32_t left_ = 0;
};

constexpr uint64_t in_one_go = 20'000; // sections, in a fresh world

class Run {
public:
    explicit Run(const Options &o)
        : o_(o),
          ops_(o.lock == "elided" ? ol_sim_elided : *find_subject(o.lock)),
          world_(check::Model::sc, rules(o)) {
        params_.tx_inodes = TX_INODES;
        params_.tx_scan = o.scan;
        params_.tx_tally = o.tally;
    }

    // Null, or what went wrong.
    std::string all() {
        for (uint64_t done = 0; done < o_.sections; done += in_one_go)
            if (std::string wrong = once(o_.seed + done); !wrong.empty())
                return wrong;
        return {};
    }
    uint64_t events(unsigned e) const { return events_[e]; }

private:
    static check::Rules rules(const Options &o) {
        check::Rules r;
        r.tuning.tx_retries = o.retries;
        r.longest = SIZE_MAX;
        for (uint32_t &left : r.budgets.left)
            left = 0;
        r.budgets[check::Budget::abort] = o.rate ? UINT32_MAX : 0;
        return r;
    }

    std::string once(uint64_t seed) {
        Parallel schedule(seed, o_.rate);
        workload_run run{};
        tx all{};
        uint64_t turns = 0;
        check::Program program;

        program.contexts = o_.contexts;
        program.set_up = [&](check::Memory &memory) {
            auto *data =
                reinterpret_cast<tx_guarded *>(memory.allocate("list", sizeof(tx_guarded)).at);
            void *lock = o_.shared_line ? reinterpret_cast<uint8_t *>(data->quiet) + 16
                                        : memory.allocate("lock", ops_.size).at;
            run = {static_cast<workload_lock *>(lock),
                   data,
                   1,
                   static_cast<uint32_t>(o_.contexts),
                   &params_,
                   nullptr,
                   never};
        };
        program.body = [&](size_t i) {
            workload_me me{static_cast<uint32_t>(i), {}, &ops_};
            tx_own own{};
            workload_random_seed(&me.random, seed * 64 + i);
            for (uint64_t n = 0; n < in_one_go / o_.contexts; n++) {
                tx_turn(&run, &all, &own, &me);
                turns++; // it is over, in either way
            }
        };
        world_.run(program, schedule);
        if (world_.failure())
            return world_.failure().how;
        for (size_t i = 0; i < o_.contexts; i++)
            for (unsigned e = 0; e < OL_EVENTS; e++)
                events_[e] += world_.counted(i, e);
        const char *wrong = tx_check(&run, &all, turns, 0);
        return wrong ? wrong : "";
    }

    const Options o_;
    const ol_lock_ops &ops_;
    check::World world_;
    workload_params params_{};
    std::array<uint64_t, OL_EVENTS> events_{};
};

} // namespace

int main(int argc, char **argv) {
    Options o;
    CLI::App app{"Long's inode list on the checked world's transactions", "tx-list"};

    app.add_option("--lock", o.lock, "tx, elided, or any lock")->capture_default_str();
    app.add_option("--contexts", o.contexts)->check(CLI::Range(1, 8))->capture_default_str();
    app.add_option("--sections", o.sections)->capture_default_str();
    app.add_option("--rate", o.rate, "a step in so many aborts its transaction; 0: none")
        ->capture_default_str();
    app.add_option("--retries", o.retries)->capture_default_str();
    app.add_option("--scan", o.scan, "inodes that each section also reads");
    app.add_option("--seed", o.seed)->capture_default_str();
    app.add_flag("--tally", o.tally, "each section counts on one line");
    app.add_flag("--shared-line", o.shared_line, "the lock is on a line of what is scanned");
    CLI11_PARSE(app, argc, argv);
    if (o.lock != "elided" && !find_subject(o.lock)) {
        std::cerr << "tx-list: there is no lock " << o.lock << "\n";
        return 2;
    }
    Run run(o);
    std::string wrong = run.all();
    nlohmann::ordered_json out = {{"lock", o.lock},
                                  {"contexts", o.contexts},
                                  {"sections", o.sections},
                                  {"rate", o.rate},
                                  {"start", run.events(OL_TX_START)},
                                  {"commit", run.events(OL_TX_COMMIT)},
                                  {"conflict", run.events(OL_TX_CONFLICT)},
                                  {"capacity", run.events(OL_TX_CAPACITY)},
                                  {"explicit", run.events(OL_TX_EXPLICIT)},
                                  {"other", run.events(OL_TX_OTHER)},
                                  {"fallback", run.events(OL_TX_FALLBACK)},
                                  {"wrong", wrong}};
    std::cout << out << "\n";
    return !wrong.empty();
}
