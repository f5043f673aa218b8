// SPDX-License-Identifier: MIT
// What locks do, cut down to litmus tests: entering by flags, parking, handing over.
#include "litmus.h"

namespace ol::litmus {

using enum Verdict;

std::vector<Litmus> lock_tests() {
    return {
        {"dekker",
         "Dekker's core (x86 SB): raise a flag, enter if the other's is down",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              if (!ol_load_relaxed(&s.y))
                  r[0] = 1;
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              if (!ol_load_relaxed(&s.x))
                  r[1] = 1;
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, allowed, allowed}},
        {"dekker+fences",
         "the same, as SB+fences",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              if (!ol_load_relaxed(&s.y))
                  r[0] = 1;
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              if (!ol_load_relaxed(&s.x))
                  r[1] = 1;
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"peterson",
         "Peterson 1981, its entry tried once: SB between the turn and the other's flag",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.z, 2); // after you
              if (!ol_load_relaxed(&s.y) || ol_load_relaxed(&s.z) == 1)
                  r[0] = 1;
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_store_relaxed(&s.z, 1);
              if (!ol_load_relaxed(&s.x) || ol_load_relaxed(&s.z) == 2)
                  r[1] = 1;
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, allowed, allowed}},
        {"peterson+fence",
         "x86: one mfence suffices, for stores are in order; RC11: flag and turn may be reordered",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.z, 2);
              ol_fence();
              if (!ol_load_relaxed(&s.y) || ol_load_relaxed(&s.z) == 1)
                  r[0] = 1;
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_store_relaxed(&s.z, 1);
              ol_fence();
              if (!ol_load_relaxed(&s.x) || ol_load_relaxed(&s.z) == 2)
                  r[1] = 1;
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, allowed}},
        {"peterson+two-fences",
         "RC11: psc through the turn's modification order",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              ol_store_relaxed(&s.z, 2);
              ol_fence();
              if (!ol_load_relaxed(&s.y) || ol_load_relaxed(&s.z) == 1)
                  r[0] = 1;
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              ol_store_relaxed(&s.z, 1);
              ol_fence();
              if (!ol_load_relaxed(&s.x) || ol_load_relaxed(&s.z) == 2)
                  r[1] = 1;
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"peterson+xchg",
         "RC11: the turn taken by an acq_rel exchange orders the two contexts: no fence is needed",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[2] = ol_xchg_acq_rel(&s.z, 2);
              if (!ol_load_relaxed(&s.y) || ol_load_relaxed(&s.z) == 1)
                  r[0] = 1;
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[3] = ol_xchg_acq_rel(&s.z, 1);
              if (!ol_load_relaxed(&s.x) || ol_load_relaxed(&s.z) == 2)
                  r[1] = 1;
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"park",
         "port.h: publish, fence, look; store, fence, look: one of the two sees the other "
         "(SB+fences)",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1); // I sleep
              ol_fence();
              r[0] = ol_load_relaxed(&s.x) == 0; // still locked: I do
          },
          [](Shared &s, Reg r) {
              ol_store_release(&s.x, 1); // unlocked
              ol_fence();
              r[1] = ol_load_relaxed(&s.y) == 0; // nobody to kick
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"park-kicker-unfenced",
         "as SB+fence+po: a releasing store is no fence, and the wake-up is lost",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              r[0] = ol_load_relaxed(&s.x) == 0;
          },
          [](Shared &s, Reg r) {
              ol_store_release(&s.x, 1);
              r[1] = ol_load_relaxed(&s.y) == 0;
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, allowed, allowed}},
        {"park-in-the-word",
         "port.h: publishing and looking by read-modify-writes of the same word needs no fence",
         {[](Shared &s, Reg r) {
              r[0] = ol_or_relaxed(&s.x, 2) == 0; /* locked: I sleep */
          },
          [](Shared &s, Reg r) {
              r[1] = ol_add_release(&s.x, 1) == 0; /* nobody to kick */
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"park-in-the-other-half",
         "as SB-halves: the bit and the grant in one word, but stored and looked at by halves",
         {[](Shared &s, Reg r) {
              ol_store_hi_relaxed(&s.x, 1);
              r[0] = ol_load_lo_relaxed(&s.x) == 0;
          },
          [](Shared &s, Reg r) {
              ol_store_lo_release(&s.x, 1);
              r[1] = ol_load_hi_relaxed(&s.x) == 0;
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, allowed, allowed}},
        {"park-in-the-other-half-by-word",
         "as forward-half: looking at the whole word does not help, for one's own half is "
         "forwarded",
         {[](Shared &s, Reg r) {
              ol_store_hi_relaxed(&s.x, 1);
              r[0] = ol_lo(ol_load_relaxed(&s.x)) == 0;
          },
          [](Shared &s, Reg r) {
              ol_store_lo_release(&s.x, 1);
              r[1] = ol_hi(ol_load_acquire(&s.x)) == 0;
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, allowed, allowed}},
        {"tas",
         "C++20: two sections under a test-and-set lock see each other's writes",
         {[](Shared &s, Reg r) {
              if (ol_xchg_acquire(&s.x, 1) == 0) {
                  uint32_t v = ol_load_relaxed(&s.y);
                  ol_store_relaxed(&s.y, v + 1);
                  r[0] = 1;
                  ol_store_release(&s.x, 0);
              }
          },
          [](Shared &s, Reg r) {
              if (ol_xchg_acquire(&s.x, 1) == 0) {
                  uint32_t v = ol_load_relaxed(&s.y);
                  ol_store_relaxed(&s.y, v + 1);
                  r[1] = 1;
                  ol_store_release(&s.x, 0);
              }
          }},
         [](const Shared &s, const uint64_t *r) { return s.y != r[0] + r[1]; },
         {forbidden, forbidden, forbidden}},
        {"tas-relaxed",
         "C++20: a relaxed unlock lets the next holder miss the section's write",
         {[](Shared &s, Reg r) {
              if (ol_xchg_acquire(&s.x, 1) == 0) {
                  uint32_t v = ol_load_relaxed(&s.y);
                  ol_store_relaxed(&s.y, v + 1);
                  r[0] = 1;
                  ol_store_relaxed(&s.x, 0);
              }
          },
          [](Shared &s, Reg r) {
              if (ol_xchg_acquire(&s.x, 1) == 0) {
                  uint32_t v = ol_load_relaxed(&s.y);
                  ol_store_relaxed(&s.y, v + 1);
                  r[1] = 1;
                  ol_store_relaxed(&s.x, 0);
              }
          }},
         [](const Shared &s, const uint64_t *r) { return s.y != r[0] + r[1]; },
         {forbidden, forbidden, allowed}},
        {"ticket",
         "C++20: the half-word ticket lock, one turn each",
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
        {"hand-over-and-reuse",
         "C++20 (2+2W, S): what the old owner wrote comes before what the new owner writes",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_lo_release(&s.x, 1);
          },
          [](Shared &s, Reg) {
              while (ol_load_lo_acquire(&s.x) != 1)
                  ol_relax();
              ol_store_relaxed(&s.y, 2);
              ol_store_lo_release(&s.x, 2);
          },
          [](Shared &s, Reg) {
              while (ol_load_lo_acquire(&s.x) != 2)
                  ol_relax();
              ol_store_relaxed(&s.y, 3);
          }},
         [](const Shared &s, const uint64_t *) { return s.y != 3; },
         {forbidden, forbidden, forbidden}},
    };
}

} // namespace ol::litmus
