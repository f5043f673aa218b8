// SPDX-License-Identifier: MIT
// Random litmus tests: no paper says what they may show, but the checker's searches and the oracle
// must find the same.
#include "litmus.h"

#include <engine/random.h>

namespace ol::litmus {
namespace {

using engine::Access;
using engine::Op;
using engine::Order;

struct Step {
    bool is_fence;
    Op op;
    Order order;
    uint8_t cell, offset, width;
    uint64_t value, expected;
    int to; // a register, or none
};

constexpr const char *op_names[] = {"load", "store", "xchg", "cas", "add", "or", "and"};
constexpr const char *order_names[] = {"rlx", "acq", "rel", "acq_rel"};

std::string text(const Step &s) {
    if (s.is_fence)
        return "fence";
    std::string where = std::string(1, "xyzw"[s.cell]) + (s.width == 4 ? ""
                                                          : s.offset   ? ".hi"
                                                                       : ".lo");
    std::string out = std::string(op_names[static_cast<size_t>(s.op)]) + "." +
                      order_names[static_cast<size_t>(s.order)] + " " + where;
    if (s.op == Op::cas)
        out += " " + std::to_string(s.expected);
    if (s.op != Op::load)
        out += " " + std::to_string(s.value);
    return out;
}

Order order_for(Op op, engine::Random &random) {
    if (op == Op::load)
        return random.of({Order::relaxed, Order::relaxed, Order::acquire});
    if (op == Op::store)
        return random.of({Order::relaxed, Order::relaxed, Order::release});
    return random.of({Order::relaxed, Order::acquire, Order::release, Order::acq_rel});
}

Step random_step(engine::Random &random, uint64_t number, unsigned cells_used, bool halves) {
    Step s{};

    s.to = -1;
    s.is_fence = random.one_in(9);
    s.op = random.of({Op::load, Op::load, Op::load, Op::store, Op::store, Op::store, Op::xchg,
                      Op::cas, Op::add});
    s.order = order_for(s.op, random);
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
            engine::current().fence(here);
            continue;
        }
        uint64_t old = engine::current().access({words[step.cell], step.offset, step.width, step.op,
                                                 step.order, step.value, step.expected, here});
        if (step.to >= 0)
            r[step.to] = old;
    }
}

} // namespace

Litmus random_test(uint64_t seed) {
    engine::Random random(seed);
    Litmus test{};
    unsigned contexts = 2 + random.below(2), longest = contexts == 2 ? 4 : 3;
    unsigned cells_used = 1 + random.below(2);
    bool halves = !random.one_in(4);
    int registers_used = 0;
    uint64_t number = 0;

    test.name = "random " + std::to_string(seed) + ":";
    for (unsigned c = 0; c < contexts; c++) {
        std::vector<Step> steps;
        for (unsigned n = 1 + random.below(longest); n; n--) {
            Step s = random_step(random, ++number, cells_used, halves);
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
