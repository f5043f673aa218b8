// SPDX-License-Identifier: MIT
#ifndef OL_SIM_MIX_H
#define OL_SIM_MIX_H
// What a program does, by distributions: the sections of several locks, the time between them,
// waits for devices, and interrupts. In nanoseconds.
#include <nlohmann/json_fwd.hpp>
#include <bench/workload/random.h>

#include <string>
#include <vector>

namespace ol::simulator {

// Of lengths: a shape and its mean, or bins, within each of which all are as likely.
class Distribution {
public:
    Distribution() = default; // always 0
    Distribution(workload_shape shape, uint32_t mean) : shape_(shape), mean_(mean) {}

    void add(uint64_t from, uint64_t to, uint64_t weight); // a bin
    uint64_t draw(workload_random &random) const;

private:
    struct Bin {
        uint64_t from, to, until; // the sum of the weights up to its own
    };

    workload_shape shape_ = WORKLOAD_FIXED;
    uint32_t mean_ = 0;
    std::vector<Bin> bins_;
};

struct Mix {
    struct Locks { // of one kind
        std::string name;
        uint32_t count = 1, first = 0; // its first among all
        uint64_t until = 0;            // the sum of the weights up to its own
        uint64_t own = 0;              // of 2^32: chance that a context takes the one of its number
        bool interrupted = true;
        Distribution section;
    };

    std::vector<Locks> locks;
    uint64_t sections = 1; // in a turn
    Distribution think;    // CPU time after each section
    uint32_t wait_every =
        0; // sections from one wait for a device to the next, in the mean; 0: none
    Distribution wait;
    uint64_t interrupt_every = 0; // CPU time from one interrupt to the next, in the mean; 0: none
    Distribution interrupt;

    uint32_t number_of_locks() const { return locks.back().first + locks.back().count; }
    const Locks &pick(workload_random &random) const;
};

// `name` is what errors say.
Mix read_mix(const nlohmann::json &json, const std::string &name);

} // namespace ol::simulator
#endif
