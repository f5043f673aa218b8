/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PORT_SIM_H
#define OL_PORT_SIM_H
/*
 * The platform layer in a simulated or checked world: every operation is a call to the engine, with
 * the object, the width, the memory order and the source line. Compile as C++20 with -DOL_PORT_SIM.
 *
 * Ids, nodes, tuning and the waiting array hang from the world of the current execution.
 */
#if !defined(__cplusplus)
#error "overlock: the sim port is C++20: compile this lock as C++"
#endif
#include <stddef.h>
#include <stdint.h>
#include <type_traits>

#include <check/engine/world.h>
#include <overlock/port/lists.h>

typedef uint64_t ol_ticks_t;

#define OL_NEVER	UINT64_MAX
#define OL_PAST		0u
#define OL_ANY		(~0u)
#define OL_SLOTS(n)	2

#define OL_UNLIKELY(x)	(x)
#define OL_COLD		__attribute__((unused))
#define OL_OWN_LINE	__attribute__((aligned(128)))
#define OL_INLINE	static inline __attribute__((unused))

#define OL_CAPABILITY
#define OL_ACQUIRES(...)
#define OL_RELEASES(...)
#define OL_TRY_ACQUIRES(...)

#include <overlock/port/node.h>

#define OL_PLACE	(::ol::engine::Place{ __FILE__, __LINE__ })

/* A program with one kind of world names the header that has it, and calls it directly. */
#ifdef OL_ONE_WORLD
#include OL_ONE_WORLD
#else
#define OL_WORLD	(::ol::engine::current())
#endif

/* Atomics. */

namespace ol::sim
{
using engine::Op;
using engine::Order;
using engine::Place;

template <class T> uint64_t bits(T v)
{
	if constexpr (std::is_pointer_v<T>)
		return reinterpret_cast<uintptr_t>(v);
	else
		return v;
}

template <class T> T value(uint64_t bits)
{
	if constexpr (std::is_pointer_v<T>)
		return reinterpret_cast<T>(static_cast<uintptr_t>(bits));
	else
		return static_cast<T>(bits);
}

template <class T> using same = std::type_identity_t<T>;
template <class T> using bare = std::remove_const_t<T>;

/*
 * `offset`: the access is to two bytes of the word at `p`. The operation is known when this is
 * compiled, as is the world's answer to it where calls are direct.
 */
template <Op op, class T, class W, class P>
T access(W &world, P *p, unsigned offset, Order order, T v, T expected, Place place)
{
	void *object = const_cast<bare<P> *>(p);

	return value<T>(world.access({ object, static_cast<uint8_t>(offset), sizeof(T), op, order,
				       bits(v), bits(expected), place }));
}

template <class W, class T> bare<T> load(W &world, T *p, Order order, Place place)
{
	return access<Op::load, bare<T>>(world, p, 0, order, {}, {}, place);
}

template <Op op, class W, class T> T change(W &world, T *p, Order order, same<T> v, Place place)
{
	return access<op, T>(world, p, 0, order, v, {}, place);
}

template <class W, class T>
bool cas(W &world, T *p, Order order, same<T> old, same<T> v, Place place)
{
	return access<Op::cas, T>(world, p, 0, order, v, old, place) == old;
}

inline constexpr unsigned low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 2, high = 2 - low;

template <Op op, class W>
uint16_t half(W &world, const uint32_t *p, unsigned offset, Order order, uint16_t v, Place place)
{
	return access<op, uint16_t>(world, p, offset, order, v, {}, place);
}

template <class W>
bool half_cas(W &world, uint32_t *p, unsigned offset, Order order, uint16_t old, uint16_t v,
	      Place place)
{
	return access<Op::cas, uint16_t>(world, p, offset, order, v, old, place) == old;
}

inline constexpr unsigned lowest = low ? 3 : 0;

template <class W> void store_byte(W &world, uint32_t *p, Order order, uint8_t v, Place place)
{
	access<Op::store, uint8_t>(world, p, lowest, order, v, {}, place);
}
} // namespace ol::sim

#define OL_ORDER(o)		(::ol::engine::Order::o)
#define OL_CHANGE(p, op, o, v)								\
	::ol::sim::change<::ol::engine::Op::op>(OL_WORLD, p, OL_ORDER(o), v, OL_PLACE)
#define OL_CAS(p, o, old, v)	::ol::sim::cas(OL_WORLD, p, OL_ORDER(o), old, v, OL_PLACE)
#define OL_HALF(p, half_, op, o, v)							\
	::ol::sim::half<::ol::engine::Op::op>(OL_WORLD, p, ::ol::sim::half_, OL_ORDER(o), v,	\
					      OL_PLACE)
