// SPDX-License-Identifier: MIT
#ifndef OL_LITMUS_H
#define OL_LITMUS_H
// A litmus test: a few contexts, a few accesses, and an outcome that a memory model allows or
// forbids. The tests are written in files, or against the platform layer as a lock is, and run by
// any world.
#include <overlock/port.h>

#include <array>
#include <compare>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace ol::litmus {

// Every variable has a cell of eight bytes of its own; only the halves of one word share a cell.
struct Shared {
    alignas(8) uint32_t x;
    alignas(8) uint32_t y;
    alignas(8) uint32_t z;
    alignas(8) uint32_t w;
    alignas(8) uint64_t q;
    alignas(8) uint8_t b;
};

constexpr size_t registers = 8, cells = sizeof(Shared) / 8;
using Reg = uint64_t *; // a context writes only registers that no other writes

enum class Verdict : uint8_t { forbidden, allowed };
enum class Model : uint8_t { sc, tso, c11 };
constexpr std::array<Model, 3> models{Model::sc, Model::tso, Model::c11};
constexpr std::array<const char *, 3> model_names{"sc", "tso", "c11"};

struct Named {
    std::string name;
    uint8_t width; // in bytes
};

struct Litmus {
    std::string name;
    std::string source; // of the verdicts: a paper and its name for the test, or an argument
    std::vector<std::function<void(Shared &s, Reg r)>> contexts;
    std::function<bool(const Shared &s, const uint64_t *r)> outcome; // `s` holds the final values
    Verdict verdicts[3] = {};                                        // by Model
    bool has_verdicts = true;
    Shared initial{};
    std::vector<Named> registers{}, variables{}; // of a file, in the order of r and Shared
};

// The end of an execution: all that its contexts read, and what memory holds.
struct State {
    std::array<uint64_t, registers> r{};
    std::array<uint64_t, cells> memory{};
    auto operator<=>(const State &) const = default;
};

State state_of(const Shared &s, const uint64_t *r);
std::string text_of(const Litmus &test, const State &state); // 0:r0=1; x=1;
bool shows(const Litmus &test, const State &state);
bool shows(const Litmus &test, const std::set<State> &states);

// Throws std::invalid_argument, "FILE:LINE: what is wrong".
Litmus parse(const std::string &text, const std::string &file);
Litmus read_file(const std::string &file);
std::vector<Litmus> platform_tests(); // those in C++
std::vector<Litmus> all_tests();      // these, and every file below tests/litmus

Litmus random_test(uint64_t seed); // with no verdict; its name is its text

} // namespace ol::litmus
#endif
