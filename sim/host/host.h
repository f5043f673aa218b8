// SPDX-License-Identifier: MIT
#ifndef OL_SIM_HOST_HOST_H
#define OL_SIM_HOST_HOST_H
// Schedulers by name.
#include "../schedule.h"

namespace ol::simulator
{

struct HostSettings {
#define us_(n) (n * us)
#define n_(n) n
#define HOST(name, what)
#define SETTING(host, name, unit, preset, source, what) Time host##_##name = unit##_(preset);
#include "../hosts.def"
#undef SETTING
#undef HOST
#undef n_
#undef us_
};

#define HOST(name, what)                                                                           \
    std::unique_ptr<Policy> make_##name(Level &level, const HostSettings &settings);
#define SETTING(...)
#include "../hosts.def"
#undef SETTING
#undef HOST

// Null: there is none of that name.
std::unique_ptr<Policy> make_policy(const std::string &name, Level &level,
				    const HostSettings &settings);

} // namespace ol::simulator
#endif
