// SPDX-License-Identifier: MIT
#include "litmus.h"

#include <engine/memory.h>

#include <algorithm>

namespace ol::litmus {

State state_of(const Shared &s, const uint64_t *r) {
    State state;

    std::copy_n(r, registers, state.r.begin());
    for (size_t i = 0; i < cells; i++)
        state.memory[i] = engine::Memory::read(reinterpret_cast<const uint8_t *>(&s) + 8 * i, 8);
    return state;
}

bool shows(const Litmus &test, const State &state) {
    Shared s{};

    for (size_t i = 0; i < cells; i++)
        engine::Memory::write(reinterpret_cast<uint8_t *>(&s) + 8 * i, 8, state.memory[i]);
    return test.outcome(s, state.r.data());
}

bool shows(const Litmus &test, const std::set<State> &states) {
    return std::any_of(states.begin(), states.end(),
                       [&](const State &state) { return shows(test, state); });
}

std::vector<Litmus> all_tests() {
    std::vector<Litmus> all;

    for (auto *some : {classic_tests, coherence_tests, x86_tests, mixed_tests, lock_tests})
        for (Litmus &test : some())
            all.push_back(std::move(test));
    return all;
}

} // namespace ol::litmus
