// SPDX-License-Identifier: MIT
// Ids and nodes: shortage, churn, signal handlers, fork.
#include "support.hpp"

#include <mutex>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace overlock_test;

namespace {

// While it lives there are no more than so many ids.
struct FewIds {
    explicit FewIds(uint32_t ids) { ol_test_limits(ids, no_limit); }
    ~FewIds() { ol_test_limits(OL_ID_MAX, no_limit); }
};

uint32_t ids_out() {
    uint32_t ids, nodes;
    ol_test_usage(&ids, &nodes);
    return ids;
}

uint32_t nodes_made() {
    uint32_t ids, nodes;
    ol_test_usage(&ids, &nodes);
    return nodes;
}

// Who has no id loops on trylock instead of taking a ticket that might alias another's.
TEST_P(EveryLock, ExcludesWhenIdsRunOut) {
    const FewIds few(3);
    lock.age();
    const uint64_t acquired = contend(16, lock, ledger, by_lock);
    EXPECT_TRUE(ledger.whole());
    EXPECT_EQ(ledger.total(), acquired);
    EXPECT_FALSE(lock.is_locked());
}

TEST_P(EveryLock, ExcludesWhenNodesRunOut) {
    for (unsigned left : {0u, 2u}) {
        const FewNodes few(left);
        Ledger fresh;
        const uint64_t acquired = contend(16, lock, fresh, by_lock);
        EXPECT_TRUE(fresh.whole());
        EXPECT_EQ(fresh.total(), acquired);
        EXPECT_FALSE(lock.is_locked());
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryLock, all_locks(), lock_name);

TEST(Ids, AreUniqueAmongTheLiving) {
    std::mutex guard;
    std::set<uint32_t> seen;
    std::atomic<unsigned> asked = 0;
    together(64, [&](unsigned) {
        const uint32_t id = ol_self();
        EXPECT_EQ(ol_self(), id);
        EXPECT_GE(id, 1u);
        EXPECT_LE(id, OL_ID_MAX);
        {
            const std::lock_guard hold(guard);
            EXPECT_TRUE(seen.insert(id).second) << id;
        }
        asked++;
        eventually([&] { return asked == 64; }); // nobody leaves before all have theirs
    });
}

TEST(Ids, AreZeroWhenThereAreNoMore) {
    ol_self();
    const FewIds few(ids_out() + 1);
    std::thread([] {
        EXPECT_NE(ol_self(), 0u);
        std::thread([] { EXPECT_EQ(ol_self(), 0u); }).join();
    }).join();
    std::thread([] { EXPECT_NE(ol_self(), 0u) << "the one given back"; }).join();
}

TEST(Ids, AndNodesAreRecycledAsThreadsComeAndGo) {
    const uint32_t ids = ids_out();
    uint32_t most_nodes = 0;
    for (unsigned made = 0; made < 17000; made += 17) {
        together(17, [](unsigned) {
            EXPECT_NE(ol_self(), 0u);
            ol_node *node = ol_node_get();
            ASSERT_NE(node, nullptr);
            ol_node_put(node);
        });
        if (made == 0)
            most_nodes = nodes_made() + 17;
    }
    EXPECT_EQ(ids_out(), ids);
    EXPECT_LE(nodes_made(), most_nodes);
}

// A destructor that runs after the library's own must find an id, or none, but leak nothing.
TEST(Ids, OutliveOtherDestructors) {
    static pthread_key_t late;
    static std::atomic<unsigned> ran;
    static std::atomic<uint32_t> first_id;
    ran = 0;
    ASSERT_EQ(pthread_key_create(&late,
                                 [](void *) {
                                     const uint32_t id = ol_self();
                                     if (!ran)
                                         first_id = id;
                                     ol_node_put(ol_node_get());
                                     if (++ran < 8) // again, until the implementation tires
                                         pthread_setspecific(late, &ran);
                                 }),
              0);
    const uint32_t ids = ids_out();
    std::thread([] {
        ol_self();
        pthread_setspecific(late, &ran);
    }).join();
    EXPECT_GE(ran, 4u);
    EXPECT_NE(first_id, 0u);
    EXPECT_EQ(ids_out(), ids);
    pthread_key_delete(late);
}

TEST(Nodes, AreDistinctAndNamed) {
    std::set<ol_node *> nodes;
    for (int i = 0; i < 1000; i++) {
        ol_node *node = ol_node_get();
        ASSERT_NE(node, nullptr);
        EXPECT_TRUE(nodes.insert(node).second);
        ASSERT_NE(ol_node_number(node), 0u);
        EXPECT_EQ(ol_node_at(ol_node_number(node)), node);
    }
    for (ol_node *node : nodes)
        ol_node_put(node);
    const uint32_t made = nodes_made();
    for (int i = 0; i < 1000; i++) {
        ol_node *node = ol_node_get();
        EXPECT_EQ(nodes.erase(node), 1u) << "a node nobody gave back";
    }
    EXPECT_EQ(nodes_made(), made);
}

TEST(Nodes, AreNullWhenThereAreNoMore) {
    {
        const FewNodes few(1);
        ol_node *last = ol_node_get();
        ASSERT_NE(last, nullptr);
        EXPECT_EQ(ol_node_get(), nullptr);
        ol_node_put(last);
        EXPECT_EQ(ol_node_get(), last);
        ol_node_put(last);
    }
    ol_node *fresh = ol_node_get();
    ASSERT_NE(fresh, nullptr);
    ol_node_put(fresh);
}

TEST(Nodes, HaveNoNameBeyondTheMost) {
    std::vector<ol_node *> nodes;
    do
        nodes.push_back(ol_node_get());
    while (nodes.back() && ol_node_number(nodes.back()));
    EXPECT_EQ(ol_named_node_get(), nullptr);
    ol_node_put(nodes.front());
    EXPECT_EQ(ol_named_node_get(), nodes.front());
    for (; !nodes.empty(); nodes.pop_back()) // so that those with names are on top again
        ol_node_put(nodes.back());
    EXPECT_NE(ol_node_at(0), nullptr);
    EXPECT_NE(ol_node_at(UINT32_MAX), nullptr);
}

// Signal handlers, at instants nobody chose.

thread_local unsigned handled; // signals
std::atomic<bool> corrupt;

// Marks a node as ours; whoever else has it will notice, or we will.
void mark(ol_node *node, void *owner) { node->next = static_cast<ol_node *>(owner); }

void use_nodes(int) {
    ol_node *a = ol_node_get(), *b = ol_node_get();
    if (!a || !b || a == b) {
        corrupt = true;
        return;
    }
    mark(a, &a);
    mark(b, &b);
    if (handled++ % 2)
        std::swap(a, b);
    void *const owner = b->next;
    ol_node_put(a);
    if (b->next != owner || !ol_self())
        corrupt = true;
    ol_node_put(b);
}

TEST(Signals, MayTakeNodesAndIdsAtAnyInstant) {
    corrupt = false;
    together(3, [](unsigned) {
        const Struck storm(use_nodes);
        while (handled < 5000 && !corrupt) {
            ol_node *a = ol_node_get(), *b = ol_node_get();
            if (!a || !b || a == b) {
                corrupt = true;
                break;
            }
            mark(a, &a);
            mark(b, &b);
            if (a->next != static_cast<void *>(&a) || b->next != static_cast<void *>(&b))
                corrupt = true;
            ol_node_put(a);
            if (b->next != static_cast<void *>(&b))
                corrupt = true;
            ol_node_put(b);
        }
    });
    EXPECT_FALSE(corrupt);
}

Lock *tried;
Ledger *tried_ledger;
thread_local uint64_t struck, taken_in_handler;

void try_in_handler(int) {
    struck++;
    if (!tried->try_lock())
        return;
    tried_ledger->update();
    tried->unlock();
    taken_in_handler++;
}

class InHandler : public EveryLock {};

// The handler may find its own thread holding the lock, waiting for it, or half-way in or out.
TEST_P(InHandler, TrylockAndUnlockWork) {
    std::atomic<uint64_t> taken = 0;
    tried = &lock;
    tried_ledger = &ledger;
    together(3, [&](unsigned) {
        uint64_t mine = 0;
        {
            const Struck storm(try_in_handler);
            while (struck < 300) {
                lock.lock();
                ledger.update();
                lock.unlock();
                mine++;
            }
        }
        taken += mine + taken_in_handler;
    });
    EXPECT_TRUE(ledger.whole());
    EXPECT_EQ(ledger.total(), taken);
    EXPECT_FALSE(lock.is_locked());
}

INSTANTIATE_TEST_SUITE_P(All, InHandler, all_locks(), lock_name);

// Fork: in the child the parent's waiters are ghosts.

class Forked : public EveryLock {};

int in_child(Lock &lock, uint32_t parent_id) {
    lock.clear(); // what the docs ask of a child: initialise again
    Ledger ledger;
    if (ids_out() != 0)
        return 1; // not renewed
    if (ol_self() != 1 || parent_id == 0)
        return 2;
    lock.age();
    const uint64_t acquired = contend(4, lock, ledger, by_lock);
    return ledger.whole() && ledger.total() == acquired && !lock.is_locked() ? 0 : 3;
}

TEST_P(Forked, ChildStartsAfreshUnderContention) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&] {
            while (!stop) {
                lock.lock();
                ledger.update();
                lock.unlock();
            }
        });
    for (int n = 0; n < 3; n++) {
        const uint32_t id = ol_self();
        const pid_t child = fork();
        if (!child)
            _exit(in_child(lock, id));
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 0);
        EXPECT_EQ(ol_self(), id) << "the parent's stays";
    }
    stop = true;
    for (auto &t : threads)
        t.join();
    EXPECT_TRUE(ledger.whole());
}

// A node from before the fork must not come back under a number that means another one now.
TEST(Forked, ChildDoesNotReuseTheParentsNodes) {
    ol_node *held = ol_node_get();
    const pid_t child = fork();
    if (!child) {
        ol_node *fresh = ol_node_get();
        ol_node_put(fresh); // into the cache
        ol_node_put(held);  // to the pool, were it one of ours
        std::set<ol_node *> seen;
        for (int i = 0; i < 100; i++)
            if (!seen.insert(ol_node_get()).second)
                _exit(1);
        _exit(seen.count(held) ? 2 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    ol_node_put(held);
}

INSTANTIATE_TEST_SUITE_P(All, Forked, all_locks(), lock_name);

} // namespace
