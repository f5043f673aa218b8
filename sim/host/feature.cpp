// SPDX-License-Identifier: MIT
#include "feature.h"

#include <algorithm>

namespace ol::simulator {

OnSpinning::OnSpinning(Level &level, std::unique_ptr<Policy> base)
    : Feature(level, std::move(base)), loops_(level.cpus.size()) {
    for (size_t i = 0; i < loops_.size(); i++)
        loops_[i].over = std::make_unique<Timer>([this, i] {
            Entity *e = level_.cpus[i]->runs;
            if (e && e == loops_[i].spins && e->is_spinning())
                spun(*e);
        });
}

OnSpinning::~OnSpinning() {
    for (Loop &l : loops_)
        level_.events.cancel(*l.over);
}

// Told again whenever it has looked at its words and waits on: a loop that ended is told no more.
void OnSpinning::spins(Entity &e, Time since, bool in_user_mode) {
    Feature::spins(e, since, in_user_mode);
    if (!cares(in_user_mode))
        return;
    Loop &l = loops_[e.cpu->number];
    l.spins = &e;
    level_.events.set(*l.over, std::max(level_.events.now(), sum(since, patience(e))));
}

} // namespace ol::simulator
