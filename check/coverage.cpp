// SPDX-License-Identifier: MIT
#include "coverage.h"

#include <dlfcn.h>
#include <link.h>
#include <stdexcept>

namespace ol::check {

namespace {

// The code of interest. Plain variables: they are read at every basic block.
uintptr_t begin;
size_t size;
uint8_t *seen;

// Constructors of a shared object run before anybody can know where it is.
constexpr size_t most_early = 1024;
constexpr unsigned blocks_between_looks = 1 << 22; // some ms
uintptr_t early[most_early];
size_t early_count;

void (*look)(uintptr_t pc);
unsigned until_look;

struct Code {
    uintptr_t loaded_at, begin = UINTPTR_MAX, end = 0;
};

Code code_of(void *shared_object) {
    link_map *map = nullptr;
    void *object = shared_object ? shared_object : dlopen(nullptr, RTLD_NOW);

    if (!object || dlinfo(object, RTLD_DI_LINKMAP, &map))
        throw std::runtime_error(dlerror());
    Code code{map->l_addr};
    auto look = [](dl_phdr_info *info, size_t, void *arg) {
        auto &found = *static_cast<Code *>(arg);
        if (info->dlpi_addr != found.loaded_at)
            return 0;
        for (size_t i = 0; i < info->dlpi_phnum; i++) {
            const auto &p = info->dlpi_phdr[i];
            if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
                continue;
            found.begin = std::min<uintptr_t>(found.begin, found.loaded_at + p.p_vaddr);
            found.end = std::max<uintptr_t>(found.end, found.loaded_at + p.p_vaddr + p.p_memsz);
        }
        return 1;
    };
    dl_iterate_phdr(look, &code);
    return code;
}

} // namespace

Coverage::Coverage(void *shared_object) {
    Code code = code_of(shared_object);

    loaded_at_ = code.loaded_at;
    seen_.resize(code.end > code.begin ? code.end - code.begin : 0);
    for (size_t i = 0; i < early_count; i++)
        if (early[i] - code.begin < seen_.size())
            seen_[early[i] - code.begin] = 1;
    begin = code.begin;
    seen = seen_.data();
    size = seen_.size();
}

Coverage::~Coverage() {
    size = 0;
    early_count = most_early; // what runs from now on is of no interest
}

void watch_code(void (*function)(uintptr_t pc)) {
    look = function;
}

std::vector<uintptr_t> Coverage::reached() const {
    std::vector<uintptr_t> found;

    for (size_t i = 0; i < seen_.size(); i++)
        if (seen_[i])
            found.push_back(begin + i - loaded_at_);
    return found;
}

} // namespace ol::check

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void __sanitizer_cov_trace_pc() {
    using namespace ol::check;
    uintptr_t at = reinterpret_cast<uintptr_t>(__builtin_return_address(0));

    if (at - begin < size)
        seen[at - begin] = 1;
    else if (!size && early_count < most_early)
        early[early_count++] = at;
    if (look && ++until_look % blocks_between_looks == 0)
        look(at);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
