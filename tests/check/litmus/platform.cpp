// SPDX-License-Identifier: MIT
// Tests of the platform layer's own operations, which no .litmus file can name: that each of its
// macros accesses the bytes it should, in the order it should.
#include "tests.h"

namespace ol::litmus {

using enum Verdict;

std::vector<Litmus> platform_tests() {
    return {
        {"halves-untouched",
         "platform layer: a store to one half does not disturb the other",
         {[](Shared &s, Reg) { ol_store_lo_relaxed(&s.x, 1); },
          [](Shared &s, Reg) { ol_store_hi_relaxed(&s.x, 1); }},
         [](const Shared &s, const uint64_t *) { return s.x != 0x1'0001; },
         {forbidden, forbidden, forbidden}},
        {"half-add-wraps",
         "platform layer: no carry into the other half",
         {[](Shared &s, Reg r) { r[0] = ol_add_lo_relaxed(&s.x, 0x8000); },
          [](Shared &s, Reg r) { r[1] = ol_add_lo_relaxed(&s.x, 0x8000); }},
         [](const Shared &s, const uint64_t *r) { return s.x != 0 || r[0] == r[1]; },
         {forbidden, forbidden, forbidden}},
        {"half-cas-other-half",
         "platform layer: a compare-exchange of one half never fails for the other",
         {[](Shared &s, Reg r) { r[0] = ol_cas_lo_relaxed(&s.x, 0, 1); },
          [](Shared &s, Reg) { ol_store_hi_relaxed(&s.x, 1); }},
         [](const Shared &s, const uint64_t *r) { return r[0] != 1 || s.x != 0x1'0001; },
         {forbidden, forbidden, forbidden}},
        {"MP+cas-fails",
         "port.h: a compare-exchange is relaxed when it fails",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_cas_acq_rel(&s.y, 0, 2);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 0 && s.y == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP+bump",
         "port.h: a bump publishes as a release store of the half",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_bump_lo_release(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_lo_acquire(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"bump-bump",
         "port.h: a bump is a load and a store, so two contexts' bumps may lose one",
         {[](Shared &s, Reg) { ol_bump_lo_release(&s.x, 1); },
          [](Shared &s, Reg) { ol_bump_lo_release(&s.x, 1); }},
         [](const Shared &s, const uint64_t *) { return s.x == 1; },
         {allowed, allowed, allowed}},
        {"bump-under-word-add",
         "[atomics.order]/10 by byte: a bump between tickets loses none of them",
         {[](Shared &s, Reg) { ol_bump_lo_release(&s.x, 1); },
          [](Shared &s, Reg r) { r[0] = ol_add_hi_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) { r[1] = ol_add_hi_relaxed(&s.x, 1); }},
         [](const Shared &s, const uint64_t *r) {
             return s.x != 0x2'0001 || r[0] >> 16 == r[1] >> 16;
         },
         {forbidden, forbidden, forbidden}},
        {"ticket",
         "C++20: the half-word ticket lock, one acquisition each",
         {[](Shared &s, Reg r) {
              auto mine = ol_hi(ol_add_hi_relaxed(&s.x, 1));
              while (ol_load_lo_acquire(&s.x) != mine)
                  ol_relax();
              uint32_t v = ol_load_relaxed(&s.y);
              ol_store_relaxed(&s.y, v + 1);
              ol_bump_lo_release(&s.x, 1);
              r[0] = mine;
          },
          [](Shared &s, Reg r) {
              auto mine = ol_hi(ol_add_hi_relaxed(&s.x, 1));
              while (ol_load_lo_acquire(&s.x) != mine)
                  ol_relax();
              uint32_t v = ol_load_relaxed(&s.y);
              ol_store_relaxed(&s.y, v + 1);
              ol_bump_lo_release(&s.x, 1);
              r[1] = mine;
          }},
         [](const Shared &s, const uint64_t *r) {
             return s.y != 2 || s.x != 0x2'0002 || r[0] == r[1];
         },
         {forbidden, forbidden, forbidden}},
    };
}

} // namespace ol::litmus
