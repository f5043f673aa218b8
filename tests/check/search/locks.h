// SPDX-License-Identifier: MIT
#ifndef OL_SEARCH_LOCKS_H
#define OL_SEARCH_LOCKS_H
// Every lock in every scenario of the checker, small enough to be enumerated.
#include "program.h"

#include <check/client.h>

namespace ol::search {

class LockCase {
public:
    LockCase(check::Model model, const ol_lock_ops &ops, check::Scenario scenario);
    std::string name() const;
    Found explore(check::SearchKind search, uint64_t executions);

private:
    std::string outcome(const check::Program &program);

    const ol_lock_ops &lock_, ops_; // as it is; telling what it does
    const check::Scenario scenario_;
    check::World world_;
    check::Client client_;
};

void for_each_case(check::Model model, const std::function<void(LockCase &)> &use);

} // namespace ol::search
#endif
