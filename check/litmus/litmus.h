// SPDX-License-Identifier: MIT
#ifndef OL_LITMUS_H
#define OL_LITMUS_H
// A litmus test: a few contexts, a few accesses, and a condition on the outcome. The tests are
// written in files, or against the platform layer as a lock is, and run by any world.
#include <overlock/port.h>

#include <array>
#include <compare>
#include <functional>
#include <memory>
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
    alignas(8) uint64_t others[6];
};

constexpr size_t registers = 24, cells = sizeof(Shared) / 8;
// A context writes only registers that no other writes. One more, beyond them, says why an
// execution is no outcome of its own.
using Reg = uint64_t *;
enum Left : uint64_t { nothing, duplicate, cut_off };
// What a pointer to a variable is, as a number: this, and 8 for each variable before it.
constexpr int64_t first_address = 0x10'0000'0000;
constexpr size_t most_rounds = 2; // of a loop; what goes on longer is cut off

enum class Verdict : uint8_t { forbidden, allowed }; // allowed: the condition holds, herd's Ok
enum class Model : uint8_t { sc, tso, c11 };
constexpr std::array<Model, 3> models{Model::sc, Model::tso, Model::c11};
constexpr std::array<const char *, 3> model_names{"sc", "tso", "c11"};

struct Named {
    std::string name;
    uint8_t width; // in bytes
    bool is_signed = false, is_pointer = false;
};

// The end of an execution: all that its contexts read, and what memory holds.
struct State {
    std::array<uint64_t, registers> r{};
    std::array<uint64_t, cells> memory{};
    auto operator<=>(const State &) const = default;
};

using Condition = std::function<bool(const Shared &s, const uint64_t *r)>; // of the final values
enum class Quantifier : uint8_t { exists, not_exists, forall };

// An access or a fence in the text of a context.
struct Site {
    size_t context = 0, loop = 0; // `loop`: the outermost around it, from 1
    bool is_fence = false, reads = false, writes = false, acquires = false, releases = false;
    int variable = -1; // none: it follows a pointer
};

struct Location {
    bool is_register;
    size_t index;
    auto operator<=>(const Location &) const = default;
};

struct Litmus {
    std::string name;
    std::string source; // of the verdicts: a paper and its name for the test, or an argument
    std::vector<std::function<void(Shared &s, Reg r)>> contexts;
    Condition outcome;
    Verdict verdicts[3] = {}; // by Model
    bool has_verdicts = true;
    Shared initial{};
    std::vector<Named> registers{}, variables{}; // of a file, in the order of r and Shared
    Quantifier quantifier = Quantifier::exists;
    Condition filter{};               // executions in which it is false do not count; none: all do
    std::vector<Location> observed{}; // in the condition, or named by `locations`
    std::array<uint64_t, litmus::registers> initial_r{};
    std::vector<Site> sites{};
    bool has_loops = false;
    std::shared_ptr<std::string> trouble{}; // of the last execution: one line
};

State state_of(const Shared &s, const uint64_t *r);
std::string text_of(const Litmus &test, const State &state); // 0:r0=1; x=1;
bool passes(const Litmus &test, const State &state);         // the filter
bool shows(const Litmus &test, const State &state);

// Throws std::invalid_argument, "FILE:LINE:COLUMN: what is wrong".
Litmus parse(const std::string &text, const std::string &file);
Litmus read_file(const std::string &file);

} // namespace ol::litmus
#endif
