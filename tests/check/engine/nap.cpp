// SPDX-License-Identifier: MIT
// sim-nap [LOCK.so]: T1 takes the lock, T2 queues behind it and loses its CPU until T1 has taken
// the lock N times, if the lock lets it. T2 must then notice that it was overtaken, whatever N is:
// half the range of tickets, the whole, and numbers beside them.
#include <check/client.h>
#include <check/engine/subjects.h>

#include <cstdio>
#include <dlfcn.h>

using namespace ol;
using check::bit;
using check::Mask;

namespace {

constexpr unsigned lengths[] = {1,     8191,  8192,  8193,  16383, 16384,
                                16385, 24000, 32767, 32768, 32769, 40000};

class Nap final : public check::Search {
public:
    explicit Nap(check::World &world) : world_(world) {}

    void begin(size_t) override { queued_ = holds_ = false; }
    void holds() {
        holds_ = true;
        waits_ = 0;
    }

    int pick(Mask enabled, int, bool) override {
        if (!holds_)
            return 0;
        if (!queued_ && enabled & bit(1))
            return 1;
        queued_ = true;
        if (enabled & bit(0))
            return 0;
        if (world_.doing(0) != std::string("relaxes") || world_.wait_of(0) == engine::never ||
            waits_++ >= patience)
            return enabled & bit(1) ? 1 : __builtin_ctzll(enabled); // nobody passes here
        world_.let_pass(0);
        return 0;
    }
    unsigned choose(unsigned) override { return 0; }
    void did(const check::Footprint &, int, bool) override {}
    bool next() override { return false; }
    check::Path path() const override { return {}; }

private:
    static constexpr unsigned patience = 8; // deadlines for one acquisition

    check::World &world_;
    unsigned waits_ = 0;
    bool queued_ = false, holds_ = false;
};

// What goes wrong, or nothing.
std::string nap(const ol_lock_ops &ops, unsigned length) {
    check::Rules rules;
    rules.tuning.tau = 50;
    rules.tuning.backoff = 100;
    rules.longest = 10'000'000;
    for (uint32_t &left : rules.budgets.left)
        left = 0;
    check::World world(check::Model::sc, rules);
    Nap schedule(world);
    void *lock = nullptr;
    check::Program program;
    program.contexts = 2;
    program.set_up = [&](check::Memory &memory) { lock = memory.allocate("lock", ops.size).at; };
    program.body = [&](size_t me) {
        for (unsigned i = 0; i < (me ? 1 : length); i++) {
            ops.lock(lock);
            schedule.holds();
            ops.unlock(lock);
        }
    };
    world.run(program, schedule);
    if (world.failure())
        return std::string(name_of(world.failure().what)) + ": " + world.failure().how;
    if (world.counted(1, OL_TIMEOUT))
        return "overtaken unnoticed: passed by up to " + std::to_string(length) +
               " in its sleep, it waits on in line";
    return {};
}

bool naps(const ol_lock_ops &ops) {
    for (unsigned length : lengths)
        if (std::string wrong = nap(ops, length); !wrong.empty()) {
            printf("%s: %s\n", ops.id, wrong.c_str());
            return false;
        }
    return true;
}

const ol_lock_ops *load(const std::string &object) {
    std::string name = object.substr(object.rfind('/') + 1);
    void *so = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);

    name = "ol_sim_" + name.substr(0, name.rfind('.'));
    return so ? static_cast<const ol_lock_ops *>(dlsym(so, name.c_str())) : nullptr;
}

} // namespace

int main(int argc, char **argv) {
    bool fine = true;

    if (argc > 1) {
        const ol_lock_ops *ops = load(argv[1]);
        if (!ops) {
            fprintf(stderr, "sim-nap: no lock in %s\n", argv[1]);
            return 2;
        }
        return !naps(*ops);
    }
    for (auto *ops = engine::subjects; *ops; ops++)
        fine &= naps(**ops);
    return !fine;
}
