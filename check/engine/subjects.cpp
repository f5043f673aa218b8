// SPDX-License-Identifier: MIT
#include "subjects.h"

#define OL_LOCK(id, ...) extern const ol_lock_ops ol_sim_##id;
#include OL_SUBJECTS
#undef OL_LOCK

namespace ol::engine {

const ol_lock_ops *const subjects[] = {
#define OL_LOCK(id, ...) &ol_sim_##id,
#include OL_SUBJECTS
#undef OL_LOCK
    nullptr,
};

const ol_lock_ops *find_subject(const std::string &name) {
    for (auto *s = subjects; *s; s++)
        if (name == (*s)->id)
            return *s;
    return nullptr;
}

} // namespace ol::engine

// Of programs that do not ask which blocks were executed; check/coverage.cpp has another.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" [[gnu::weak]] void __sanitizer_cov_trace_pc() {}
