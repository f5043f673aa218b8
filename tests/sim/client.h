// SPDX-License-Identifier: MIT
#ifndef OL_TESTS_SIM_CLIENT_H
#define OL_TESTS_SIM_CLIENT_H
// What contexts do with a lock while the machine plays the adversary, and what must then hold. All
// of it is drawn from one seed: who takes part, with which abilities and tuning, who locks, tries,
// gives up, hands over, frees.
#include <engine/machine.h>
#include <engine/subjects.h>

#include <optional>
#include <string>
#include <vector>

namespace ol::test {

class Client {
public:
    Client(engine::Machine &machine, const ol_lock_ops &ops);

    // Only this kind of execution, by its name, and with every context able; false if unknown.
    bool only(const std::string &kind);

    // Always with this tau, which then does not change on the way.
    void fix_tau(engine::Ticks tau) { fixed_tau_ = tau; }

    // Nobody gives up.
    void without_deadlines() { deadlines_ = false; }

    // One execution; true if all went well, else machine.failure() says what did not.
    bool run(uint64_t seed);

    std::string setting() const; // of the last execution, in words

    uint64_t executions() const { return executions_; }
    uint64_t steps() const { return steps_; }
    const std::vector<uint64_t> &events() const { return events_; }

private:
    enum class Kind : size_t { mixed, hand_over_hand, last_frees, another_unlocks, crowd, nap };
    static constexpr const char *kinds[] = {"mixed",           "hand-over-hand", "last-frees",
                                            "another-unlocks", "crowd",          "nap"};

    struct Lock {
        void *at = nullptr;
        uint64_t *datum = nullptr;
        size_t owner = nobody; // whoever is between lock and unlock
        uint64_t acquired = 0; // times
        unsigned busy = 0;     // contexts in an operation on it or holding it
        uint64_t begun = 0;    // operations
        unsigned elided = 0;   // in transactions
    };

    static constexpr size_t nobody = SIZE_MAX;

    void draw(uint64_t seed);
    void draw_slices(const engine::Random &from);
    void set_up();
    void learn_unit();
    Lock make_lock();
    void idle_lock_works(Lock &l);
    void finish();
    void nap_was_noticed();

    void participate(size_t me);
    void nap();
    void overtake();
    void close(uint32_t expected);
    void acquire(Lock &l, engine::Random &random);
    bool try_once(Lock &l);
    bool try_for_a_while(Lock &l, engine::Random &random);
    bool try_until(Lock &l, engine::Random &random);
    void took(Lock &l);
    template <class T> void add(T &n, int d);
    void use(Lock &l, engine::Random &random);
    void release(Lock &l);
    void hand_over(Lock &l);
    void maybe_retune(engine::Random &random);

    engine::Machine &machine_;
    const ol_lock_ops &ops_;
    uint32_t unit_ = 0; // what one acquisition adds to head and tail of a 4-byte ticket lock

    uint64_t seed_ = 0;
    Kind kind_ = Kind::mixed;
    bool deadlines_ = true;
    std::optional<Kind> only_;
    std::optional<engine::Ticks> fixed_tau_;
    size_t contexts_ = 0;
    unsigned rounds_ = 0, users_left_ = 0;
    uint32_t start_ = 0;
    bool retunes_ = false, elides_ = false;
    ol_tuning tuning_ = engine::presets();
    std::vector<engine::Abilities> able_;
    Lock locks_[2];
    uint32_t *handed_over_ = nullptr;
    uint64_t executions_ = 0, steps_ = 0;
    std::vector<uint64_t> events_;
};

} // namespace ol::test
#endif
