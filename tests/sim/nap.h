// SPDX-License-Identifier: MIT
#ifndef OL_TESTS_SIM_NAP_H
#define OL_TESTS_SIM_NAP_H
#include <engine/schedule.h>

#include <algorithm>

namespace ol::test {

// T2 takes the lock, T1 queues behind it and loses its CPU until T2 is done with all its rounds; if
// the lock lets nobody pass, until T2 can do nothing but wait.
class Nap final : public engine::Schedule {
public:
    explicit Nap(engine::Ticks patience) : patience_(patience) {}
    engine::Turn next(std::span<const size_t> ready, uint64_t) override {
        constexpr uint32_t on = engine::Turn::until_it_stops;
        bool other_runs = std::find(ready.begin(), ready.end(), size_t(1)) != ready.end();

        if (turns_++ == 0)
            return {1, on, true, 0};
        if (turns_ == 2)
            return {0, on, false, 0};
        if (other_runs) {
            waited_ = false;
            return {1, on, false, 0};
        }
        if (!waited_) {
            waited_ = true;
            return {0, 0, false, patience_};
        }
        return {0, on, false, 0};
    }
    bool doubt(engine::Doubt) override { return false; }
    uint32_t pick(uint32_t) override { return 0; }

private:
    engine::Ticks patience_;
    uint64_t turns_ = 0;
    bool waited_ = false;
};

} // namespace ol::test
#endif
