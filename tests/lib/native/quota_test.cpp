// SPDX-License-Identifier: MIT
// Every lock under a CPU quota: the kernel takes all CPUs from the holder for tens of ms.
#include "support.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace overlock_test;
namespace fs = std::filesystem;

namespace {

bool write(const fs::path &file, const std::string &text) {
    std::ofstream out(file);
    out << text << std::flush;
    return out.good();
}

// A group of its own that gets 30 ms of CPU in every 100 ms; removed with its members' end.
class Quota {
public:
    Quota() {
        const fs::path v1 = "/sys/fs/cgroup/cpu", v2 = "/sys/fs/cgroup";
        const std::string name = "overlock-test-" + std::to_string(getpid());
        if (fs::exists(v1 / "cpu.cfs_quota_us"))
            ready = make(v1 / name) && write(dir / "cpu.cfs_period_us", "100000") &&
                    write(dir / "cpu.cfs_quota_us", "30000");
        else if (fs::exists(v2 / "cgroup.controllers"))
            ready = make(v2 / name) && write(dir / "cpu.max", "30000 100000");
        if (ready)
            return;
        reason = "cannot set a CPU quota here (no cgroup cpu controller, or not permitted)";
    }
    ~Quota() {
        std::error_code ignored;
        if (!dir.empty())
            fs::remove(dir, ignored);
    }
    bool join() const { return write(dir / "cgroup.procs", std::to_string(getpid())); }

    // How often the kernel has stopped the group.
    long throttled() const {
        std::ifstream stat(dir / "cpu.stat");
        for (std::string key, value; stat >> key >> value;)
            if (key == "nr_throttled")
                return std::stol(value);
        return 0;
    }

    bool ready = false;
    std::string reason;

private:
    bool make(const fs::path &path) {
        std::error_code error;
        if (!fs::create_directory(path, error))
            return false;
        dir = path;
        return true;
    }

    fs::path dir;
};

class Throttled : public EveryLock {};

TEST_P(Throttled, ExcludesAndMakesProgress) {
    const Quota quota;
    if (!quota.ready)
        GTEST_SKIP() << quota.reason;
    const pid_t child = fork();
    if (!child) {
        if (!quota.join())
            _exit(9);
        uint64_t acquired = 0;
        while (!quota.throttled() || acquired < 100)
            acquired += contend(4, lock, ledger, by_lock);
        _exit(ledger.whole() && ledger.total() == acquired ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 9)
        GTEST_SKIP() << "not permitted to join the group";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Throttled, all_locks(), lock_name);

} // namespace
