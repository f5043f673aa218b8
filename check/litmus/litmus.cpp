// SPDX-License-Identifier: MIT
#include "litmus.h"

#include <check/engine/memory.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace ol::litmus {

State state_of(const Shared &s, const uint64_t *r) {
    State state;

    std::copy_n(r, registers, state.r.begin());
    for (size_t i = 0; i < cells; i++)
        state.memory[i] = engine::Memory::read(reinterpret_cast<const uint8_t *>(&s) + 8 * i, 8);
    return state;
}

std::string text_of(const Litmus &test, const State &state) {
    std::string out;
    auto add = [&](const std::string &name, uint64_t value) {
        std::ostringstream word;
        word << (out.empty() ? "" : " ") << name << '=' << std::hex << (value > 9 ? "0x" : "")
             << value << ';';
        out += word.str();
    };
    bool named = !test.variables.empty();

    for (size_t i = 0; i < (named ? test.registers.size() : registers); i++)
        if (named || state.r[i])
            add(named ? test.registers[i].name : "r" + std::to_string(i), state.r[i]);
    for (size_t i = 0; i < (named ? test.variables.size() : cells); i++)
        if (named || state.memory[i])
            add(named                     ? test.variables[i].name
                : i < sizeof "xyzwqb" - 1 ? std::string(1, "xyzwqb"[i])
                                          : "o" + std::to_string(i),
                state.memory[i]);
    return out;
}

namespace {

bool is_true(const Condition &c, const State &state) {
    Shared s{};

    for (size_t i = 0; i < cells; i++)
        engine::Memory::write(reinterpret_cast<uint8_t *>(&s) + 8 * i, 8, state.memory[i]);
    return c(s, state.r.data());
}

} // namespace

bool passes(const Litmus &test, const State &state) {
    return !test.filter || is_true(test.filter, state);
}

bool shows(const Litmus &test, const State &state) {
    return is_true(test.outcome, state);
}

Litmus read_file(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};

    if (!in || in.bad())
        throw std::invalid_argument(file + ": cannot be read");
    return parse(text, file);
}

} // namespace ol::litmus
