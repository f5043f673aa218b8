// SPDX-License-Identifier: MIT
#include "client.h"

namespace ol::check {

#define OL_WAIT(id, ...) extern "C" const WaitSubject ol_waits_##id;
#include <overlock/waits.def>
#undef OL_WAIT

namespace {

const WaitSubject *const all[] = {
#define OL_WAIT(id, ...) &ol_waits_##id,
#include <overlock/waits.def>
#undef OL_WAIT
};

} // namespace

std::span<const WaitSubject *const> waits() {
    return all;
}

const WaitSubject *find_wait(const std::string &name) {
    for (const WaitSubject *w : all)
        if (name == w->id)
            return w;
    return nullptr;
}

Program WaitClient::program() {
    Program p;

    p.contexts = contexts_;
    p.set_up = [this](Memory &memory) { set_up(memory); };
    p.body = [this](size_t me) { stage_->play(me); };
    p.by_clock = scenario_.by_clock;
    p.finish = [this] { stage_->finish(); };
    return p;
}

void WaitClient::set_up(Memory &memory) {
    const size_t places = 2 * contexts_ + 2;
    auto room = [&](const char *name, size_t bytes) { return memory.allocate(name, bytes).at; };

    stage_ =
        scenario_.make(world_, contexts_, rounds_, room(subject_.id, subject_.size), subject_.size);
    stage_->data_ = reinterpret_cast<uint64_t *>(room("data", places * sizeof(uint64_t)));
    stage_->words_ = reinterpret_cast<uint32_t *>(room("word", places * sizeof(uint32_t)));
    stage_->set_up();
}

} // namespace ol::check
