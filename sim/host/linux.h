// SPDX-License-Identifier: MIT
#ifndef OL_SIM_HOST_LINUX_H
#define OL_SIM_HOST_LINUX_H
// What Linux's two fair schedulers share: queues, placement, pulling and levelling, ticks, group
// shares.
#include "host.h"

namespace ol::simulator {

class Linux : public Policy {
public:
    ~Linux() override;

    void begin() override;
    Cpu &place(Entity &e, Why why) override;
    void put(Entity &e, Cpu &c, Why why) override;
    Entity *take(Cpu &c) override;
    void remove(Entity &e) override;
    bool anyone_waits(const Cpu &c) const override;
    void ran(Entity &e, Time time) override;

protected:
    static constexpr int64_t usual_weight = 1024;

    struct Queue {
        std::vector<Entity *> waiting; // by virtual time
        int64_t least = 0;             // virtual time, never goes back
        Entity *next = nullptr;        // buddies: who is to be next, who is not
        Entity *skip = nullptr;
        int64_t request_ends = 0; // virtual time until which the one that runs keeps the CPU
    };

    Linux(Level &level, Time tick, Time balance, bool groups);

    virtual void join(Queue &q, Entity &e, const Cpu &c, Why why) = 0; // its virtual time
    virtual Entity *pick(Queue &q, const Cpu &c) = 0;                  // of a queue not empty

    int64_t weight(const Entity &e) const;
    int64_t virtually(Time time, const Entity &e) const; // for its weight
    Time until_tick(const Cpu &c, Time least) const;     // the first one after that
    Queue &queue(const Cpu &c) { return queues_[c.number]; }
    const Queue &queue(const Cpu &c) const { return queues_[c.number]; }
    static void insert(Queue &q, Entity &e);

    Level &level_;
    const int64_t factor_; // Linux scales its times by the number of CPUs

private:
    size_t load(const Cpu &c) const;
    size_t load_around(const Cpu &c, size_t together) const;
    bool is_better(const Cpu &a, const Cpu &b) const;
    Cpu *idle_near(const Entity &e, const Cpu &c) const;
    void rebase(Entity &e, Cpu &c);
    void advance(Queue &q, const Entity &e);
    bool pull(Cpu &to, bool from_busy_only);
    bool move_one(Cpu &from, Cpu &to);
    void tick();
    void level_queues();

    const Time tick_;
    const uint64_t balance_every_; // ticks
    const bool groups_;
    std::vector<Queue> queues_;
    Timer ticker_;
    uint64_t ticks_ = 0;
    bool failed_ = false; // levelling, the last time
};

} // namespace ol::simulator
#endif
