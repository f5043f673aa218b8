// SPDX-License-Identifier: MIT
#ifndef OL_ENGINE_SUBJECTS_H
#define OL_ENGINE_SUBJECTS_H
// The locks of locks.def in the sim world, or those of another list (OL_SUBJECTS), by name.
#include <overlock/ops.h>

#include <string>

namespace ol::engine {

extern const ol_lock_ops *const subjects[];               // ended by a null pointer
const ol_lock_ops *find_subject(const std::string &name); // null if there is none

} // namespace ol::engine
#endif