#define OL_HALF_CAS(p, half_, o, old, v)						\
	::ol::sim::half_cas(OL_WORLD, p, ::ol::sim::half_, OL_ORDER(o), old, v, OL_PLACE)

#define ol_load_relaxed(p)		::ol::sim::load(OL_WORLD, p, OL_ORDER(relaxed), OL_PLACE)
#define ol_load_acquire(p)		::ol::sim::load(OL_WORLD, p, OL_ORDER(acquire), OL_PLACE)
#define ol_store_relaxed(p, v)		((void)OL_CHANGE(p, store, relaxed, v))
#define ol_store_release(p, v)		((void)OL_CHANGE(p, store, release, v))
#define ol_xchg_relaxed(p, v)		OL_CHANGE(p, xchg, relaxed, v)
#define ol_xchg_acquire(p, v)		OL_CHANGE(p, xchg, acquire, v)
#define ol_xchg_release(p, v)		OL_CHANGE(p, xchg, release, v)
#define ol_xchg_acq_rel(p, v)		OL_CHANGE(p, xchg, acq_rel, v)
#define ol_cas_relaxed(p, old, v)	OL_CAS(p, relaxed, old, v)
#define ol_cas_acquire(p, old, v)	OL_CAS(p, acquire, old, v)
#define ol_cas_release(p, old, v)	OL_CAS(p, release, old, v)
#define ol_cas_acq_rel(p, old, v)	OL_CAS(p, acq_rel, old, v)
#define ol_add_relaxed(p, v)		OL_CHANGE(p, add, relaxed, v)
#define ol_add_acquire(p, v)		OL_CHANGE(p, add, acquire, v)
#define ol_add_release(p, v)		OL_CHANGE(p, add, release, v)
#define ol_add_acq_rel(p, v)		OL_CHANGE(p, add, acq_rel, v)
#define ol_or_relaxed(p, v)		OL_CHANGE(p, bit_or, relaxed, v)
#define ol_or_acquire(p, v)		OL_CHANGE(p, bit_or, acquire, v)
#define ol_or_release(p, v)		OL_CHANGE(p, bit_or, release, v)
#define ol_or_acq_rel(p, v)		OL_CHANGE(p, bit_or, acq_rel, v)
#define ol_and_relaxed(p, v)		OL_CHANGE(p, bit_and, relaxed, v)
#define ol_and_acquire(p, v)		OL_CHANGE(p, bit_and, acquire, v)
#define ol_and_release(p, v)		OL_CHANGE(p, bit_and, release, v)
#define ol_and_acq_rel(p, v)		OL_CHANGE(p, bit_and, acq_rel, v)
#define ol_fence()			OL_WORLD.fence(OL_PLACE)

#define ol_load_lo_relaxed(p)		OL_HALF(p, low, load, relaxed, 0)
#define ol_load_lo_acquire(p)		OL_HALF(p, low, load, acquire, 0)
#define ol_load_hi_relaxed(p)		OL_HALF(p, high, load, relaxed, 0)
#define ol_load_hi_acquire(p)		OL_HALF(p, high, load, acquire, 0)
#define ol_store_lo_relaxed(p, v)	((void)OL_HALF(p, low, store, relaxed, v))
#define ol_store_lo_release(p, v)	((void)OL_HALF(p, low, store, release, v))
#define ol_store_hi_relaxed(p, v)	((void)OL_HALF(p, high, store, relaxed, v))
#define ol_store_hi_release(p, v)	((void)OL_HALF(p, high, store, release, v))
#define ol_xchg_lo_acquire(p, v)	OL_HALF(p, low, xchg, acquire, v)
#define ol_xchg_lo_release(p, v)	OL_HALF(p, low, xchg, release, v)
#define ol_xchg_lo_acq_rel(p, v)	OL_HALF(p, low, xchg, acq_rel, v)
#define ol_xchg_hi_acquire(p, v)	OL_HALF(p, high, xchg, acquire, v)
#define ol_xchg_hi_release(p, v)	OL_HALF(p, high, xchg, release, v)
#define ol_xchg_hi_acq_rel(p, v)	OL_HALF(p, high, xchg, acq_rel, v)
#define ol_cas_lo_relaxed(p, old, v)	OL_HALF_CAS(p, low, relaxed, old, v)
#define ol_cas_lo_acquire(p, old, v)	OL_HALF_CAS(p, low, acquire, old, v)
#define ol_cas_lo_release(p, old, v)	OL_HALF_CAS(p, low, release, old, v)
#define ol_cas_hi_relaxed(p, old, v)	OL_HALF_CAS(p, high, relaxed, old, v)
#define ol_cas_hi_acquire(p, old, v)	OL_HALF_CAS(p, high, acquire, old, v)
#define ol_cas_hi_release(p, old, v)	OL_HALF_CAS(p, high, release, old, v)
#define ol_cas_hi_acq_rel(p, old, v)	OL_HALF_CAS(p, high, acq_rel, old, v)
#define ol_add_lo_relaxed(p, n)		OL_HALF(p, low, add, relaxed, n)
#define ol_add_lo_release(p, n)		OL_HALF(p, low, add, release, n)
#define ol_add_hi_relaxed(p, n)		ol_add_relaxed(p, (uint32_t)(n) << 16)
#define ol_add_hi_acquire(p, n)		ol_add_acquire(p, (uint32_t)(n) << 16)
#define ol_store_byte_release(p, v)	::ol::sim::store_byte(OL_WORLD, p, OL_ORDER(release), v, OL_PLACE)

