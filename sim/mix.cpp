// SPDX-License-Identifier: MIT
#include "mix.h"

#include "table.h"

namespace ol::simulator {

namespace {

constexpr double one = 0x1p32;

// Below n, n > 0.
uint64_t below(workload_random &random, uint64_t n) {
    uint64_t bits = uint64_t(workload_random_next(&random)) << 32;

    bits |= workload_random_next(&random);
    return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * n >> 64);
}

uint64_t sum_with(uint64_t sum, uint64_t weight, const std::string &name) {
    if (weight > (uint64_t(1) << 53) || sum + weight > (uint64_t(1) << 62))
        bad(name + ": the weights are too large");
    return sum + weight;
}

workload_shape shape_of(const std::string &name, const std::string &where) {
    constexpr const char *names[] = {"fixed", "uniform", "exponential", "pareto"};

    for (int i = 0; i < 4; i++)
        if (name == names[i])
            return static_cast<workload_shape>(i);
    bad(where + ".shape: there is no " + name);
}

void read_bins(Distribution &d, const Json &bins, const std::string &name) {
    uint64_t sum = 0;

    if (!bins.is_array() || bins.empty())
        bad(name + " is no list of bins");
    for (const Json &bin : bins) {
        if (!bin.is_array() || bin.size() != 3 || !bin[0].is_number_unsigned() ||
            !bin[1].is_number_unsigned() || !bin[2].is_number_unsigned())
            bad(name + ": a bin is not [from, to, weight] in whole numbers");
        uint64_t from = bin[0], to = bin[1], weight = bin[2];
        if (to < from || to > uint64_t(1e15))
            bad(name + ": a bin ends before it begins, or after 10^15 ns");
        sum = sum_with(sum, weight, name);
        if (weight)
            d.add(from, to, weight);
    }
    if (!sum)
        bad(name + ": all weights are 0");
}

Distribution read_distribution(const Json &json, const std::string &name) {
    Table t(json, name);
    std::string shape = "fixed";
    uint32_t mean = 0;
    bool shaped = t.get("mean_ns", mean);

    shaped |= t.get("shape", shape);
    Distribution d(shape_of(shape, name), mean);
    auto bins = t.take("bins_ns");
    t.end();
    if (shaped == bins.has_value())
        bad(name + " needs mean_ns or bins_ns, and not both");
    if (mean >= uint32_t(1) << 31)
        bad(name + ".mean_ns is above 2^31");
    if (bins)
        read_bins(d, *bins, name + ".bins_ns");
    return d;
}

// The mean number from one to the next, from a rate.
uint64_t every(double per_second, const std::string &name) {
    if (!(per_second > 0) || per_second > 1e9)
        bad(name + " is not above 0 and up to 10^9");
    return static_cast<uint64_t>(std::llround(1e9 / per_second));
}

Mix::Locks read_locks(const Json &json, const std::string &name, uint64_t &sum, uint32_t &first) {
    Table t(json, name);
    Mix::Locks l;
    uint64_t weight = 1;
    double own = 0;
    bool irqs_off = false;

    t.get("name", l.name);
    t.get("count", l.count);
    t.get("weight", weight);
    t.get("own", own);
    t.get("irqs_off", irqs_off);
    l.section = read_distribution(t.need("section"), name + ".section");
    t.end();
    at_least_one(l.count, name + ".count");
    at_least_one(weight, name + ".weight");
    if (l.count > 65536)
        bad(name + ".count is above 65536");
    if (!(own >= 0 && own <= 1))
        bad(name + ".own is no chance from 0 to 1");
    l.own = static_cast<uint64_t>(std::llround(own * one));
    l.interrupted = !irqs_off;
    l.until = sum = sum_with(sum, weight, name);
    l.first = first;
    first += l.count;
    return l;
}

void read_wait(Mix &m, const Json &json, const std::string &name) {
    Table t(json, name);

    t.get("every", m.wait_every);
    at_least_one(m.wait_every, name + ".every");
    m.wait = read_distribution(t.need("length"), name + ".length");
    t.end();
}

void read_interrupt(Mix &m, const Json &json, const std::string &name) {
    Table t(json, name);
    double per_second = 0;

    t.get("per_second", per_second);
    m.interrupt_every = every(per_second, name + ".per_second");
    m.interrupt = read_distribution(t.need("length"), name + ".length");
    t.end();
}

} // namespace

void Distribution::add(uint64_t from, uint64_t to, uint64_t weight) {
    bins_.push_back({from, to, weight + (bins_.empty() ? 0 : bins_.back().until)});
}

uint64_t Distribution::draw(workload_random &random) const {
    if (bins_.empty())
        return workload_random_length(&random, shape_, mean_);
    uint64_t at = below(random, bins_.back().until);
    for (const Bin &b : bins_)
        if (at < b.until)
            return b.from + below(random, b.to - b.from + 1);
    return 0;
}

const Mix::Locks &Mix::pick(workload_random &random) const {
    uint64_t at = below(random, locks.back().until);

    for (const Locks &l : locks)
        if (at < l.until)
            return l;
    return locks.back();
}

Mix read_mix(const Json &json, const std::string &name) {
    Table t(json, name);
    Mix m;
    uint64_t sum = 0;
    uint32_t first = 0;
    Json locks = t.need("locks");

    if (!locks.is_array() || locks.empty())
        bad(name + ".locks is no list of locks");
    for (size_t i = 0; i < locks.size(); i++)
        m.locks.push_back(
            read_locks(locks[i], name + ".locks." + std::to_string(i + 1), sum, first));
    t.get("sections", m.sections);
    at_least_one(m.sections, name + ".sections");
    m.think = read_distribution(t.need("think"), name + ".think");
    if (auto wait = t.take("wait"))
        read_wait(m, *wait, name + ".wait");
    if (auto interrupt = t.take("interrupt"))
        read_interrupt(m, *interrupt, name + ".interrupt");
    t.end();
    return m;
}

} // namespace ol::simulator
