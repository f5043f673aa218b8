// SPDX-License-Identifier: MIT
#include "litmus.h"

#include <engine/memory.h>

#include <algorithm>
#include <filesystem>
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
        add(named ? test.registers[i].name : "r" + std::to_string(i), state.r[i]);
    for (size_t i = 0; i < (named ? test.variables.size() : cells); i++)
        add(named ? test.variables[i].name : std::string(1, "xyzwqb"[i]), state.memory[i]);
    return out;
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

Litmus read_file(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};

    if (!in || in.bad())
        throw std::invalid_argument(file + ": cannot be read");
    return parse(text, file);
}

std::vector<Litmus> all_tests() {
    std::vector<Litmus> all = platform_tests();
    std::set<std::string> files;

    for (auto &entry : std::filesystem::recursive_directory_iterator(OL_LITMUS_FILES))
        if (entry.path().extension() == ".litmus")
            files.insert(entry.path());
    for (const std::string &file : files) {
        all.push_back(read_file(file));
        if (!all.back().has_verdicts || all.back().source.empty())
            throw std::invalid_argument(file + ": expected verdicts and their source");
    }
    return all;
}

} // namespace ol::litmus
