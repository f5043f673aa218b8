// SPDX-License-Identifier: MIT
// One variable: coherence (SC per location), and the atomicity of read-modify-writes.
#include "litmus.h"

namespace ol::litmus {

using enum Verdict;

std::vector<Litmus> coherence_tests() {
    return {
        {"CoRR",
         "C++20 [intro.races]/16 read-read coherence; herding fig. 6",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"CoRR2",
         "x86 iwp2.6: everybody sees the stores to one variable in one order",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg) { ol_store_relaxed(&s.x, 2); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_relaxed(&s.x);
              r[3] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 2 && r[2] == 2 && r[3] == 1;
         },
         {forbidden, forbidden, forbidden}},
        {"CoWW",
         "C++20 [intro.races]/15 write-write coherence; herding fig. 6",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.x, 2);
          },
          [](Shared &s, Reg r) { r[0] = ol_load_relaxed(&s.x); }},
         [](const Shared &s, const uint64_t *) { return s.x != 2; },
         {forbidden, forbidden, forbidden}},
        {"CoRW1",
         "herding fig. 6: nobody reads a store that it has yet to make",
         {[](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_store_relaxed(&s.x, 1);
          },
          [](Shared &s, Reg r) { r[1] = ol_load_relaxed(&s.x); }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1; },
         {forbidden, forbidden, forbidden}},
        {"CoRW2",
         "C++20 [intro.races]/17 read-write coherence; herding fig. 6",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_store_relaxed(&s.x, 2);
          }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 1 && s.x == 1; },
         {forbidden, forbidden, forbidden}},
        {"CoWR",
         "C++20 [intro.races]/18 write-read coherence; herding fig. 6",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg) { ol_store_relaxed(&s.x, 2); }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 2 && s.x == 1; },
         {forbidden, forbidden, forbidden}},
        {"CoWR-own",
         "x86 iwp2.3.b: a context sees its own store",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[1] = ol_load_relaxed(&s.y);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 || r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"CoWR-hb",
         "C++20 [intro.races]/18: a read sees no less than what happened before it",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.x, 2);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"byte-CoRR",
         "as CoRR, one byte",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.b, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.b);
              r[1] = ol_load_relaxed(&s.b);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"quad-whole",
         "Intel SDM 3A 9.1.1: aligned quadwords are atomic; C++20: atomic objects do not tear",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.q, 0x1'0000'0001); },
          [](Shared &s, Reg) { ol_store_relaxed(&s.q, 0x2'0000'0002); },
          [](Shared &s, Reg r) { r[0] = ol_load_relaxed(&s.q); }},
         [](const Shared &s, const uint64_t *r) {
             return r[0] >> 32 != (r[0] & 0xffffffff) || s.q >> 32 != (s.q & 0xffffffff);
         },
         {forbidden, forbidden, forbidden}},
        {"byte-SB",
         "as SB, a byte and a quadword",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.b, 1);
              r[0] = ol_load_relaxed(&s.q);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.q, 1);
              r[1] = ol_load_relaxed(&s.b);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, allowed, allowed}},

        // Read-modify-writes.
        {"add-add",
         "C++20 [atomics.order]/10: a read-modify-write reads the last value before its own",
         {[](Shared &s, Reg r) { r[0] = ol_add_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) { r[1] = ol_add_relaxed(&s.x, 1); }},
         [](const Shared &s, const uint64_t *r) { return s.x != 2 || r[0] == r[1]; },
         {forbidden, forbidden, forbidden}},
        {"add-add-add",
         "the same with three: each ticket once",
         {[](Shared &s, Reg r) { r[0] = ol_add_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) { r[1] = ol_add_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) { r[2] = ol_add_relaxed(&s.x, 1); }},
         [](const Shared &s, const uint64_t *r) {
             return s.x != 3 || r[0] == r[1] || r[1] == r[2] || r[0] == r[2];
         },
         {forbidden, forbidden, forbidden}},
        {"add-store",
         "C++20 [atomics.order]/10: no store comes between the halves of a read-modify-write",
         {[](Shared &s, Reg r) { r[0] = ol_add_relaxed(&s.x, 10); },
          [](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 0 && s.x == 10; },
         {forbidden, forbidden, forbidden}},
        {"add-store-under",
         "SC: the store may come after, and the sum is lost",
         {[](Shared &s, Reg r) { r[0] = ol_add_relaxed(&s.x, 10); },
          [](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 0 && s.x == 1; },
         {allowed, allowed, allowed}},
        {"cas-cas",
         "C++20 [atomics.order]/10: only one takes a free lock",
         {[](Shared &s, Reg r) { r[0] = ol_cas_relaxed(&s.x, 0, 1); },
          [](Shared &s, Reg r) { r[1] = ol_cas_relaxed(&s.x, 0, 2); }},
         [](const Shared &, const uint64_t *r) { return r[0] == r[1]; },
         {forbidden, forbidden, forbidden}},
        {"cas-after-store",
         "C++20 [intro.races]/18: what happened before cannot be missed by a success",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_cas_relaxed(&s.x, 0, 2);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"cas-before-unseen-store",
         "C++20: a success may come before, in modification order, a store that is already made",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              r[1] = ol_cas_relaxed(&s.x, 0, 2);
          }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 1 && r[1] == 1 && s.x == 1; },
         {forbidden, forbidden, allowed}},
        {"xchg-chain",
         "C++20 [atomics.order]/10: exchanges hand each value to one context",
         {[](Shared &s, Reg r) { r[0] = ol_xchg_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) { r[1] = ol_xchg_relaxed(&s.x, 2); },
          [](Shared &s, Reg r) { r[2] = ol_xchg_relaxed(&s.x, 3); }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == r[1] || r[1] == r[2] || r[0] == r[2];
         },
         {forbidden, forbidden, forbidden}},
        {"xchg-CoRR",
         "read-read coherence through a read-modify-write",
         {[](Shared &s, Reg r) { r[2] = ol_xchg_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) { r[3] = ol_xchg_relaxed(&s.x, 2); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[3] == 1 && r[0] == 2 && r[1] == 1; // 2 came after 1
         },
         {forbidden, forbidden, forbidden}},
        {"or-or",
         "C++20 [atomics.order]/10: bits of different contexts are all kept",
         {[](Shared &s, Reg r) { r[0] = ol_or_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) { r[1] = ol_or_relaxed(&s.x, 2); }},
         [](const Shared &s, const uint64_t *r) { return s.x != 3 || (r[0] == 0 && r[1] == 0); },
         {forbidden, forbidden, forbidden}},
        {"or-and",
         "SC: of a set and a clear of one bit either may be last",
         {[](Shared &s, Reg r) { r[0] = ol_or_relaxed(&s.x, 3); },
          [](Shared &s, Reg r) { r[1] = ol_and_relaxed(&s.x, ~1u); }},
         [](const Shared &s, const uint64_t *r) { return r[1] == 3 && s.x == 2; },
         {allowed, allowed, allowed}},
        {"add-between-reads",
         "a load after an add of the same context sees no older value",
         {[](Shared &s, Reg r) {
              r[0] = ol_add_relaxed(&s.x, 1);
              r[1] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg r) { r[2] = ol_add_relaxed(&s.x, 1); }},
         [](const Shared &, const uint64_t *r) { return r[1] <= r[0]; },
         {forbidden, forbidden, forbidden}},
        {"byte-add-add",
         "as add-add, one byte, around the wrap",
         {[](Shared &s, Reg r) { r[0] = ol_add_relaxed(&s.b, 0x80); },
          [](Shared &s, Reg r) { r[1] = ol_add_relaxed(&s.b, 0x80); }},
         [](const Shared &s, const uint64_t *r) { return s.b != 0 || r[0] == r[1]; },
         {forbidden, forbidden, forbidden}},
    };
}

} // namespace ol::litmus
