// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_CYCLE_H
#define OL_CHECK_CYCLE_H
// What an execution that does not end does: the last of its states, as far as they can be told
// apart, and which contexts moved between them.
#include "path.h"

namespace ol::check {

class Cycle {
public:
    void clear() { states_.clear(); }
    void add(uint64_t hash, Mask could, int who) { states_.push_back({hash, could, who}); }
    // In words; nothing if no state came again.
    std::string told(size_t contexts) const;

private:
    struct State {
        uint64_t hash;
        Mask could; // go on
        int who;    // did
    };
    std::vector<State> states_;
};

// FNV-1a, which is enough where a wrong answer costs a wrong word in a report.
class Hash {
public:
    void add(const void *bytes, size_t size) {
        auto *p = static_cast<const uint8_t *>(bytes);
        for (size_t i = 0; i < size; i++)
            value_ = (value_ ^ p[i]) * 0x100000001b3;
    }
    template <class T> void add(const T &value) { add(&value, sizeof value); }
    void add_word(uint64_t word) { // quicker
        value_ = (value_ ^ word) * 0x9e3779b97f4a7c15;
        value_ ^= value_ >> 32;
    }
    uint64_t value() const { return value_; }

private:
    uint64_t value_ = 0xcbf29ce484222325;
};

} // namespace ol::check
#endif
