// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_SCHEDULE_H
#define OL_ENGINE_SCHEDULE_H
// Who runs next, for how long, and everything else that a world leaves open. A schedule is the
// whole of an execution's nondeterminism: the same answers give the same execution.
#include "world.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ol::engine {

// splitmix64: every seed gives a good stream, and the stream is the same everywhere.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
    bool one_in(uint32_t n) { return below(n) == 0; }
    template <class T, size_t N> const T &of(const T (&list)[N]) { return list[below(N)]; }

private:
    uint64_t state_;
};

// What a context does; the machine changes it, schedules read it.
enum class Doing : uint8_t { runs, relaxes, parks, done };

struct Turn {
    static constexpr uint32_t until_it_stops = UINT32_MAX;
    size_t who;
    uint32_t steps; // platform calls, unless it sleeps or ends before; 0: only time goes by
    bool to_mark;   // also ends at the context's next mark
    Ticks passing;  // time that goes by before it
};

enum class Doubt : uint8_t {
    relax_returns,      // a relax that need not
    park_returns,       // a park that was not kicked
    park_expires,       // a deadline has passed: notice it now?
    kick_is_late,       // deliver it some other time
    kick_arrives,       // a late one, now?
    kick_lingers,       // a late one finds its context awake: keep it for the next park?
    transaction_aborts, // for no reason of the program's: an interrupt, a page, a cache
};

class Schedule {
public:
    virtual ~Schedule() = default;
    // `ready` lists the contexts that can run, at least one of them; `step` counts platform calls.
    virtual Turn next(std::span<const size_t> ready, uint64_t step) = 0;
    virtual bool doubt(Doubt what) = 0;
    virtual uint32_t pick(uint32_t n) = 0;        // 0 ... n - 1
    virtual bool pauses() const { return false; } // stop here; the machine can be run on
};

// An adversary drawn from a seed: how often it switches, whom it keeps off the CPU and for how
// long, how fast time goes, whether wakes are spurious and kicks late, how often transactions abort
// without cause: sometimes all. After a while it becomes fair and gentle, so that only the lock can
// keep a context waiting.
class Seeded final : public Schedule {
public:
    Seeded(uint64_t seed, size_t contexts);
    Turn next(std::span<const size_t> ready, uint64_t step) override;
    bool doubt(Doubt what) override;
    uint32_t pick(uint32_t n) override { return random_.below(n); }

private:
    size_t somebody(std::span<const size_t> ready, uint64_t step);

    Random random_;
    uint32_t stride_, absences_, rudeness_;
    Ticks pace_;
    uint64_t calm_from_;
    uint32_t aborts_;
    bool calm_ = false;
    size_t last_ = 0;
    std::vector<uint64_t> away_until_; // a step, by context
};

// A schedule written down: tokens apart by spaces, contexts counted from 1.
//      2.      one step of context 2          2*30  thirty steps
//      2m      until its next mark            2w    until it relaxes asleep, parks or ends
//      +400    400 ticks go by
// When the text ends the execution pauses, so that a test can look; after finish() contexts run in
// turn to their ends. `park_expires` is answered yes, every other doubt no.
class Scripted final : public Schedule {
public:
    explicit Scripted(std::string text) : text_(std::move(text)) {}
    void append(const std::string &text) { text_ += " " + text; }
    Turn next(std::span<const size_t> ready, uint64_t step) override;
    bool doubt(Doubt what) override { return what == Doubt::park_expires; }
    uint32_t pick(uint32_t) override { return 0; }
    bool pauses() const override { return !finish_ && ended(); }
    void finish() { finish_ = true; }

private:
    bool ended() const;

    std::string text_;
    size_t at_ = 0, last_ = 0;
    bool finish_ = false;
};

} // namespace ol::engine
#endif
