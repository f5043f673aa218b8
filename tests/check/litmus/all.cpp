// SPDX-License-Identifier: MIT
#include "tests.h"

#include <filesystem>
#include <stdexcept>

namespace ol::litmus {

std::vector<Litmus> all_tests() {
    std::vector<Litmus> all = platform_tests();
    std::set<std::string> files;

    for (auto &entry : std::filesystem::recursive_directory_iterator(OL_LITMUS_FILES))
        if (entry.path().extension() == ".litmus")
            files.insert(entry.path());
    for (const std::string &file : files) {
        all.push_back(read_file(file));
        if (!all.back().has_verdicts || all.back().source.empty())
            throw std::invalid_argument(file + ": expected verdicts and their source");
    }
    return all;
}

} // namespace ol::litmus
