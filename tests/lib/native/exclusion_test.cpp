// SPDX-License-Identifier: MIT
// Every lock excludes, at every degree of overcommit, through the wrap of its tickets.
#include "support.hpp"

#include <broken.h>

#include <span>

using namespace overlock_test;

namespace {

// A FIFO lock at 64 threads on two CPUs takes seconds to drain: once is enough.
#ifdef OL_COUNTED
constexpr unsigned few[] = {2, 8}, many[] = {32};
#else
constexpr unsigned few[] = {1, 2, 4}, many[] = {12, 64};
#endif

void loses_no_update(Lock &lock, std::span<const unsigned> degrees) {
    lock.age();
    for (const unsigned threads : degrees) {
        Ledger fresh;
        const uint64_t acquired = contend(threads, lock, fresh, by_lock);
        EXPECT_TRUE(fresh.whole()) << threads << " threads";
        EXPECT_EQ(fresh.total(), acquired) << threads << " threads";
        EXPECT_GE(acquired, threads);
        EXPECT_FALSE(lock.is_locked());
        EXPECT_FALSE(lock.is_contended());
    }
}

// The quick suite leaves the larger numbers out, with which FIFO locks take long.
TEST_P(EveryLock, LosesNoUpdateAtFewThreads) { loses_no_update(lock, few); }
TEST_P(EveryLock, LosesNoUpdateAtAnyNumberOfThreads) { loses_no_update(lock, many); }

TEST_P(EveryLock, ExcludesTrylocksAmongLocks) {
    lock.age();
    std::atomic<unsigned> turn = 0;
    const uint64_t acquired = contend(8, lock, ledger, [&](Lock &l) {
        return turn.fetch_add(1, std::memory_order_relaxed) % 2 ? by_lock(l) : by_trylock(l);
    });
    EXPECT_TRUE(ledger.whole());
    EXPECT_EQ(ledger.total(), acquired);
}

// Some of these grants are the last of a 16-bit count, some the first of the next.
TEST_P(EveryLock, WrapsUnderContention) {
    lock.age();
    uint64_t acquired = 0;
    while (acquired < 64)
        acquired += contend(3, lock, ledger, by_lock);
    EXPECT_TRUE(ledger.whole());
    EXPECT_EQ(ledger.total(), acquired);
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
}

INSTANTIATE_TEST_SUITE_P(All, EveryLock, all_locks(), lock_name);

// The mutant: the same scene must notice a lock that does not exclude.
TEST(Mutant, WithoutExclusionIsNoticed) {
    Lock lock(&ol_ops_absent);
    Ledger ledger;
    uint64_t acquired = 0;
    while (ledger.whole() && ledger.total() == acquired)
        acquired += contend(8, lock, ledger, by_lock);
    SUCCEED();
}

#if defined(OL_TSAN)
// Run by the sanitizers' suite, which expects a report: nothing else shows on a strongly ordered
// machine.
TEST(DISABLED_Mutant, RelaxedReleaseIsARace) {
    Lock lock(&ol_ops_relaxed);
    Ledger ledger;
    contend(4, lock, ledger, by_lock);
}
#endif

} // namespace
