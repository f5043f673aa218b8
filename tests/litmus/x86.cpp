// SPDX-License-Identifier: MIT
// The examples of the papers on x86-TSO, by their names there, as far as the classic shapes do not
// have them already: Owens, Sarkar and Sewell, TPHOLs 2009, section 4 (n8 by its erratum), and
// Sewell et al., CACM 2010. The verdicts for C11 follow from RC11.
#include "litmus.h"

namespace ol::litmus {

using enum Verdict;

std::vector<Litmus> x86_tests() {
    return {
        {"iwp2.4/amd9",
         "x86: a context sees its own store before others do",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[2] = ol_load_relaxed(&s.y);
              r[3] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
         },
         {forbidden, allowed, allowed}},
        {"amd10",
         "x86: iwp2.4 with mfences",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_fence();
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              r[2] = ol_load_relaxed(&s.y);
              r[3] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
         },
         {forbidden, forbidden, forbidden}},
        {"amd3",
         "x86: the buffer holds more than one store",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              ol_store_relaxed(&s.x, 2);
              r[0] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_store_relaxed(&s.y, 2);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, allowed, allowed}},
        {"iwp2.7/amd7",
         "x86: locked instructions have a total order; RC11: acq_rel is as IRIW+rel-acq",
         {[](Shared &s, Reg r) { r[4] = ol_xchg_acq_rel(&s.x, 1); },
          [](Shared &s, Reg r) { r[5] = ol_xchg_acq_rel(&s.y, 1); },
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
        {"iwp2.8.b",
         "x86: stores are not reordered with locks; C++20: an acq_rel exchange does not release "
         "what "
         "comes after it",
         {[](Shared &s, Reg r) {
              r[2] = ol_xchg_acq_rel(&s.x, 1);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.y);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"n1",
         "x86: the store buffer is not seen by others",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 2);
              r[0] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_relaxed(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_relaxed(&s.x);
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 1 && r[2] == 2; },
         {forbidden, allowed, allowed}},
        {"n2",
         "x86: stores reach memory in program order",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_relaxed(&s.x, 1);
          },
          [](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 2);
              ol_store_relaxed(&s.z, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_relaxed(&s.z);
              r[3] = ol_load_relaxed(&s.y);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 2 && r[2] == 1 && r[3] == 0;
         },
         {forbidden, forbidden, allowed}},
        {"n3",
         "x86: locked or not, stores are seen in one order",
         {[](Shared &s, Reg r) { r[6] = ol_xchg_acq_rel(&s.x, 1); },
          [](Shared &s, Reg) { ol_store_relaxed(&s.y, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              r[1] = ol_load_relaxed(&s.x);
              r[2] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              r[3] = ol_load_relaxed(&s.x);
              r[4] = ol_load_relaxed(&s.y);
              r[5] = ol_load_relaxed(&s.y);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 1 && r[4] == 0 && r[5] == 1;
         },
         {forbidden, forbidden, allowed}},
        {"n4",
         "x86: coherence; C++20 [intro.races]/17",
         {[](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_store_relaxed(&s.x, 1);
              r[1] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_relaxed(&s.x);
              ol_store_relaxed(&s.x, 2);
              r[3] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 2 && r[1] == 1 && r[2] == 1 && r[3] == 2;
         },
         {forbidden, forbidden, forbidden}},
        {"n4b",
         "x86 (CACM): loads are not reordered with later stores of the same word",
         {[](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_store_relaxed(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_relaxed(&s.x);
              ol_store_relaxed(&s.x, 2);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 2 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"n5",
         "x86: a load does not pass its own context's store of the same word",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 2);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 2 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"n6",
         "x86: forwarding lets a context see its store and still be overtaken by another's stores",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 2);
              ol_store_relaxed(&s.x, 2);
          }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 1 && r[1] == 0 && s.x == 1; },
         {forbidden, allowed, allowed}},
        {"n7",
         "x86: as iwp2.4 with the second store in a context of its own",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg) { ol_store_relaxed(&s.y, 1); },
          [](Shared &s, Reg r) {
              r[2] = ol_load_relaxed(&s.y);
              r[3] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
         },
         {forbidden, allowed, allowed}},
        {"n8",
         "x86 (erratum): one locked instruction does not drain the other's buffer",
         {[](Shared &s, Reg r) {
              r[2] = ol_xchg_acq_rel(&s.x, 1);
              r[0] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, allowed, allowed}},
        {"rwc-unfenced",
         "x86: store buffering with the first store seen by a third",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0 && r[2] == 0; },
         {forbidden, allowed, allowed}},
        {"rwc-fenced",
         "x86: forbidden by the one mfence; RC11: a lone SC fence orders nothing here",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0 && r[2] == 0; },
         {forbidden, forbidden, allowed}},
    };
}

} // namespace ol::litmus
