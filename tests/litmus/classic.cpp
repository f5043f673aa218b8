// SPDX-License-Identifier: MIT
// The classic shapes, by the names of Alglave, Maranget and Tautschnig 2014 ("Herding cats").
//
//      herding  Alglave et al., Herding Cats, TOPLAS 2014
//      x86      Sewell et al., x86-TSO, CACM 2010, and Owens et al., TPHOLs 2009
//      RC11     Lahav et al., Repairing Sequential Consistency in C/C++11, PLDI 2017
//      C++20    [atomics.order], [intro.races]; P0668, P0982
#include "litmus.h"

namespace ol::litmus {

using enum Verdict;

std::vector<Litmus> classic_tests() {
    return {
        // Store buffering.
        {"SB",
         "herding fig. 4; x86 SB (iwp2.3.a/amd4); RC11: relaxed accesses order nothing",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, allowed, allowed}},
        {"SB+fences",
         "x86 amd5; RC11: psc orders two SC fences",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              r[0] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"SB+fence+po",
         "herding SB+mfence+po; RC11: one fence alone has nobody to be ordered with",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              r[0] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, allowed, allowed}},
        {"SB+rel-acq",
         "C++20: release and acquire order no store before a later load; x86: they are plain moves",
         {[](Shared &s, Reg r) {
              ol_store_release(&s.x, 1);
              r[0] = ol_load_acquire(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_release(&s.y, 1);
              r[1] = ol_load_acquire(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, allowed, allowed}},
        {"SB+xchgs",
         "x86 iwp2.8.a: locked instructions are barriers; RC11: acq_rel on other words is none",
         {[](Shared &s, Reg r) {
              r[2] = ol_xchg_acq_rel(&s.x, 1);
              r[0] = ol_load_acquire(&s.y);
          },
          [](Shared &s, Reg r) {
              r[3] = ol_xchg_acq_rel(&s.y, 1);
              r[1] = ol_load_acquire(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"SB+add-of-zero",
         "x86: locked loads drain too; RC11: each add may come first on its word",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[0] = ol_add_acq_rel(&s.y, 0);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[1] = ol_add_acq_rel(&s.x, 0);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"SB+adds-on-one-word",
         "C++20: of two acq_rel read-modify-writes of one word one reads the other, and "
         "synchronizes",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[2] = ol_add_acq_rel(&s.z, 1);
              r[0] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[3] = ol_add_acq_rel(&s.z, 1);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"SB+relaxed-adds-on-one-word",
         "the same without orders: x86 forbids it by the lock prefix, C++20 does not",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[2] = ol_add_relaxed(&s.z, 1);
              r[0] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[3] = ol_add_relaxed(&s.z, 1);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"3.SB",
         "herding 3.SB: store buffering around three contexts",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[1] = ol_load_relaxed(&s.z);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.z, 1);
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0 && r[2] == 0; },
         {forbidden, allowed, allowed}},
        {"3.SB+fences",
         "herding 3.SB+mfences; RC11: psc",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              r[0] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              r[1] = ol_load_relaxed(&s.z);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.z, 1);
              ol_fence();
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0 && r[2] == 0; },
         {forbidden, forbidden, forbidden}},

        // Message passing.
        {"MP",
         "herding fig. 1; x86 iwp2.1/amd1; C++20: relaxed",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP+rel+acq",
         "C++20 [intro.races]: the acquire synchronizes with the release it reads",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+rel+rlx",
         "C++20: broken on the side of the reader",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP+rlx+acq",
         "C++20: broken on the side of the writer",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP+fences",
         "C++20 [atomics.fences]: fence-fence synchronization",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              ol_fence();
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+fence+acq",
         "C++20 [atomics.fences]: fence-atomic synchronization",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+rel+fence",
         "C++20 [atomics.fences]: atomic-fence synchronization",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              ol_fence();
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+fence+rlx",
         "C++20: a fence on one side only synchronizes with nobody",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP+rlx+fence",
         "C++20: the same, on the other side",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              ol_fence();
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP+fence-too-early",
         "C++20 [atomics.fences]: a fence releases only what comes before it",
         {[](Shared &s, Reg) {
              ol_fence();
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP+await",
         "C++20: as MP+rel+acq; a loop is its last round (await as assume)",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              while (!ol_load_acquire(&s.y))
                  ol_relax();
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+await-relaxed",
         "C++20: as MP+rel+rlx",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              while (!ol_load_relaxed(&s.y))
                  ol_relax();
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[1] == 0; },
         {forbidden, forbidden, allowed}},

        // Release sequences.
        {"MP+rel+add+acq",
         "C++20 [intro.races]/5: read-modify-writes continue a release sequence, whatever their "
         "order",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) { r[2] = ol_add_relaxed(&s.y, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 2 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+rel+xchg+acq",
         "C++20 [intro.races]/5: an exchange continues it though it keeps nothing of the value",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) { r[2] = ol_xchg_relaxed(&s.y, 2); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 2 && r[2] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+rel+cas+acq",
         "C++20 [intro.races]/5",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) { r[2] = ol_cas_relaxed(&s.y, 1, 2); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 2 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+rel+own-add+acq",
         "C++20 [intro.races]/5: its own context's read-modify-write too",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
              r[2] = ol_add_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 2 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+rel+own-store+acq",
         "C++20, P0982: a relaxed store of the same context ends it (C++17 continued it)",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
              ol_store_relaxed(&s.y, 2);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 2 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP+rel+store+acq",
         "C++20 [intro.races]/5: another context's store ends it, though it came after in time",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_relaxed(&s.y);
              ol_store_relaxed(&s.y, 2);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 2 && r[2] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP+fence-add+acq",
         "C++20 [atomics.fences]: a read-modify-write after a fence publishes what the fence "
         "released",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              r[2] = ol_add_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+two-releases",
         "C++20 [intro.races]/5: a read-modify-write that releases continues the earlier release "
         "too",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) { r[2] = ol_add_release(&s.y, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 2 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+xchg-release+xchg-acquire",
         "C++20: read-modify-writes publish and acquire",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[2] = ol_xchg_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_xchg_acquire(&s.y, 2);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+xchg-acquire+xchg-release",
         "C++20: the same with the orders on the wrong sides",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[2] = ol_xchg_acquire(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_xchg_release(&s.y, 2);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
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
        {"MP+cas-fails-on-stale",
         "C++20: a failed compare-exchange is a load, which may read an older value",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              r[1] = ol_cas_relaxed(&s.x, 1, 2);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},

        // Load buffering.
        {"LB",
         "herding fig. 9; x86 iwp2.2/amd2. C11, ARM and POWER allow it; ours keeps po and rf "
         "acyclic, "
         "as RC11 does, and an order is lowered only where a model with LB agrees",
         {[](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_relaxed(&s.y);
              ol_store_relaxed(&s.x, 1);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"LB+rel-acq",
         "C++20: happens-before would have a cycle",
         {[](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.x);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_acquire(&s.y);
              ol_store_release(&s.x, 1);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"LB+datas",
         "Boehm and Demsky 2014: values out of thin air; [atomics.order]/8 recommends against",
         {[](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_store_relaxed(&s.y, static_cast<uint32_t>(r[0]));
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_relaxed(&s.y);
              ol_store_relaxed(&s.x, static_cast<uint32_t>(r[1]));
          }},
         [](const Shared &, const uint64_t *r) { return r[0] != 0 || r[1] != 0; },
         {forbidden, forbidden, forbidden}},
        {"LB+xchgs",
         "as LB, by read-modify-writes: ARM's LSE allows it relaxed, ours does not",
         {[](Shared &s, Reg r) {
              r[0] = ol_xchg_relaxed(&s.x, 2);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_xchg_relaxed(&s.y, 2);
              ol_store_relaxed(&s.x, 1);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"3.LB",
         "herding 3.LB, around three contexts; see LB",
         {[](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_relaxed(&s.y);
              ol_store_relaxed(&s.z, 1);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_relaxed(&s.z);
              ol_store_relaxed(&s.x, 1);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1 && r[2] == 1; },
         {forbidden, forbidden, forbidden}},

        // S, R, 2+2W.
        {"S",
         "herding fig. 4 (S)",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 2);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              ol_store_relaxed(&s.x, 1);
          }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 1 && s.x == 2; },
         {forbidden, forbidden, allowed}},
        {"S+rel+acq",
         "C++20: write-write coherence along happens-before",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 2);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              ol_store_relaxed(&s.x, 1);
          }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 1 && s.x == 2; },
         {forbidden, forbidden, forbidden}},
        {"S+rel+rlx",
         "herding S+lwsync+po: allowed where the reader has no order",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 2);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              ol_store_relaxed(&s.x, 1);
          }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 1 && s.x == 2; },
         {forbidden, forbidden, allowed}},
        {"R",
         "herding fig. 4 (R): on x86 the second store waits in its buffer",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 2);
              r[0] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &s, const uint64_t *r) { return s.y == 2 && r[0] == 0; },
         {forbidden, allowed, allowed}},
        {"R+fences",
         "herding R+mfences; RC11: psc through modification order",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 2);
              ol_fence();
              r[0] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &s, const uint64_t *r) { return s.y == 2 && r[0] == 0; },
         {forbidden, forbidden, forbidden}},
        {"R+rel+fence",
         "herding R+po+mfence; C++20: an overwritten release synchronizes with nobody",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 2);
              ol_fence();
              r[0] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &s, const uint64_t *r) { return s.y == 2 && r[0] == 0; },
         {forbidden, forbidden, allowed}},
        {"2+2W",
         "herding fig. 4 (2+2W): the modification orders need not agree with any execution order",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 2);
          },
          [](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_relaxed(&s.x, 2);
          }},
         [](const Shared &s, const uint64_t *) { return s.x == 1 && s.y == 1; },
         {forbidden, forbidden, allowed}},
        {"2+2W+rel",
         "RC11: release stores that nobody reads order nothing (POWER's lwsync would)",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 2);
          },
          [](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_release(&s.x, 2);
          }},
         [](const Shared &s, const uint64_t *) { return s.x == 1 && s.y == 1; },
         {forbidden, forbidden, allowed}},
        {"2+2W+fences",
         "herding 2+2W+syncs; RC11: psc through modification order",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              ol_store_relaxed(&s.y, 2);
          },
          [](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              ol_store_relaxed(&s.x, 2);
          }},
         [](const Shared &s, const uint64_t *) { return s.x == 1 && s.y == 1; },
         {forbidden, forbidden, forbidden}},
        {"2+2W+xchgs",
         "C++20: exchanges read each other, and synchronize",
         {[](Shared &s, Reg r) {
              r[0] = ol_xchg_acq_rel(&s.x, 1);
              r[1] = ol_xchg_acq_rel(&s.y, 2);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_xchg_acq_rel(&s.y, 1);
              r[3] = ol_xchg_acq_rel(&s.x, 2);
          }},
         [](const Shared &s, const uint64_t *) { return s.x == 1 && s.y == 1; },
         {forbidden, forbidden, forbidden}},
        {"3.2W",
         "herding 3.2W, around three contexts",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 2);
          },
          [](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_relaxed(&s.z, 2);
          },
          [](Shared &s, Reg) {
              ol_store_relaxed(&s.z, 1);
              ol_store_relaxed(&s.x, 2);
          }},
         [](const Shared &s, const uint64_t *) { return s.x == 1 && s.y == 1 && s.z == 1; },
         {forbidden, forbidden, allowed}},

        // Three and four contexts: who sees a store before others do.
        {"WRC",
         "herding fig. 11 (WRC); x86 iwp2.5/amd8: stores are transitively visible",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_relaxed(&s.y);
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1 && r[2] == 0; },
         {forbidden, forbidden, allowed}},
        {"WRC+rel+acq",
         "C++20: read-read coherence along happens-before; the first store and load may be relaxed",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_acquire(&s.y);
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1 && r[2] == 0; },
         {forbidden, forbidden, forbidden}},
        {"WRC+fences",
         "herding WRC+syncs; C++20 [atomics.fences]",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_fence();
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_relaxed(&s.y);
              ol_fence();
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1 && r[2] == 0; },
         {forbidden, forbidden, forbidden}},
        {"ISA2",
         "herding fig. 12 (ISA2)",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              ol_store_relaxed(&s.z, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_relaxed(&s.z);
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1 && r[2] == 0; },
         {forbidden, forbidden, allowed}},
        {"ISA2+rel-acq",
         "C++20: happens-before is transitive",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              ol_store_release(&s.z, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_acquire(&s.z);
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1 && r[2] == 0; },
         {forbidden, forbidden, forbidden}},
        {"ISA2+broken-middle",
         "C++20: a relaxed load in the middle hands nothing on",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              ol_store_release(&s.z, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_acquire(&s.z);
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1 && r[2] == 0; },
         {forbidden, forbidden, allowed}},
        {"W+RWC",
         "herding fig. 19 (W+RWC)",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.z);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.z, 1);
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0 && r[2] == 0; },
         {forbidden, allowed, allowed}},
        {"W+RWC+fence",
         "herding W+RWC with a fence on the last; RC11 (its W+RWC): one SC fence does not forbid "
         "it, "
         "where x86 does",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.z);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.z, 1);
              ol_fence();
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0 && r[2] == 0; },
         {forbidden, forbidden, allowed}},
        {"W+RWC+fences",
         "RC11: psc through hb;eco;hb, across three contexts",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 1);
              ol_store_release(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              ol_fence();
              r[1] = ol_load_relaxed(&s.z);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.z, 1);
              ol_fence();
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0 && r[2] == 0; },
         {forbidden, forbidden, forbidden}},
        {"RWC+fences",
         "herding RWC+syncs; RC11: what a fence's context read before is behind the fence",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_fence();
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0 && r[2] == 0; },
         {forbidden, forbidden, forbidden}},
        {"IRIW",
         "herding fig. 20 (IRIW); x86 amd6",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg) { ol_store_relaxed(&s.y, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_relaxed(&s.y);
              r[3] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
         },
         {forbidden, forbidden, allowed}},
        {"IRIW+rel-acq",
         "RC11: release and acquire are not multi-copy atomic (POWER's lwsync shows it)",
         {[](Shared &s, Reg) { ol_store_release(&s.x, 1); },
          [](Shared &s, Reg) { ol_store_release(&s.y, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.x);
              r[1] = ol_load_acquire(&s.y);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_acquire(&s.y);
              r[3] = ol_load_acquire(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
         },
         {forbidden, forbidden, allowed}},
        {"IRIW+fences",
         "RC11: psc; herding IRIW+syncs",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg) { ol_store_relaxed(&s.y, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_fence();
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_relaxed(&s.y);
              ol_fence();
              r[3] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
         },
         {forbidden, forbidden, forbidden}},
        {"IRIW+fence+acq",
         "RC11: a fence in one reader only does not forbid it",
         {[](Shared &s, Reg) { ol_store_release(&s.x, 1); },
          [](Shared &s, Reg) { ol_store_release(&s.y, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.x);
              ol_fence();
              r[1] = ol_load_acquire(&s.y);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_acquire(&s.y);
              r[3] = ol_load_acquire(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
         },
         {forbidden, forbidden, allowed}},
    };
}

} // namespace ol::litmus
