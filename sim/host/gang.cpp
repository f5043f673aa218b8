// SPDX-License-Identifier: MIT
// Strict co-scheduling (Ousterhout 1982): rows of guests that fit side by side on the CPUs, each
// context in a column of its own. Rows have the CPUs in turns; at every time the contexts of a
// guest that can run all have a CPU, or none has. The columns that no guest of a row uses idle, as
// do those of contexts that sleep.
#include "host.h"

#include <algorithm>

namespace ol::simulator {

namespace {

class Gang final : public Policy {
public:
    Gang(Level &level, Time slice)
        : level_(level), slice_(std::max<Time>(slice, 1)), turns_([this] { turn(); }) {}

    ~Gang() override { level_.events.cancel(turns_); }

    void begin() override {
        of_.resize(level_.entities.size());
        for (const Entity *e : level_.entities)
            if (e->group.members.front() == e)
                seat(e->group);
        level_.events.set(turns_, slice_);
    }

    Cpu &place(Entity &e, Why) override { return *of_[e.number].column; }

    // A row all of whose contexts sleep is left at once.
    void put(Entity &e, Cpu &, Why) override {
        if (row_of(e) != row_ && !is_alive(row_))
            level_.events.set(turns_, level_.events.now());
    }

    Entity *take(Cpu &c) override {
        Entity *e = rows_[row_][c.number];

        if (e && e->queued)
            return e;
        if (!is_alive(row_) && next_row() != row_)
            level_.events.set(turns_, level_.events.now());
        return nullptr;
    }

    void remove(Entity &) override {}

    bool anyone_waits(const Cpu &c) const override {
        return std::any_of(rows_.begin(), rows_.end(),
                           [&c](const Row &row) { return row[c.number] && row[c.number]->queued; });
    }

    Time slice(const Cpu &, const Entity &) override {
        return std::max<Time>(1, turns_.at() - level_.events.now());
    }

    bool passes(const Cpu &) const override {
        return false; // but all at once
    }
    bool yields(Cpu &) override { return false; }
    bool preempts(const Entity &, const Cpu &) override { return false; }
    Time guaranteed(const Cpu &c) const override {
        return turns_.at() - std::min(turns_.at(), c.began);
    }
    Cpu *favour(Entity &to) override { return to.home; }
    void ran(Entity &, Time) override {}

private:
    using Row = std::vector<Entity *>; // by CPU; null: a column that stays empty

    struct Seat {
        size_t row = 0;
        Cpu *column = nullptr;
    };

    size_t row_of(const Entity &e) const { return of_[e.number].row; }

    // In the first row that has room.
    void seat(const Group &g) {
        for (size_t row = 0; row <= rows_.size(); row++) {
            bool is_new = row == rows_.size();
            if (is_new)
                rows_.emplace_back(level_.cpus.size());
            if (fits(g, row))
                return;
            if (is_new)
                throw BadScenario(g.name + " has more contexts than CPUs: they "
                                           "cannot run at once");
        }
    }

    bool fits(const Group &g, size_t row) {
        Row with = rows_[row];

        for (Entity *e : g.members) {
            auto free = std::find_if(level_.cpus.begin(), level_.cpus.end(),
                                     [&](Cpu *c) { return !with[c->number] && e->may_run_on(*c); });
            if (free == level_.cpus.end())
                return false;
            with[(*free)->number] = e;
            of_[e->number] = {row, *free};
        }
        rows_[row] = with;
        return true;
    }

    bool is_alive(size_t row) const {
        return std::any_of(rows_[row].begin(), rows_[row].end(),
                           [](const Entity *e) { return e && (e->queued || e->cpu); });
    }

    size_t next_row() const {
        for (size_t i = 1; i < rows_.size(); i++)
            if (is_alive((row_ + i) % rows_.size()))
                return (row_ + i) % rows_.size();
        return row_;
    }

    void turn() {
        size_t next = next_row();

        level_.events.set(turns_, level_.events.now() + slice_);
        if (next == row_) {
            for (Cpu *c : level_.cpus)
                level_.reslice(*c);
            return;
        }
        for (Cpu *c : level_.cpus)
            if (c->runs)
                level_.vacate(*c);
        row_ = next;
        for (Cpu *c : level_.cpus)
            level_.dispatch(*c);
    }

    Level &level_;
    const Time slice_;
    std::vector<Row> rows_;
    std::vector<Seat> of_; // by entity
    size_t row_ = 0;
    Timer turns_;
};

} // namespace

std::unique_ptr<Policy> make_gang(Level &level, const HostSettings &s) {
    return std::make_unique<Gang>(level, s.gang_slice);
}

} // namespace ol::simulator
