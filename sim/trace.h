// SPDX-License-Identifier: MIT
#ifndef OL_SIM_TRACE_H
#define OL_SIM_TRACE_H
// What happened, in its order: the timelines of `overlock sim` and its explanations are made of it.
// Who does not trace has a null pointer.
#include "time.h"

#include <ostream>
#include <vector>

namespace ol::simulator {

class Cpu;
class Entity;
class Simulation;
class Task;
struct Group;

enum class Traced : uint8_t {
#define TRACE(name, what) name,
#define LOST(name, what)
#include "trace.def"
#undef LOST
#undef TRACE
};

enum class Lost : uint8_t {
#define TRACE(name, what)
#define LOST(name, what) name,
#include "trace.def"
#undef LOST
#undef TRACE
};

struct TracePlan {
    bool wanted = false;
    Time from = 0, until = never;
    uint64_t most_events = 1'000'000; // 24 bytes each
};

class Trace {
public:
    Trace(const Simulation &simulation, const TracePlan &plan);

    void begin(); // at `from`: with what is so at that time

    void run(const Entity &e, const Cpu &c);
    void lose(const Entity &e, const Cpu &c, Lost why);
    void ready(const Entity &e);
    void lock(Traced what, const Task &t, uint32_t lock);
    void park(const Task &t);
    void kick(const Task &by, const Task &woken);
    void quota(Traced what, const Group &g);

    void write(std::ostream &out) const; // as JSON: times in ps

private:
    struct Event {
        Time at;
        uint32_t who, other;
        Traced what;
        Lost why;
    };

    void add(Traced what, uint32_t who, uint32_t other = 0, Lost why = Lost::slice);
    void was(Time since, Traced what, uint32_t who, uint32_t other);
    void snapshot(const Entity &e);
    void snapshot(const Task &t);

    const Simulation &simulation_;
    const TracePlan plan_;
    std::vector<Event> events_;
    Time until_ = never; // of those that had room
};

} // namespace ol::simulator
#endif