/* Waiting, time, identity, parking, yielding. */

#define ol_relax()			OL_WORLD.relax(OL_NEVER, OL_PLACE)
#define ol_relax_until(t)		OL_WORLD.relax(t, OL_PLACE)
#define ol_now()			OL_WORLD.now(OL_PLACE)
#define ol_after(n, d)			OL_WORLD.after(n, d, OL_PLACE)
#define ol_later(t, n, d)		OL_WORLD.later(t, n, d, OL_PLACE)
#define ol_passed(t)			OL_WORLD.passed(t, OL_PLACE)
#define ol_before(a, b)			OL_WORLD.before(a, b, OL_PLACE)

OL_INLINE ol_ticks_t ol_earlier(ol_ticks_t a, ol_ticks_t b)
{
	return ol_before(a, b) ? a : b;
}

#define ol_self()			OL_WORLD.self(OL_PLACE)
#define ol_node_get()			OL_WORLD.node_get(OL_PLACE)
#define ol_node_put(node)		OL_WORLD.node_put(node, OL_PLACE)
#define ol_node_number(node)		OL_WORLD.node_number(node)
#define ol_node_at(number)		OL_WORLD.node_at(number, OL_PLACE)
#define ol_tune(name)			(OL_WORLD.tuning().name)
#define ol_wait_slot(i)			OL_WORLD.wait_slot(i, OL_PLACE)

#define ol_park(p, seen, key, until)	OL_WORLD.park(p, seen, key, until, OL_PLACE)
#define ol_kick(p, key, n)		OL_WORLD.kick(p, key, n, OL_PLACE)
#define ol_compete(p)			OL_WORLD.compete(p, OL_PLACE)
#define ol_leave()			OL_WORLD.leave(OL_PLACE)
#define ol_yield()			OL_WORLD.yield(0, OL_PLACE)
#define ol_yield_to(id)			OL_WORLD.yield(id, OL_PLACE)
#define ol_yield_until(t)		OL_WORLD.yield_until(t, OL_PLACE)
#define ol_defer_begin()		OL_WORLD.defer(true, OL_PLACE)
#define ol_defer_end()			OL_WORLD.defer(false, OL_PLACE)

#define ol_slice_id()			OL_WORLD.slice_id(OL_PLACE)
#define ol_slice_end()			OL_WORLD.slice_end(OL_PLACE)
#define ol_slice_min()			OL_WORLD.slice_min(OL_PLACE)
#define ol_csd_learn(since, n)		OL_WORLD.csd_learn(since, n, OL_PLACE)
#define ol_csd()			OL_WORLD.csd(OL_PLACE)
#define ol_crowd()			OL_WORLD.crowd(OL_PLACE)
#define ol_is_preempted(id)		OL_WORLD.is_preempted(id, OL_PLACE)
#define ol_quota_end()			OL_WORLD.quota_end(OL_PLACE)
#define ol_cpu()			OL_WORLD.cpu(OL_PLACE)

/*
 * Transactions, as RTM has them: see check/engine/transaction.h. An abort takes the context's stack back
 * to ol_htm_begin(), which returns the cause in RTM's bits; what else the text keeps outside the
 * world's memory, it must not change inside.
 */
#define ol_htm_works()			OL_WORLD.htm_works(OL_PLACE)
#define ol_htm_begin()			OL_WORLD.htm_begin(OL_PLACE)
#define ol_htm_commit()			OL_WORLD.htm_commit(OL_PLACE)
#define ol_htm_abort()			OL_WORLD.htm_abort(OL_PLACE)
#define ol_htm_active()			OL_WORLD.htm_active(OL_PLACE)
#define ol_htm_set_owner(p)		OL_WORLD.htm_set_owner(p, OL_PLACE)
#define ol_htm_owner()			OL_WORLD.htm_owner(OL_PLACE)

#define ol_count(event)			OL_WORLD.count(event, OL_PLACE)
#define ol_count_at(event, n)		OL_WORLD.count_at(event, n, OL_PLACE)
#endif
