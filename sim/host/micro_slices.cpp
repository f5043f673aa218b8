// SPDX-License-Identifier: MIT
// Time-slice reduction: short slices, of the guests that were found to spin or of all. A waiter
// that lost its CPU has it again the sooner, and everybody switches the more often.
#include "feature.h"

#include <algorithm>

namespace ol::simulator {

namespace {

class MicroSlices final : public OnSpinning {
public:
    MicroSlices(Level &level, const Features &s, std::unique_ptr<Policy> base)
        : OnSpinning(level, std::move(base)),
          length_(std::max<Time>(s.micro_slices_length, 1)),
          all_(s.micro_slices_all),
          threshold_(s.micro_slices_threshold),
          keep_(s.micro_slices_keep) {}

    Time slice(const Cpu &c, const Entity &e) override {
        Time base = Feature::slice(c, e);

        if (!all_ && level_.events.now() >= e.group.spins_until)
            return base;
        return std::min(base, length_ - c.used() % length_);
    }

protected:
    Time patience(const Entity &) override { return threshold_; }

    void spun(Entity &e) override {
        e.group.spins_until = level_.events.now() + keep_;
        for (Entity *s : e.group.members)
            if (s->cpu)
                level_.reslice(*s->cpu);
    }

private:
    const Time length_;
    const bool all_;
    const Time threshold_, keep_;
};

} // namespace

std::unique_ptr<Policy> make_micro_slices(Level &level, const Features &s,
                                          std::unique_ptr<Policy> base) {
    return std::make_unique<MicroSlices>(level, s, std::move(base));
}

} // namespace ol::simulator
