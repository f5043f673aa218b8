// SPDX-License-Identifier: MIT
#include "turns.h"

#include <cstring>

namespace ol::check {

Turns::Visit *Turns::find(const void *site, const uint8_t *at) {
    for (Visit &v : visits_)
        if (v.site == site && v.at == at)
            return &v;
    return nullptr;
}

// What the access would find, if that is what it found here before.
std::optional<uint64_t> Turns::known(const World &world, const void *site, const Access &a) {
    Visit *v = a.op == Op::store ? nullptr : find(site, a.address());
    std::optional<uint64_t> found = v ? world.finds_again(a) : std::nullopt;

    return found && *found == v->seen ? found : std::nullopt;
}

std::optional<uint64_t> Turns::again(World &world, const void *site, const Access &a,
                                     uint64_t state) {
    std::optional<uint64_t> found = known(world, site, a);
    if (!found) {
        interrupt(world);
        return {};
    }
    if (!looked_ahead_)
        look_ahead(world);
    Visit &v = *find(site, a.address());
    std::optional<bool> repeated = repeats(v, state);
    if (!repeated)
        return found;
    bool same = *repeated;
    if (v.left_out == endless)
        world.take_for_endless(site);
    if (same || world.is_taken_for_endless(site)) {
        come_back(world);
        if (!same)
            world.cut_loop(a.place, endless);
        forget();
        world.relax(never, a.place);
        return {};
    }
    if (!looking_ahead_ && !goes_on(world, v, a.place)) {
        forget();
        return {};
    }
    v.left_out++;
    return found;
}

bool Turns::goes_on(World &world, Visit &v, Place place) {
    unsigned turns = world.rules().turns;

    if (v.left_out < turns || v.ahead - v.left_out <= turns)
        return world.goes_on(place);
    world.cut_loop(place, turns);
    return true;
}

// Where the state is what it was, memory has yet to tell: of a first such visit nothing is known.
std::optional<bool> Turns::repeats(Visit &v, uint64_t state) {
    if (std::exchange(v.state, state) != state) {
        v.memory = 0;
        return false;
    }
    if (!each_part_ || !looking_ahead_)
        return !counts_unseen_;
    uint64_t now = memory(), before = std::exchange(v.memory, now);
    if (!before)
        return {};
    counts_unseen_ |= before != now;
    return before == now;
}

uint64_t Turns::memory() const {
    Hash h;

    each_part_([&h](std::span<uint8_t> part) {
        for (size_t at = 0; at < part.size(); at += 8)
            h.add_word(engine::Memory::read(part.data() + at, 8));
    });
    return h.value();
}

// To where the context does more than look, and back.
void Turns::look_ahead(World &world) {
    kept_memory_.clear();
    if (each_part_)
        each_part_([this](std::span<uint8_t> part) {
            kept_memory_.insert(kept_memory_.end(), part.begin(), part.end());
        });
    counts_unseen_ = false;
    kept_ = visits_;
    kept_hinted_ = hinted_;
    looked_ahead_ = looking_ahead_ = true;
    world.mark();
}

void Turns::come_back(World &world) {
    if (!looking_ahead_)
        return;
    for (size_t i = 0; i < kept_.size(); i++)
        kept_[i].ahead = visits_[i].left_out;
    const uint8_t *kept = kept_memory_.data();
    if (each_part_)
        each_part_([&kept](std::span<uint8_t> part) {
            std::memcpy(part.data(), kept, part.size());
            kept += part.size();
        });
    visits_ = kept_;
    hinted_ = kept_hinted_;
    looking_ahead_ = false;
    world.go_back();
}

void Turns::made(const void *site, const Access &a, uint64_t old, uint64_t state) {
    uint64_t left = result_of(a, old);
    Visit *v = find(site, a.address());

    changes_ |= a.op == Op::store || left != old;
    if (a.op == Op::store || left != old || (v && v->seen != old)) {
        forget();
        v = nullptr;
    }
    if (v)
        *v = {site, a.address(), state, left};
    else
        visits_.push_back({site, a.address(), state, left});
}

void Turns::interrupt(World &world) {
    come_back(world);
    looked_ahead_ = false;
    for (Visit &v : visits_)
        v.left_out = 0;
}

void Turns::end(World &world) {
    come_back(world);
    forget();
    changes_ = true;
}

void Turns::hint(World &world, const void *site, Place place) {
    if (std::exchange(hinted_, site) != site || !changes_) {
        changes_ = changes_ && looking_ahead_;
        return;
    }
    end(world);
    changes_ = false;
    world.cut_loop(place, 1);
    world.relax(world.after(1, 100, place), place);
}

void Turns::begin() {
    forget();
    looking_ahead_ = changes_ = false;
    hinted_ = nullptr;
}

void Turns::forget() {
    visits_.clear();
    looked_ahead_ = false;
}

} // namespace ol::check
