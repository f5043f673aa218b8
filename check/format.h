// SPDX-License-Identifier: MIT
#ifndef OL_CHECK_FORMAT_H
#define OL_CHECK_FORMAT_H
// Numbers and file names as people read them.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace ol::check {

inline const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

inline std::string hex(uint64_t v) {
    char s[32];
    snprintf(s, sizeof s, "0x%llx", static_cast<unsigned long long>(v));
    return s;
}

} // namespace ol::check
#endif
