// SPDX-License-Identifier: MIT
#include "host.h"

namespace ol::simulator {

namespace {

std::unique_ptr<Policy> make_scheduler(const std::string &name, Level &level,
                                       const HostSettings &settings) {
#define HOST(id, what)                                                                             \
    if (name == #id)                                                                               \
        return make_##id(level, settings);
#define SETTING(...)
#include "../hosts.def"
#undef HOST
    return nullptr;
}

} // namespace

std::unique_ptr<Policy> make_policy(const std::string &name, Level &level,
                                    const HostSettings &settings, const Features &features) {
    auto policy = make_scheduler(name, level, settings);

#define FEATURE(id, what)                                                                          \
    if (policy && features.id)                                                                     \
        policy = make_##id(level, features, std::move(policy));
#include "../features.def"
#undef SETTING
#undef FEATURE
    return policy;
}

} // namespace ol::simulator
