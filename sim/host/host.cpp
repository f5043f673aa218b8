// SPDX-License-Identifier: MIT
#include "host.h"

namespace ol::simulator
{

std::unique_ptr<Policy> make_policy(const std::string &name, Level &level,
				    const HostSettings &settings)
{
#define HOST(id, what)                                                                             \
    if (name == #id)                                                                               \
        return make_##id(level, settings);
#define SETTING(...)
#include "../hosts.def"
#undef SETTING
#undef HOST
	return nullptr;
}

} // namespace ol::simulator
