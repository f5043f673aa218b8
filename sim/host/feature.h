// SPDX-License-Identifier: MIT
#ifndef OL_SIM_HOST_FEATURE_H
#define OL_SIM_HOST_FEATURE_H
// A policy around another one, which answers all that the feature does not.
#include "host.h"

namespace ol::simulator {

class Feature : public Policy {
public:
    Feature(Level &level, std::unique_ptr<Policy> base) : level_(level), base_(std::move(base)) {}

    void begin() override { base_->begin(); }
    Cpu &place(Entity &e, Why why) override { return base_->place(e, why); }
    void put(Entity &e, Cpu &c, Why why) override { base_->put(e, c, why); }
    Entity *take(Cpu &c) override { return base_->take(c); }
    void remove(Entity &e) override { base_->remove(e); }
    bool anyone_waits(const Cpu &c) const override { return base_->anyone_waits(c); }
    bool queues_are_cpus() const override { return base_->queues_are_cpus(); }
    Time slice(const Cpu &c, const Entity &e) override { return base_->slice(c, e); }
    bool passes(const Cpu &c) const override { return base_->passes(c); }
    bool yields(Cpu &c) override { return base_->yields(c); }
    bool preempts(const Entity &woken, const Cpu &c) override { return base_->preempts(woken, c); }
    Time guaranteed(const Cpu &c) const override { return base_->guaranteed(c); }
    Cpu *favour(Entity &to) override { return base_->favour(to); }
    void started(Cpu &c) override { base_->started(c); }
    void ran(Entity &e, Time time) override { base_->ran(e, time); }
    void blocks(Entity &e) override { base_->blocks(e); }
    void spins(Entity &e, Time since, bool in_user_mode) override {
        base_->spins(e, since, in_user_mode);
    }
    bool watches_spinning() const override { return base_->watches_spinning(); }
    bool allows(const Entity &e, const Cpu &c) const override { return base_->allows(e, c); }

protected:
    Level &level_;
    std::unique_ptr<Policy> base_;
};

// One that acts when a context has waited in one loop for some time.
class OnSpinning : public Feature {
public:
    OnSpinning(Level &level, std::unique_ptr<Policy> base);
    ~OnSpinning() override;

    void spins(Entity &e, Time since, bool in_user_mode) override;
    bool watches_spinning() const override { return true; }

protected:
    virtual Time patience(const Entity &e) = 0;
    virtual bool cares(bool in_user_mode) const { return !in_user_mode; }
    virtual void spun(Entity &e) = 0; // for that long, without a pause

private:
    struct Loop {
        Entity *spins = nullptr;
        std::unique_ptr<Timer> over;
    };
    std::vector<Loop> loops_; // by CPU
};

} // namespace ol::simulator
#endif
