// SPDX-License-Identifier: MIT
#ifndef OL_TESTS_SIM_BENCH_H
#define OL_TESTS_SIM_BENCH_H
// A machine on which a test runs a few bodies under a script.
#include <engine/machine.h>

#include <gtest/gtest.h>

namespace ol::test {

inline constexpr engine::Place here{"a test", 1};

class Bench : public testing::Test {
protected:
    using Bodies = std::vector<std::function<void()>>;

    // Runs the bodies under the script, then to their ends.
    engine::Failure run(const char *script, const Bodies &bodies) {
        engine::Scripted scripted(script);
        scripted.finish();
        return run(scripted, bodies);
    }
    engine::Failure run(engine::Schedule &schedule, const Bodies &bodies) {
        machine_.reset(bodies.size(), schedule, {});
        a_ = words("a", a_size_);
        b_ = words("b", 4);
        datum_ = reinterpret_cast<uint64_t *>(machine_.memory().allocate("datum", 8).at);
        for (const auto &body : bodies)
            machine_.spawn(body);
        machine_.run();
        return machine_.failure();
    }
    uint32_t *words(const char *name, size_t bytes) {
        return reinterpret_cast<uint32_t *>(machine_.memory().allocate(name, bytes).at);
    }
    void write() { machine_.plain_write(datum_, 1, here); }
    void read() { (void)machine_.plain_read(datum_, here); }

    engine::Machine machine_;
    size_t a_size_ = 4;
    uint32_t *a_ = nullptr, *b_ = nullptr;
    uint64_t *datum_ = nullptr;
};

} // namespace ol::test
#endif
