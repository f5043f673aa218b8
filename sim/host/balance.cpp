// SPDX-License-Identifier: MIT
// Balance scheduling (Sukwong and Kim 2011): no two contexts of a guest queue on one CPU, unless
// the guest has more of them than CPUs; then they are spread evenly. They need not run at the same
// time.
#include "feature.h"

#include <algorithm>

namespace ol::simulator {

namespace {

class Balance final : public Feature {
public:
    using Feature::Feature;

    bool allows(const Entity &e, const Cpu &c) const override {
        std::vector<unsigned> siblings(level_.cpus.size());
        unsigned least = UINT32_MAX;

        if (!Feature::allows(e, c))
            return false;
        for (const Entity *s : e.group.members) {
            const Cpu *at = s->cpu ? s->cpu : s->queued && queues_are_cpus() ? s->home : nullptr;
            if (s != &e && at)
                siblings[at->number]++;
        }
        for (const Cpu *other : level_.cpus)
            if (e.pinned.empty() || e.pinned[other->number])
                least = std::min(least, siblings[other->number]);
        return siblings[c.number] == least;
    }
};

} // namespace

std::unique_ptr<Policy> make_balance(Level &level, const Features &, std::unique_ptr<Policy> base) {
    return std::make_unique<Balance>(level, std::move(base));
}

} // namespace ol::simulator
