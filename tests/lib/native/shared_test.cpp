// SPDX-License-Identifier: MIT
// Locks that readers may share, as C++ has them: readers overlap, a writer is alone.
#include "support.hpp"

#include <overlock/overlock.hpp>

#include <mutex>
#include <shared_mutex>

using namespace overlock_test;

namespace {

// Calls `scene` with a lock of each class that is SharedLockable.
void each_shared(auto scene) {
    unsigned met = 0;
    auto meet = [&]<class L>(const char *id) {
        if constexpr (overlock::shared_lockable<L>) {
            const testing::ScopedTrace which(__FILE__, __LINE__, id);
            L lock;
            scene(lock);
            met++;
        }
    };
#define OL_LOCK(id, ...) meet.template operator()<overlock::id>(#id);
#include <overlock/locks.def>
#undef OL_LOCK
    EXPECT_GT(met, 0u);
}

bool tried_elsewhere(auto attempt) {
    bool got = false;
    std::thread([&] { got = attempt(); }).join();
    return got;
}

// May another thread come in beside one that is there? Whoever came leaves again.
bool reader_beside(auto &lock) {
    return tried_elsewhere([&] { return std::shared_lock(lock, std::try_to_lock).owns_lock(); });
}
bool writer_beside(auto &lock) {
    return tried_elsewhere([&] { return std::unique_lock(lock, std::try_to_lock).owns_lock(); });
}

// Empty if readers share the lock and writers do not.
std::string shares_with_readers_only(auto &lock) {
    {
        const std::shared_lock reader(lock);
        if (!reader_beside(lock))
            return "a reader keeps a reader out";
        if (writer_beside(lock))
            return "a reader lets a writer in";
    }
    if (!writer_beside(lock))
        return "a reader that is gone keeps a writer out";
    const std::unique_lock writer(lock);
    if (reader_beside(lock) || writer_beside(lock))
        return "a writer is not alone";
    return "";
}

TEST(Shared, WithReadersOnly) {
    each_shared([](auto &lock) {
        EXPECT_EQ(shares_with_readers_only(lock), "");
        EXPECT_FALSE(lock.is_locked());
    });
}

// Each waits inside for all the others.
TEST(Shared, ByAllReadersAtOnce) {
    each_shared([](auto &lock) {
        constexpr unsigned readers = 4;
        std::atomic<unsigned> inside = 0;
        together(readers, [&](unsigned) {
            const std::shared_lock reader(lock);
            inside++;
            eventually([&] { return inside == readers; });
        });
        EXPECT_FALSE(lock.is_locked());
    });
}

// A reader in the middle of an update would see a mixed pair.
struct Mixed {
    Ledger ledger;
    std::atomic<uint64_t> updates = 0, reads = 0, torn = 0;
    bool whole() const { return !torn && ledger.whole() && ledger.total() == updates; }
};

void mix(auto &lock, Mixed &mixed) {
    std::atomic<bool> stop = false;
    std::thread clock([&] {
        std::this_thread::sleep_for(scene);
        stop = true;
    });
    together(6, [&](unsigned me) {
        do {
            if (me % 3 == 0) {
                const std::lock_guard writer(lock);
                mixed.ledger.update();
                mixed.updates++;
            } else {
                const std::shared_lock reader(lock);
                mixed.torn += !mixed.ledger.whole();
                mixed.reads++;
            }
        } while (!stop);
    });
    clock.join();
}

TEST(Shared, ReadersSeeNoUpdateHalfDone) {
    each_shared([](auto &lock) {
        Mixed mixed;
        mix(lock, mixed);
        EXPECT_TRUE(mixed.whole());
        EXPECT_GT(mixed.updates, 0u);
        EXPECT_GT(mixed.reads, 0u);
        EXPECT_FALSE(lock.is_locked());
        EXPECT_FALSE(lock.is_contended());
    });
}

// The mutants: what is wrong with one's readers, the scenes must notice.
struct Alone : overlock::ttas {
    void lock_shared() { lock(); }
    bool try_lock_shared() { return try_lock(); }
    void unlock_shared() { unlock(); }
};
struct Open : overlock::ttas {
    void lock_shared() {}
    bool try_lock_shared() { return true; }
    void unlock_shared() {}
};
struct Stays : overlock::qrw {
    void unlock_shared() {}
};
static_assert(overlock::shared_lockable<Alone> && overlock::shared_lockable<Open>);

TEST(Mutant, ReadersThatShareNothingAreNoticed) {
    Alone lock;
    EXPECT_EQ(shares_with_readers_only(lock), "a reader keeps a reader out");
}

TEST(Mutant, ReadersThatKeepNobodyOutAreNoticed) {
    Open lock;
    EXPECT_EQ(shares_with_readers_only(lock), "a reader lets a writer in");
    Mixed mixed;
    while (mixed.whole())
        mix(lock, mixed);
}

TEST(Mutant, ReadersThatStayAreNoticed) {
    Stays lock;
    EXPECT_EQ(shares_with_readers_only(lock), "a reader that is gone keeps a writer out");
}

} // namespace
