// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_WAITS_CLIENT_H
#define OL_CHECK_WAITS_CLIENT_H
// What the contexts of a scenario do with a way of waiting that is no lock.
#include "stage.h"

#include <string>

namespace ol::check {

const WaitSubject *find_wait(const std::string &name);
std::span<const WaitSubject *const> waits(); // of waits.def

class WaitClient {
public:
    WaitClient(World &world, const WaitSubject &subject, const WaitScenario &scenario,
               size_t contexts, unsigned rounds)
        : world_(world),
          subject_(subject),
          scenario_(scenario),
          contexts_(contexts),
          rounds_(rounds) {}

    Program program();

private:
    void set_up(Memory &memory);

    World &world_;
    const WaitSubject &subject_;
    const WaitScenario &scenario_;
    const size_t contexts_;
    const unsigned rounds_;
    std::unique_ptr<Stage> stage_; // of this execution
};

} // namespace ol::check
#endif
