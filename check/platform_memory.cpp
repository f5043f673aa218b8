// SPDX-License-Identifier: MIT
// The platform layer: memory, plain data, objects that come and go.
#include "format.h"
#include "world.h"

namespace ol::check {

engine::Object &World::object_of(const Access &a) {
    engine::Object *o = memory_.find(a.object);

    if (!o)
        fail(Wrong::wild, text(a.place) + " touches " + memory_.describe(a.object));
    if (o->state == engine::Object::freed)
        fail(Wrong::after_free, text(a.place) + " touches " + memory_.describe(a.object) +
                                    " after its memory was freed");
    if (o->state == engine::Object::pooled && a.op != Op::load)
        fail(Wrong::after_free,
             text(a.place) + " changes " + memory_.describe(a.object) + " after returning it");
    return *o;
}

Order World::order_of(const Access &a) {
    bool acquire = acquires(a.order), release = releases(a.order);

    if (a.order == Order::relaxed || a.order == Order::seq_cst) // no lock here has the latter
        return a.order;
    if (sites_) {
        bool known = false;
        for (auto &[place, order] : *sites_)
            known |= place.line == a.place.line && order == a.order &&
                     strcmp(place.file, a.place.file) == 0;
        if (!known)
            sites_->push_back({a.place, a.order});
    }
    for (const Weakening &w : rules_.weakened)
        if (w.line == a.place.line && w.file == base_name(a.place.file)) {
            acquire &= !w.acquire;
            release &= !w.release;
        }
    return acquire   ? release ? Order::acq_rel : Order::acquire
           : release ? Order::release
                     : Order::relaxed;
}

namespace {

// Does it wait until its context's buffer is empty?
bool empties(const Access &a) {
    return is_rmw(a.op) || (a.op == Op::store && a.order == Order::seq_cst);
}

// What a compare-exchange is that does not store.
Access failing(const Access &a) {
    Access load = a;

    load.op = Op::load;
    load.order = a.failing_sequential ? Order::seq_cst
                 : a.failing_acquires ? Order::acquire
                                      : Order::relaxed;
    return load;
}

} // namespace

uint64_t World::access(const Access &a) {
    if (!is_inside()) { // an idle world, looked at from outside
        if (++looks_ > rules_.longest)
            fail(Wrong::unusable, "loops at " + text(a.place) + " although the lock is idle");
        uint64_t old = Memory::read(a.address(), a.width);
        if (!a.is_callers)
            object_of(a);
        Memory::write(a.address(), a.width, result_of(a, old));
        return old;
    }
    if (in_transaction())
        return access_inside(a);
    bool silent = loads_->is_silent(a);
    Footprint f;
    if (silent) {
        settle(a.place);
        me().place = a.place;
        if (me().left[Budget::irq] || me().left[Budget::nmi])
            maybe_interrupt();
        if (me().may_stop && may(Budget::stop))
            stop();
    } else {
        point({Kind::access, a, model_ == Model::tso && empties(a)}, a.place);
    }
    if (!silent)
        request(a, f);
    object_of(a).touched[self_] = loads_->clock(self_);
    notice(f);
    Order order = order_of(a);
    if (a.spurious && (*a.spurious = search_->choose(2) == 1)) {
        loads_->pending(a, f); // as the search was told before
        uint64_t found = loads_->access(self_, failing(a), failing(a).order, f);
        made(f);
        return found;
    }
    uint64_t old = loads_->access(self_, a, order, f);
    if (!silent)
        made(f);
    if (result_of(a, old) != old)
        changed();
    if (rules_.polls)
        me().polls.hears(old);
    arrives(is_rmw(a.op) && result_of(a, old) != old);
    if (trace_)
        say_access(a, order, old, result_of(a, old));
    return old;
}

void World::fence(Place place) {
    Footprint f;

    if (!is_inside())
        return;
    point({Kind::fence, {}, model_ == Model::tso}, place);
    notice(f);
    loads_->fence(self_, f);
    made(f);
    say(place, "fence");
}

// Other contexts cannot tell when it happens: it is no step.
void World::light_fence(Order order, Place place) {
    if (!is_inside())
        return;
    loads_->light_fence(self_, order);
    say(place, "fence");
}

uint64_t World::plain_read(const uint64_t *datum, Place place) {
    Access a{const_cast<uint64_t *>(datum), 0, 8, Op::load, Order::relaxed, 0, 0, place};
    uint64_t value = 0;
    Footprint f;

    if (in_transaction())
        return access_inside(a);
    point({Kind::plain, a}, place);
    request(a, f);
    notice(f);
    std::string wrong = loads_->plain(self_, a, value, f);
    made(f);
    if (!wrong.empty())
        fail(Wrong::unordered, wrong);
    if (trace_)
        say(place, "reads " + memory_.describe(datum) + " = " + hex(value));
    return value;
}

void World::plain_write(uint64_t *datum, uint64_t v, Place place) {
    Access a{datum, 0, 8, Op::store, Order::relaxed, v, 0, place};
    Footprint f;
    bool silent = loads_->is_silent(a);

    if (in_transaction()) {
        access_inside(a);
        return;
    }
    silent ? settle(place) : point({Kind::plain, a}, place);
    if (!silent)
        request(a, f);
    notice(f);
    std::string wrong = loads_->plain(self_, a, v, f);
    if (!silent)
        made(f);
    if (!wrong.empty())
        fail(Wrong::unordered, wrong);
    if (trace_)
        say(place, "writes " + memory_.describe(datum) + " = " + hex(v));
}

// Its bytes become zero, whatever they held before.
void World::renew(void *object, Place place) {
    engine::Object *o = memory_.find(object);

    touch_object(object, place, "renews");
    for (size_t at = 0; at < o->size; at += 4)
        access({o->at + at, 0, 4, Op::store, Order::relaxed, 0, 0, place});
}

// A step that touches the whole object: nobody may use it on the other side of it.
void World::touch_object(void *object, Place place, const char *what) {
    engine::Object *o = memory_.find(object);
    Next next{
        Kind::object, {o->at, 0, 0, Op::store, Order::relaxed, 0, 0, place}, model_ == Model::tso};
    Footprint f;

    if (in_transaction()) {
        touch_inside(*o, next, place);
    } else {
        point(next, place);
        displace(o->at, o->size, true, f);
        notice(f);
        f.add(o->at, o->size, true);
        made(f);
    }
    if (trace_)
        say(place, std::string(what) + " " + memory_.describe(object));
}

void World::free(void *object, Place place) {
    engine::Object *o = memory_.find(object);

    cannot_be_inside(place);
    touch_object(object, place, "frees");
    std::string who = loads_->unordered_use(self_, *o);
    if (!who.empty())
        fail(Wrong::unordered, "frees " + memory_.describe(object) + ", which " + who +
                                   " used, without a happens-before order");
    o->state = engine::Object::freed;
}

} // namespace ol::check
