// SPDX-License-Identifier: MIT
#ifndef OL_CHRONO_HPP
#define OL_CHRONO_HPP
/* The standard's times as the platform layer's. */
#include <overlock/ops.h>

#include <chrono>

namespace overlock::detail
{
/* Rounded up: never gives up early. Beyond what 64 bits of ns hold there is no deadline. */
template <class Rep, class Period>
inline ol_ticks_t from_now(const std::chrono::duration<Rep, Period> &d)
{
	using namespace std::chrono;
	using longest = duration<double>;

	if (d <= d.zero())
		return ol_now();
	if (duration_cast<longest>(d) >= duration_cast<longest>(nanoseconds::max()))
		return OL_NEVER;
	return ol_after(1, ol_ticks_from_ns(static_cast<uint64_t>(ceil<nanoseconds>(d).count())));
}
} // namespace overlock::detail
#endif
