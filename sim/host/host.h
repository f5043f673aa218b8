// SPDX-License-Identifier: MIT
#ifndef OL_SIM_HOST_HOST_H
#define OL_SIM_HOST_HOST_H
// Schedulers and features by name.
#include "../schedule.h"

#include <stdexcept>

namespace ol::simulator {

struct BadScenario : std::runtime_error {
    using std::runtime_error::runtime_error;
};

#define us_(n) (n * us)
#define ns_(n) (n * ns)
#define n_(n) n
struct HostSettings {
#define HOST(name, what)
#define SETTING(host, name, unit, preset, source, what) Time host##_##name = unit##_(preset);
#include "../hosts.def"
#undef SETTING
#undef HOST
};

struct Features {
#define FEATURE(name, what) bool name = false;
#define SETTING(feature, name, unit, preset, source, what) Time feature##_##name = unit##_(preset);
#include "../features.def"
#undef SETTING
#undef FEATURE
};
#undef n_
#undef ns_
#undef us_

#define HOST(name, what)                                                                           \
    std::unique_ptr<Policy> make_##name(Level &level, const HostSettings &settings);
#define SETTING(...)
#include "../hosts.def"
#undef HOST

#define FEATURE(name, what)                                                                        \
    std::unique_ptr<Policy> make_##name(Level &level, const Features &settings,                    \
                                        std::unique_ptr<Policy> base);
#include "../features.def"
#undef SETTING
#undef FEATURE

// Null: there is none of that name.
std::unique_ptr<Policy> make_policy(const std::string &name, Level &level,
                                    const HostSettings &settings, const Features &features = {});

} // namespace ol::simulator
#endif
