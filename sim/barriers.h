// SPDX-License-Identifier: MIT
#ifndef OL_SIM_BARRIERS_H
#define OL_SIM_BARRIERS_H
#include <overlock/ops.h>

#include <string>

namespace ol::simulator {

const ol_lock_ops *find_barrier(const std::string &name); // of workload/barriers.def, or null
bool is_barrier(const ol_lock_ops &subject);

} // namespace ol::simulator
#endif
