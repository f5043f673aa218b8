// SPDX-License-Identifier: MIT
#include "program.h"

#include <overlock/port.h>

namespace ol::search {

using engine::Op;
using engine::Order;
using engine::Place;
using engine::Random;

namespace {

constexpr const char *op_names[] = {"load", "store", "xchg", "cas", "add", "or", "and"};
constexpr const char *order_names[] = {"", ".acq", ".rel", ".acq_rel"};
constexpr const char *does_names[] = {
#define OL_DOES(name, often, what) #name,
    OL_EACH_DOES
#undef OL_DOES
};
constexpr unsigned does_often[] = {
#define OL_DOES(name, often, what) often,
    OL_EACH_DOES
#undef OL_DOES
};
constexpr engine::Ticks soon = 100;

check::Budgets budgets(uint32_t expiry, uint32_t spurious, uint32_t late, uint32_t stale,
                       uint32_t stop, uint32_t irq) {
    check::Budgets b;

    b.left.fill(0);
    b[check::Budget::expiry] = expiry;
    b[check::Budget::spurious] = spurious;
    b[check::Budget::late] = late;
    b[check::Budget::stale] = stale;
    b[check::Budget::stop] = stop;
    b[check::Budget::irq] = irq;
    return b;
}

Does random_does(Random &random) {
    unsigned sum = 0, n;

    for (unsigned often : does_often)
        sum += often;
    n = random.below(sum);
    size_t i = 0;
    while (n >= does_often[i])
        n -= does_often[i++];
    return static_cast<Does>(i);
}

Part random_part(Random &random) {
    Part p{static_cast<uint8_t>(random.below(2)), 0, 4};

    if (random.one_in(4)) {
        p.width = 2;
        p.offset = random.one_in(2) ? 2 : 0;
    }
    return p;
}

Order order_for(Op op, Random &random) {
    if (op == Op::load)
        return random.of({Order::relaxed, Order::acquire});
    if (op == Op::store)
        return random.of({Order::relaxed, Order::release});
    return random.of({Order::relaxed, Order::acquire, Order::release, Order::acq_rel});
}

Statement random_statement(Random &random) {
    Statement s{};

    s.does = random_does(random);
    s.op = random.of({Op::load, Op::load, Op::store, Op::store, Op::store, Op::xchg, Op::cas,
                      Op::add, Op::bit_or, Op::bit_and});
    s.order = order_for(s.op, random);
    s.part = random_part(random);
    s.other = random_part(random);
    s.value = random.below(3);
    s.expected = random.below(2);
    s.other_expected = 1 + random.below(2);
    s.rounds = random.below(s.does >= Does::turn ? 5 : 3);
    s.key = 1 + random.below(3);
    s.kicks = random.of({1, 1, 3});
    return s;
}

std::string text(const Part &p) {
    return std::string(1, "xy"[p.word]) + (p.width == 4 ? "" : p.offset ? ".hi" : ".lo");
}

std::string text(const Statement &s) {
    std::string t = does_names[static_cast<size_t>(s.does)];

    if (s.does == Does::access)
        t = op_names[static_cast<size_t>(s.op)];
    if (s.does == Does::plain)
        t += s.op == Op::load ? " read" : " write";
    t += order_names[static_cast<size_t>(s.order)];
    t += " " + text(s.part) + " value=" + std::to_string(s.value) +
         " expected=" + std::to_string(s.expected);
    if (s.does == Does::wait_either)
        t += " or " + text(s.other) + " expected=" + std::to_string(s.other_expected);
    if (s.rounds || s.does >= Does::turn)
        t += " rounds=" + std::to_string(s.rounds);
    if (s.does == Does::park || s.does == Does::kick || s.does == Does::timed_park)
        t += " key=" + std::to_string(s.key);
    if (s.does == Does::kick)
        t += s.kicks == 1 ? " one" : " all";
    return t;
}

std::string text(const std::vector<Statement> &statements) {
    std::string t;

    for (const Statement &s : statements)
        t += "        " + text(s) + "\n";
    return t;
}

Order loading(Order o) {
    return engine::acquires(o) ? Order::acquire : Order::relaxed;
}
Order storing(Order o) {
    return engine::releases(o) ? Order::release : Order::relaxed;
}

} // namespace

const std::vector<Adversary> &adversaries() {
    static const std::vector<Adversary> all = {
        {"nobody", budgets(0, 0, 0, 0, 0, 0)},       {"expiry", budgets(1, 0, 0, 0, 0, 0)},
        {"two expiries", budgets(2, 1, 0, 1, 0, 0)}, {"late kicks", budgets(0, 0, 1, 0, 0, 0)},
        {"late, expiry", budgets(1, 0, 1, 0, 0, 0)}, {"stops", budgets(0, 0, 0, 0, 1, 0)},
        {"interrupts", budgets(0, 0, 0, 0, 0, 1)},
    };
    return all;
}

bool counts_turns(const Code &code) {
    bool counts = false;

    for (const auto &c : code.contexts)
        for (const Statement &s : c)
            counts |= s.does == Does::turn_count;
    for (const Statement &s : code.handler)
        counts |= s.does == Does::turn_count;
    return counts;
}

Code random_code(Random &random) {
    Code code;
    unsigned contexts = random.one_in(3) ? 3 : 2, longest = contexts == 2 ? 5 : 3;

    for (unsigned c = 0; c < contexts; c++) {
        code.contexts.emplace_back();
        for (unsigned n = 1 + random.below(longest); n; n--)
            code.contexts.back().push_back(random_statement(random));
    }
    do
        code.handler = {random_statement(random)};
    while (code.handler[0].does == Does::quit || code.handler[0].does == Does::outlive);
    return code;
}

std::string text(const Code &code) {
    std::string t;

    for (const auto &c : code.contexts)
        t += "    context:\n" + text(c);
    if (!code.handler.empty())
        t += "    interrupt:\n" + text(code.handler);
    return t;
}

Runner::Runner(check::Model model, const check::Budgets &budgets)
    : world_(model, [&] {
          check::Rules rules;
          rules.budgets = budgets;
          rules.longest = 300;
          return rules;
      }()) {}

Found explore(check::World &world, check::Program program, check::SearchKind kind,
              uint64_t executions, const std::function<std::string()> &outcome) {
    auto search = check::make_dpor(world, kind == check::SearchKind::dpor);
    auto finish = program.finish;
    Found found;

    program.finish = [&] {
        auto [at, is_new] = found.outcomes.try_emplace(outcome());
        if (is_new)
            at->second = check::text_of(search->path(), program.contexts);
        finish();
    };
    while (!found.failure && found.executions + found.redundant < executions) {
        (world.run(program, *search) ? found.executions : found.redundant)++;
        found.failure = world.failure();
        if (!found.failure && !search->next()) {
            found.exhausted = true;
            break;
        }
    }
    return found;
}

Found Runner::explore(const Code &code, check::SearchKind search, uint64_t executions,
                      unsigned turns) {
    check::Program program;

    code_ = &code;
    reduced_ = search == check::SearchKind::dpor;
    world_.rules().turns = turns;
    world_.forget_loops();
    program.contexts = code.contexts.size();
    program.set_up = [this](engine::Memory &memory) { set_up(memory); };
    program.body = [this](size_t me) { body(me); };
    program.may_stick = [] { return true; };
    program.interrupted = [this](size_t me, check::Budget) {
        for (const Statement &s : code_->handler)
            execute(me, s);
    };
    Found found =
        search::explore(world_, program, search, executions, [this] { return outcome(); });
    found.cuts = !world_.cut_loops().empty();
    return found;
}

void Runner::set_up(engine::Memory &memory) {
    words_ = reinterpret_cast<uint32_t *>(memory.allocate("words", 8 * words_used).at);
    datum_ = reinterpret_cast<uint64_t *>(memory.allocate("datum", sizeof *datum_).at);
    published_ = reinterpret_cast<uint64_t *>(memory.allocate("published", 8).at);
    for (size_t i = 0; i < most; i++) {
        heard_[i].clear();
        turns_[i] = {};
        at_[i] = 0;
    }
}

void Runner::body(size_t me) {
    world_.may_stop(me == 0); // as in the checker's client
    for (const Statement &s : code_->contexts[me]) {
        execute(me, s);
        at_[me]++;
    }
    world_.may_stop(false);
}

std::string Runner::outcome() const {
    std::string t;

    for (size_t i = 0; i < code_->contexts.size(); i++) {
        t += std::string(world_.doing(i)) + " at " + std::to_string(at_[i]) + " heard";
        for (uint64_t v : heard_[i])
            t += " " + std::to_string(v);
        t += "; ";
    }
    return t + "x=" + std::to_string(words_[0]) + " y=" + std::to_string(words_[2]) +
           " datum=" + std::to_string(*datum_);
}

uint64_t Runner::hear(size_t me, uint64_t value) {
    heard_[me].push_back(value);
    return value;
}

uint64_t Runner::access(const Part &p, Op op, Order order, uint64_t value, uint64_t expected) {
    return world_.access(
        {word(p), p.offset, p.width, op, order, value, expected, {__FILE__, __LINE__}});
}

void Runner::execute(size_t me, const Statement &s) {
    Place here{__FILE__, __LINE__};
    uint64_t last = 0;
    bool came;

    turns_[me].end(world_);
    switch (s.does) {
    case Does::turn:
    case Does::turn_either:
    case Does::turn_cas:
    case Does::turn_nested:
    case Does::turn_relax:
    case Does::turn_count:
        came = turns(me, s, 0, last);
        turns_[me].end(world_);
        hear(me, came);
        hear(me, last);
        return world_.relax(0, here); // or a later relax would look again at once for what this saw
    case Does::turn_park:
        turn_and_park(me, s);
        return world_.relax(0, here);
    case Does::access: {
        uint64_t old = access(s.part, s.op, s.order, s.value, s.expected);
        if (s.op != Op::store)
            hear(me, old);
        return;
    }
    case Does::fence:
        return world_.fence(here);
    case Does::plain:
        if (s.op == Op::load)
            hear(me, world_.plain_read(datum_, here));
        else
            world_.plain_write(datum_, s.value, here);
        return;
    case Does::wait:
    case Does::wait_either:
    case Does::yield:
    case Does::insist:
        return wait(me, s);
    case Does::retreat:
        return retreat(me, s);
    case Does::timed:
    case Does::timed_yield:
        return wait_in_time(me, s);
    case Does::ask:
        hear(me, ol_passed(ol_after(1, soon)));
        return;
    case Does::park:
        return park(me, s, OL_NEVER);
    case Does::timed_park:
        return park(me, s, ol_after(1, soon));
    case Does::kick:
        access(s.part, Op::store, storing(s.order), s.value);
        world_.kick(word(s.part), s.key, s.kicks, here);
        return;
    case Does::lend:
        return lend(me, s);
    case Does::look:
        return look(me, s);
    case Does::slice:
        hear(me, world_.slice_id(here));
        return;
    case Does::quit:
        return world_.stop();
    case Does::outlive:
        return world_.stop_others();
    }
}

// Loops that only look, or fail to change, take one turn for each change: they need no bound.
void Runner::wait(size_t me, const Statement &s) {
    Order order = loading(s.order);

    for (unsigned round = 1;; round++) {
        uint64_t v = s.does == Does::insist
                         ? access(s.part, Op::cas, s.order, s.other_expected, s.expected)
                         : access(s.part, Op::load, order);
        bool there = hear(me, v) == s.expected + (s.does != Does::insist);
        if (!there && s.does == Does::wait_either)
            there = hear(me, access(s.other, Op::load, order)) == s.other_expected;
        if (there || round == s.rounds)
            return;
        s.does == Does::yield ? ol_yield() : ol_relax();
    }
}

void Runner::wait_in_time(size_t me, const Statement &s) {
    engine::Ticks until = ol_after(1, soon);

    for (;;) {
        if (hear(me, access(s.part, Op::load, loading(s.order))) == s.expected + 1)
            return;
        if (ol_passed(until)) {
            hear(me, 1000);
            return;
        }
        s.does == Does::timed ? ol_relax_until(until) : ol_yield();
    }
}

// One access of such a loop. `state` is all that differs from turn to turn.
uint64_t Runner::turn(size_t me, const Part &p, Op op, Order order, uint64_t value,
                      uint64_t expected, const char *site, uint64_t state) {
    check::Access a{word(p), p.offset, p.width, op, order, value, expected, {__FILE__, __LINE__}};

    if (!reduced_)
        return world_.access(a);
    if (auto known = turns_[me].again(world_, site, a, state))
        return *known;
    uint64_t old = world_.access(a);
    turns_[me].made(site, a, old, state);
    return old;
}

bool Runner::looks_twice(Does does) {
    return does == Does::turn_either || does == Does::turn_nested || does == Does::turn_relax;
}

// Whether it has come to what it waits for, and what it saw last. What happens in turns that see
// the same is not heard, but by turn_count.
bool Runner::turns(size_t me, const Statement &s, uint64_t outside, uint64_t &last) {
    const auto *site = reinterpret_cast<const char *>(&s);
    Order order = loading(s.order);

    for (unsigned n = 0; n <= s.rounds || s.does == Does::turn_relax; n++) {
        uint64_t state = outside << 8 | (s.does == Does::turn_relax ? n % 2 : n);
        last = s.does == Does::turn_cas
                   ? turn(me, s.part, Op::cas, s.order, s.other_expected, s.expected, site, state)
                   : turn(me, s.part, Op::load, order, 0, 0, site, state);
        if (last == s.expected + (s.does != Does::turn_cas)) {
            last += s.does == Does::turn_count ? 10 * n : 0;
            return true;
        }
        if (looks_twice(s.does))
            for (unsigned k = 0; k <= (s.does == Does::turn_nested); k++) {
                last = turn(me, s.other, Op::load, order, 0, 0, site + 1, state << 8 | k);
                if (last == s.other_expected)
                    return true;
            }
        if (s.does == Does::turn_relax && n % 2) {
            turns_[me].end(world_);
            ol_relax();
        }
    }
    return false;
}

void Runner::turn_and_park(size_t me, const Statement &s) {
    uint32_t *w = word(s.part);
    const auto *site = reinterpret_cast<const char *>(&s);
    uint64_t last;

    for (unsigned round = 0; round < 2; round++) {
        auto first = static_cast<uint32_t>(
            turn(me, {s.part.word, 0, 4}, Op::load, loading(s.order), 0, 0, site + 2, round));
        hear(me, first);
        bool came = turns(me, s, round + 1, last);
        turns_[me].end(world_);
        if (came) {
            hear(me, last);
            return;
        }
        world_.park(w, first, s.key, engine::never, {__FILE__, __LINE__});
    }
}

// A loop that changes what others wait for: bounded, or two of them could go on for ever.
void Runner::retreat(size_t me, const Statement &s) {
    for (unsigned round = 0; round <= s.rounds; round++) {
        uint64_t old = hear(me, access(s.part, Op::xchg, s.order, s.other_expected));
        if (old == s.expected)
            return;
        access(s.part, Op::store, storing(s.order), old);
        ol_relax();
    }
}

void Runner::park(size_t me, const Statement &s, engine::Ticks until) {
    uint32_t *w = word(s.part);

    for (unsigned round = 1; !ol_passed(until); round++) {
        auto v = static_cast<uint32_t>(
            hear(me, world_.access({w, 0, 4, Op::load, loading(s.order), 0, 0, {__FILE__, 1}})));
        if (v == s.expected + 1 || round > 3)
            return;
        world_.park(w, v, s.key, until, {__FILE__, __LINE__});
    }
}

void Runner::lend(size_t me, const Statement &s) {
    ol_node *node = ol_node_get();
    auto address = reinterpret_cast<uint64_t>(node);

    ol_store_relaxed(&node->wait, static_cast<uint32_t>(s.value + 10));
    bool first = ol_xchg_acq_rel(published_, address) == 0;
    hear(me, first);
    if (s.rounds)
        hear(me, access(s.part, Op::load, loading(s.order)));
    ol_store_release(published_, uint64_t(0));
    ol_node_put(node);
}

void Runner::look(size_t me, const Statement &s) {
    uint64_t address = ol_load_acquire(published_);

    for (unsigned round = 0; !address && round < s.rounds; round++) {
        ol_relax();
        address = ol_load_acquire(published_);
    }
    hear(me, address != 0);
    if (address)
        hear(me, ol_load_relaxed(&reinterpret_cast<ol_node *>(address)->wait));
}

} // namespace ol::search
