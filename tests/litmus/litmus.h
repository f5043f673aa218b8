// SPDX-License-Identifier: MIT
#ifndef OL_LITMUS_H
#define OL_LITMUS_H
// A litmus test: a few contexts, a few accesses, and an outcome that a memory model allows or
// forbids. The tests are written against the seam, as a lock is, and run by any world.
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

struct Litmus {
    std::string name;
    std::string source; // of the verdicts: a paper and its name for the test, or an argument
    std::vector<std::function<void(Shared &s, Reg r)>> contexts;
    std::function<bool(const Shared &s, const uint64_t *r)> outcome; // `s` holds the final values
    Verdict verdicts[3];                                             // by Model
};

// The end of an execution: all that its contexts read, and what memory holds.
struct State {
    std::array<uint64_t, registers> r{};
    std::array<uint64_t, cells> memory{};
    auto operator<=>(const State &) const = default;
};

State state_of(const Shared &s, const uint64_t *r);
bool shows(const Litmus &test, const State &state);
bool shows(const Litmus &test, const std::set<State> &states);

std::vector<Litmus> classic_tests();   // two to four contexts, one size of access
std::vector<Litmus> coherence_tests(); // one variable; read-modify-writes
std::vector<Litmus> x86_tests();       // of the papers on x86-TSO
std::vector<Litmus> mixed_tests();     // halves and words
std::vector<Litmus> lock_tests();      // what locks do: Dekker, Peterson, parking, handing over
std::vector<Litmus> all_tests();

Litmus random_test(uint64_t seed); // with no verdict; its name is its text

} // namespace ol::litmus
#endif
