// SPDX-License-Identifier: MIT
// Random litmus tests: no paper says what they may show, but the checker's searches and the oracle
// must find the same.
#include "tests.h"

#include <check/engine/random.h>

namespace ol::litmus {
namespace {

using engine::Access;
using engine::Op;
using engine::Order;

struct Step {
    bool is_fence, is_plain, is_weak;
    Op op;
    Order order, failing;
    uint8_t cell, offset, width;
    uint64_t value, expected;
    int to; // a register, or none
};

constexpr const char *op_names[] = {"load", "store", "xchg", "cas", "add", "or", "and", "xor"};
constexpr const char *order_names[] = {"rlx", "acq", "rel", "acq_rel", "sc"};

std::string text(const Step &s) {
    const std::string order = s.is_plain ? "plain" : order_names[static_cast<size_t>(s.order)];

    if (s.is_fence)
        return "fence." + order;
    std::string where = std::string(1, "xyzw"[s.cell]) + (s.width == 4 ? ""
                                                          : s.offset   ? ".hi"
                                                                       : ".lo");
    std::string out = std::string(op_names[static_cast<size_t>(s.op)]) + "." + order + " " + where;
    if (s.op == Op::cas)
        out += std::string(s.is_weak ? " weak" : "") + " else " +
               order_names[static_cast<size_t>(s.failing)] + " " + std::to_string(s.expected);
    if (s.op != Op::load)
        out += " " + std::to_string(s.value);
    return out;
}

// Some tests have no sequentially consistent accesses, as the locks have none.
Order order_for(Op op, engine::Random &random, bool sequential) {
    if (sequential && random.one_in(2))
        return Order::seq_cst;
    if (op == Op::load)
        return random.of({Order::relaxed, Order::relaxed, Order::acquire});
    if (op == Op::store)
        return random.of({Order::relaxed, Order::relaxed, Order::release});
    return random.of({Order::relaxed, Order::acquire, Order::release, Order::acq_rel});
}

Order fence_order(engine::Random &random) {
    return random.of({Order::seq_cst, Order::seq_cst, Order::seq_cst, Order::acquire,
                      Order::release, Order::acq_rel});
}

Step random_step(engine::Random &random, uint64_t number, unsigned cells_used, bool halves,
                 bool sequential) {
    Step s{};

    s.to = -1;
    s.is_fence = random.one_in(6);
    s.op = random.of({Op::load, Op::load, Op::load, Op::store, Op::store, Op::store, Op::xchg,
                      Op::cas, Op::add});
    s.order = s.is_fence ? fence_order(random) : order_for(s.op, random, sequential);
    s.failing = order_for(Op::load, random, sequential);
    s.is_weak = random.one_in(3);
    s.is_plain = !s.is_fence && (s.op == Op::load || s.op == Op::store) && random.one_in(6);
    if (s.is_plain)
        s.order = Order::relaxed;
    s.cell = static_cast<uint8_t>(random.below(cells_used));
    s.width = halves && random.one_in(2) ? 2 : 4;
    s.offset = s.width == 2 && random.one_in(2) ? 2 : 0;
    s.value = s.width == 2 ? number : number << 16 | number;
    s.expected = 0;
    return s;
}

void run(const std::vector<Step> &steps, Shared &s, Reg r) {
    uint32_t *const words[] = {&s.x, &s.y, &s.z, &s.w};

    for (size_t i = 0; i < steps.size(); i++) {
        const Step &step = steps[i];
        engine::Place here{"random", static_cast<int>(i)};
        if (step.is_fence) {
            step.order == Order::seq_cst ? engine::current().fence(here)
                                         : engine::current().light_fence(step.order, here);
            continue;
        }
        bool spurious = false;
        Access a{words[step.cell], step.offset, step.width,    step.op,
                 step.order,       step.value,  step.expected, here};
        a.failing_acquires = engine::acquires(step.failing);
        a.failing_sequential = step.failing == Order::seq_cst;
        a.is_plain = step.is_plain;
        a.spurious = step.op == Op::cas && step.is_weak ? &spurious : nullptr;
        uint64_t old = engine::current().access(a);
        if (spurious && old != step.expected)
            r[registers] = duplicate;
        if (step.to >= 0)
            r[step.to] = old | (spurious ? uint64_t{1} << 32 : 0);
    }
}

} // namespace

Litmus random_test(uint64_t seed) {
    engine::Random random(seed);
    Litmus test{};
    unsigned contexts = 2 + random.below(2), longest = contexts == 2 ? 4 : 3;
    unsigned cells_used = 1 + random.below(2);
    bool halves = !random.one_in(4), sequential = random.one_in(2);
    int registers_used = 0;
    uint64_t number = 0;

    test.name = "random " + std::to_string(seed) + ":";
    for (unsigned c = 0; c < contexts; c++) {
        std::vector<Step> steps;
        for (unsigned n = 1 + random.below(longest); n; n--) {
            Step s = random_step(random, ++number, cells_used, halves, sequential);
            if (!s.is_fence && s.op != Op::store && registers_used < static_cast<int>(registers))
                s.to = registers_used++;
            test.name += (steps.empty() ? c ? " || " : " " : "; ") + text(s);
            steps.push_back(s);
        }
        test.contexts.push_back([steps](Shared &s, Reg r) { run(steps, s, r); });
    }
    test.outcome = [](const Shared &, const uint64_t *) { return false; };
    return test;
}

} // namespace ol::litmus
