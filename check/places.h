// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_PLACES_H
#define OL_CHECK_PLACES_H
// Which line of its source an instruction of a loaded shared object comes from: addr2line is asked,
// once for each.
#include <check/engine/world.h>

#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

namespace ol::check {

// The folders whose lines are the user's own: of all calls that are inlined into one another, the
// innermost of those is shown.
void prefer_places(const std::vector<std::string> &folders);

class Places {
public:
    Places(const std::string &object, uintptr_t loaded_at);
    ~Places();
    Places(const Places &) = delete;
    Places &operator=(const Places &) = delete;

    engine::Place of(const void *returns_to);

private:
    engine::Place ask(uintptr_t address);

    const uintptr_t loaded_at_;
    pid_t child_ = -1;
    FILE *questions_ = nullptr, *answers_ = nullptr;
    std::set<std::string> files_; // whose names places point to
    std::unordered_map<const void *, engine::Place> known_;
};

} // namespace ol::check
#endif
