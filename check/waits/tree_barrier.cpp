// SPDX-License-Identifier: MIT
#include "rounds.h"

#define OL_TREE_BARRIER_FAN 2u
#include <overlock/wait/tree_barrier.h>

namespace ol::check {
namespace {

class Tree : public Rounds {
public:
    using Rounds::Rounds;
    using Nodes = std::array<ol_tree_barrier_t, OL_TREE_BARRIER_NODES(8)>;

protected:
    bool meet(size_t, size_t, uint64_t) override {
        return ol_tree_barrier_wait(object<Nodes>()->data(), n());
    }
};

} // namespace

OL_WAIT_SUBJECT(tree_barrier, sizeof(Tree::Nodes),
                scenario<Tree>("rounds",
                               "all meet again and again, and read what the others wrote"));

} // namespace ol::check
