// SPDX-License-Identifier: MIT
#ifndef OL_SEARCH_PROGRAM_H
#define OL_SEARCH_PROGRAM_H
// Random small programs that wait in every way the platform layer has: what a search must not lose
// anything of. They hear what they read, and all that they heard is part of the outcome.
#include <check/checker.h>
#include <check/turns.h>

#include <check/engine/random.h>

#include <map>
#include <string>
#include <vector>

namespace ol::search {

// What a statement does: OL_DOES(name, how often, as text).
#define OL_EACH_DOES                                                                               \
    OL_DOES(access, 16, "one access")                                                              \
    OL_DOES(fence, 1, "a fence")                                                                   \
    OL_DOES(plain, 1, "plain data")                                                                \
    OL_DOES(wait, 6, "relax until a word has a value")                                             \
    OL_DOES(wait_either, 3, "relax until one of two words has a value")                            \
    OL_DOES(yield, 2, "yield until a word has a value")                                            \
    OL_DOES(retreat, 3, "exchange, put back what was there, relax, try again")                     \
    OL_DOES(insist, 2, "compare-exchange and relax until that succeeds")                           \
    OL_DOES(timed, 3, "relax until a word has a value or a time has come")                         \
    OL_DOES(timed_yield, 1, "likewise, by yields")                                                 \
    OL_DOES(ask, 1, "has the time come?")                                                          \
    OL_DOES(park, 5, "park until a word has a value")                                              \
    OL_DOES(timed_park, 2, "likewise, or until a time has come")                                   \
    OL_DOES(kick, 5, "store, and kick whoever is parked there")                                    \
    OL_DOES(lend, 2, "publish a queue node, wait, take it back")                                   \
    OL_DOES(look, 2, "follow a published node")                                                    \
    OL_DOES(slice, 1, "which slice is it?")                                                        \
    OL_DOES(turn, 4, "a loop that shows only by its loads, of so many turns at most")              \
    OL_DOES(turn_either, 2, "likewise, of two words")                                              \
    OL_DOES(turn_cas, 3, "likewise, of compare-exchanges")                                         \
    OL_DOES(turn_nested, 2, "likewise, each turn with a loop within")                              \
    OL_DOES(turn_park, 4, "likewise, then park while the word is as at first, and try again")      \
    OL_DOES(turn_relax, 2, "without end, of two words, and relax after every second turn")         \
    OL_DOES(turn_count, 1, "likewise, and what follows depends on the number of turns")            \
    OL_DOES(quit, 1, "lose the CPU for ever")                                                      \
    OL_DOES(outlive, 1, "everybody else loses it")

enum class Does : uint8_t {
#define OL_DOES(name, often, what) name,
    OL_EACH_DOES
#undef OL_DOES
};

struct Part { // a word or a half of it
    uint8_t word, offset, width;
};

struct Statement {
    Does does;
    engine::Op op;
    engine::Order order;
    Part part, other;
    uint64_t value, expected, other_expected;
    unsigned rounds; // at most; 0: as many as it takes
    uint32_t key;
    int kicks;
};

struct Adversary {
    const char *name;
    check::Budgets budgets;
};
const std::vector<Adversary> &adversaries();

struct Code {
    std::vector<std::vector<Statement>> contexts;
    std::vector<Statement> handler; // of interrupts
};
Code random_code(engine::Random &random);
bool counts_turns(const Code &code); // so that not to explore every turn may lose something
std::string text(const Code &code);

// What a search found of a program.
struct Found {
    std::map<std::string, std::string> outcomes; // and an execution that ends so
    engine::Failure failure;
    uint64_t executions = 0, redundant = 0;
    bool exhausted = false; // and nothing failed
    bool cuts = false;      // loops: the outcomes need not be all
};

// Runs the program until it fails, ends, or has had so many executions.
Found explore(check::World &world, check::Program program, check::SearchKind kind,
              uint64_t executions, const std::function<std::string()> &outcome);

// The program, and a string for each way in which an execution of it can end.
class Runner {
public:
    Runner(check::Model model, const check::Budgets &budgets);

    // The reduced search is one of turns, too: of loops that count theirs it explores so many.
    Found explore(const Code &code, check::SearchKind search, uint64_t executions,
                  unsigned turns = 1);

private:
    void set_up(engine::Memory &memory);
    void body(size_t me);
    void execute(size_t me, const Statement &s);
    std::string outcome() const;

    uint64_t access(const Part &p, engine::Op op, engine::Order order, uint64_t value = 0,
                    uint64_t expected = 0);
    uint64_t hear(size_t me, uint64_t value);
    void wait(size_t me, const Statement &s);
    void wait_in_time(size_t me, const Statement &s);
    void retreat(size_t me, const Statement &s);
    void park(size_t me, const Statement &s, engine::Ticks until);
    uint64_t turn(size_t me, const Part &p, engine::Op op, engine::Order order, uint64_t value,
                  uint64_t expected, const char *site, uint64_t state);
    bool turns(size_t me, const Statement &s, uint64_t outside, uint64_t &last);
    static bool looks_twice(Does does); // in each turn
    void turn_and_park(size_t me, const Statement &s);
    void lend(size_t me, const Statement &s);
    void look(size_t me, const Statement &s);
    uint32_t *word(const Part &p) const { return words_ + 2 * p.word; }

    static constexpr size_t most = 3, words_used = 2;
    check::World world_;
    const Code *code_ = nullptr;
    uint32_t *words_ = nullptr; // each in eight bytes of its own
    uint64_t *datum_ = nullptr, *published_ = nullptr;
    std::vector<uint64_t> heard_[most];
    check::Turns turns_[most];
    bool reduced_ = false;
    size_t at_[most] = {};
};

} // namespace ol::search
#endif
