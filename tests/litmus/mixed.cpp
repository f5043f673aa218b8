// SPDX-License-Identifier: MIT
// Halves and words. No paper gives C11 mixed sizes; the arguments rest on
//
//      Flur   Flur et al., Mixed-Size Concurrency, POPL 2017: single-copy atomicity of each access,
//             coherence by byte, forwarding from a narrower store of one's own
//      TSO    the machine of Sewell et al. with a buffer of bytes: a load takes each byte from the
//             newest buffered store to it, else from memory
//      axiom  the ones in axioms.h
//
// In each value the high half is the left part: 0x10002 is 1 in the high half and 2 in the low.
#include "litmus.h"

namespace ol::litmus {

using enum Verdict;

std::vector<Litmus> mixed_tests() {
    return {
        // The halves of a word as two variables.
        {"SB-halves",
         "reasoned, TSO: a buffered half says nothing of the other (real on x86: 5 to 21 % of "
         "runs)",
         {[](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 1);
              r[0] = ol_load_hi_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              ol_store_hi_relaxed(&s.x, 1);
              r[1] = ol_load_lo_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, allowed, allowed}},
        {"SB-halves+fences",
         "as SB+fences",
         {[](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 1);
              ol_fence();
              r[0] = ol_load_hi_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              ol_store_hi_relaxed(&s.x, 1);
              ol_fence();
              r[1] = ol_load_lo_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"SB-halves+rel-acq",
         "as SB+rel-acq",
         {[](Shared &s, Reg r) {
              ol_store_lo_release(&s.x, 1);
              r[0] = ol_load_hi_acquire(&s.x);
          },
          [](Shared &s, Reg r) {
              ol_store_hi_release(&s.x, 1);
              r[1] = ol_load_lo_acquire(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, allowed, allowed}},
        {"SB-halves+xchg+fence",
         "as SB+xchgs, the exchange of one half: it drains x86's buffer",
         {[](Shared &s, Reg r) {
              r[2] = ol_xchg_lo_acq_rel(&s.x, 1);
              r[0] = ol_load_hi_acquire(&s.x);
          },
          [](Shared &s, Reg r) {
              ol_store_hi_relaxed(&s.x, 1);
              ol_fence();
              r[1] = ol_load_lo_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"SB-halves+word-adds",
         "C++20 [atomics.order]/10 with axiom stores: adds to the whole word have one order, and "
         "the "
         "second returns what the first did",
         {[](Shared &s, Reg r) { r[0] = ol_add_relaxed(&s.x, 1) >> 16; },
          [](Shared &s, Reg r) { r[1] = ol_lo(ol_add_hi_relaxed(&s.x, 1)); }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP-halves",
         "as MP; Flur: stores and loads that do not overlap are reordered as any others",
         {[](Shared &s, Reg) {
              ol_store_hi_relaxed(&s.x, 1);
              ol_store_lo_relaxed(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_lo_relaxed(&s.x);
              r[1] = ol_load_hi_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP-halves+rel+acq",
         "as MP+rel+acq",
         {[](Shared &s, Reg) {
              ol_store_hi_relaxed(&s.x, 1);
              ol_store_lo_release(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_lo_acquire(&s.x);
              r[1] = ol_load_hi_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"LB-halves",
         "as LB: ours keeps po and rf acyclic",
         {[](Shared &s, Reg r) {
              r[0] = ol_load_lo_relaxed(&s.x);
              ol_store_hi_relaxed(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[1] = ol_load_hi_relaxed(&s.x);
              ol_store_lo_relaxed(&s.x, 1);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 1; },
         {forbidden, forbidden, forbidden}},
        {"2+2W-halves",
         "as 2+2W: stores to different halves are reordered as any others",
         {[](Shared &s, Reg) {
              ol_store_lo_relaxed(&s.x, 1);
              ol_store_hi_relaxed(&s.x, 2);
          },
          [](Shared &s, Reg) {
              ol_store_hi_relaxed(&s.x, 1);
              ol_store_lo_relaxed(&s.x, 2);
          }},
         [](const Shared &s, const uint64_t *) { return s.x == 0x1'0001; },
         {forbidden, forbidden, allowed}},
        {"IRIW-halves",
         "as IRIW",
         {[](Shared &s, Reg) { ol_store_lo_relaxed(&s.x, 1); },
          [](Shared &s, Reg) { ol_store_hi_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_lo_relaxed(&s.x);
              r[1] = ol_load_hi_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_hi_relaxed(&s.x);
              r[3] = ol_load_lo_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
         },
         {forbidden, forbidden, allowed}},
        {"halves-untouched",
         "seam: a store to one half does not disturb the other",
         {[](Shared &s, Reg) { ol_store_lo_relaxed(&s.x, 1); },
          [](Shared &s, Reg) { ol_store_hi_relaxed(&s.x, 1); }},
         [](const Shared &s, const uint64_t *) { return s.x != 0x1'0001; },
         {forbidden, forbidden, forbidden}},

        // A half of one's own, and the word around it.
        {"forward-half",
         "reasoned, TSO and Flur: the own half is forwarded, the other is older (n7-like)",
         {[](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              ol_store_hi_relaxed(&s.x, 1);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0x1'0000; },
         {forbidden, allowed, allowed}},
        {"forward-half+fences",
         "as SB+fences",
         {[](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 1);
              ol_fence();
              r[0] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg r) {
              ol_store_hi_relaxed(&s.x, 1);
              ol_fence();
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0x1'0000; },
         {forbidden, forbidden, forbidden}},
        {"forward-half-acquire",
         "reasoned: an acquire load is forwarded to as any other; x86 has but one kind of load",
         {[](Shared &s, Reg r) {
              ol_store_lo_release(&s.x, 1);
              r[0] = ol_load_acquire(&s.x);
          },
          [](Shared &s, Reg r) {
              ol_store_hi_release(&s.x, 1);
              r[1] = ol_load_acquire(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0x1'0000; },
         {forbidden, allowed, allowed}},
        {"forward-half-and-look-away",
         "reasoned, TSO: n7 with a half: whoever saw its own half in the word still misses a store",
         {[](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0 && r[2] == 0; },
         {forbidden, allowed, allowed}},
        {"n6-half",
         "reasoned, TSO: n6 with a half: the load merges its own low half with an older high half",
         {[](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 2);
              ol_store_relaxed(&s.x, 0x2'0002);
          }},
         [](const Shared &s, const uint64_t *r) {
             return r[0] == 1 && r[1] == 0 && s.x == 0x2'0001;
         },
         {forbidden, allowed, allowed}},
        {"forward-half-over-word",
         "reasoned, TSO: a word store comes under the buffered half and is still unseen",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 0x1'0001); },
          [](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 2);
              r[0] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 2 && s.x == 0x1'0002; },
         {forbidden, allowed, allowed}},
        {"no-word-under-own-half",
         "axiom no tearing: who sees a word store's high half has its own low half above that "
         "store",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 0x1'0001); },
          [](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 2);
              r[0] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 0x1'0002 && s.x == 0x1'0001; },
         {forbidden, forbidden, forbidden}},
        {"forward-both-halves",
         "reasoned: two own halves leave an x86 buffer in order; C11 lets another's word between",
         {[](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 1);
              ol_store_hi_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg) { ol_store_relaxed(&s.x, 0x2'0002); }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0x2'0001; },
         {forbidden, forbidden, allowed}},
        {"own-half-lost",
         "coherence by byte (CoWR): a context sees its own half in the word",
         {[](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 1);
              r[0] = ol_load_relaxed(&s.x);
          },
          [](Shared &s, Reg) { ol_store_hi_relaxed(&s.x, 1); }},
         [](const Shared &, const uint64_t *r) { return ol_lo(static_cast<uint32_t>(r[0])) != 1; },
         {forbidden, forbidden, forbidden}},
        {"own-half-then-add",
         "a read-modify-write of the word sees its context's half, and on x86 drains it",
         {[](Shared &s, Reg r) {
              ol_store_lo_relaxed(&s.x, 1);
              r[0] = ol_add_hi_relaxed(&s.x, 1);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              ol_fence();
              r[2] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[0] != 1 || (r[1] == 0 && ol_lo(static_cast<uint32_t>(r[2])) == 0);
         },
         {forbidden, forbidden, allowed}},
        {"SB-forward-word-to-half",
         "as iwp2.4: a half is forwarded from the context's own word store",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 0x1'0001);
              r[0] = ol_load_lo_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          },
          [](Shared &s, Reg r) {
              ol_store_relaxed(&s.y, 1);
              r[2] = ol_load_hi_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0 && r[2] == 0; },
         {forbidden, allowed, allowed}},

        // No tearing.
        {"word-whole",
         "single-copy atomicity (Intel SDM 3A 9.1.1; Flur): both halves of a word store or neither",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 0x1'0001); },
          [](Shared &s, Reg r) { r[0] = ol_load_relaxed(&s.x); }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 || r[0] == 0x1'0000; },
         {forbidden, forbidden, forbidden}},
        {"words-whole",
         "the same with two stores, in what is loaded and in what is left",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 0x1'0001); },
          [](Shared &s, Reg) { ol_store_relaxed(&s.x, 0x2'0002); },
          [](Shared &s, Reg r) { r[0] = ol_load_relaxed(&s.x); }},
         [](const Shared &s, const uint64_t *r) {
             auto word = static_cast<uint32_t>(r[0]);
             return ol_lo(word) != ol_hi(word) || ol_lo(s.x) != ol_hi(s.x);
         },
         {forbidden, forbidden, forbidden}},
        {"word-by-halves",
         "reasoned, Flur: two loads of different halves are two loads, and may be reordered",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 0x1'0001); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_hi_relaxed(&s.x);
              r[1] = ol_load_lo_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"word-by-halves+rel+acq",
         "C++20: an acquire of one half of a released word orders the load of the other half",
         {[](Shared &s, Reg) { ol_store_release(&s.x, 0x1'0001); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_hi_acquire(&s.x);
              r[1] = ol_load_lo_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"word-by-half-then-word",
         "coherence by byte (CoRR) with no tearing: the word may not be older in the half that was "
         "seen",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 0x1'0001); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_hi_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] != 0x1'0001; },
         {forbidden, forbidden, forbidden}},
        {"halves-by-word",
         "reasoned: x86 keeps stores in order; C11 does not, and halves are different objects to "
         "it",
         {[](Shared &s, Reg) {
              ol_store_lo_relaxed(&s.x, 1);
              ol_store_hi_relaxed(&s.x, 1);
          },
          [](Shared &s, Reg r) { r[0] = ol_load_relaxed(&s.x); }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0x1'0000; },
         {forbidden, forbidden, allowed}},
        {"halves-by-word+rel+acq",
         "C++20: what happened before a release is seen by the very load that acquires from it "
         "(coherence by byte along hb); hardware loads the word at one moment",
         {[](Shared &s, Reg) {
              ol_store_lo_relaxed(&s.x, 1);
              ol_store_hi_release(&s.x, 1);
          },
          [](Shared &s, Reg r) { r[0] = ol_load_acquire(&s.x); }},
         [](const Shared &, const uint64_t *r) { return r[0] == 0x1'0000; },
         {forbidden, forbidden, forbidden}},
        {"half-CoRR-by-word",
         "coherence by byte: a half is not older in a word loaded later",
         {[](Shared &s, Reg) { ol_store_lo_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_lo_relaxed(&s.x);
              r[1] = ol_load_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"word-CoRR-by-half",
         "coherence by byte: a half is not older than in a word loaded earlier",
         {[](Shared &s, Reg) { ol_store_lo_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              r[1] = ol_load_lo_relaxed(&s.x);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"half-CoRW-by-word",
         "coherence by byte: a context's half comes after what it read there in the word",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 0x1'0001); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.x);
              ol_store_lo_relaxed(&s.x, 2);
          }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 0x1'0001 && ol_lo(s.x) == 1; },
         {forbidden, forbidden, forbidden}},
        {"word-CoWR-by-half",
         "coherence by byte: who reads another's half after its own word has it above",
         {[](Shared &s, Reg r) {
              ol_store_relaxed(&s.x, 0x1'0001);
              r[0] = ol_load_lo_relaxed(&s.x);
          },
          [](Shared &s, Reg) { ol_store_lo_relaxed(&s.x, 2); }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 2 && s.x == 0x1'0001; },
         {forbidden, forbidden, forbidden}},
        {"2+2W-word-half",
         "as 2+2W, one store a word and one a half of it",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.x, 0x1'0001);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 2);
              ol_store_lo_relaxed(&s.x, 2);
          }},
         [](const Shared &s, const uint64_t *) { return s.x == 0x1'0001 && s.y == 2; },
         {forbidden, forbidden, allowed}},

        {"S-word+half",
         "as S, and a half of a third context below the word: reasoned, coherence by byte",
         {[](Shared &s, Reg) {
              ol_store_hi_relaxed(&s.x, 1);
              ol_store_relaxed(&s.y, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_relaxed(&s.y);
              ol_store_relaxed(&s.x, 0x3'0003);
          },
          [](Shared &s, Reg) { ol_store_lo_relaxed(&s.x, 2); }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 1 && s.x == 0x1'0003; },
         {forbidden, forbidden, allowed}},
        {"no-word-between-halves-seen",
         "axiom no tearing: a half stored over a word is not seen without the word's other half; "
         "hardware loads the word at one moment",
         {[](Shared &s, Reg) { ol_store_relaxed(&s.x, 0x1'0001); },
          [](Shared &s, Reg) {
              while (ol_load_lo_relaxed(&s.x) != 1)
                  ol_relax();
              ol_store_lo_relaxed(&s.x, 2);
          },
          [](Shared &s, Reg r) { r[0] = ol_load_relaxed(&s.x); }},
         [](const Shared &, const uint64_t *r) { return r[0] == 2; },
         {forbidden, forbidden, forbidden}},

        // Publishing by a half, and by a word.
        {"MP+half-rel+word-acq",
         "C++20: the word's acquire reads the half's release",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_lo_release(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+word-rel+half-acq",
         "C++20: the half's acquire reads the word's release",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_release(&s.x, 0x1'0000);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_hi_acquire(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, forbidden}},
        {"MP+half-rlx+word-acq",
         "C++20: broken on the side of the writer",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_lo_relaxed(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          }},
         [](const Shared &, const uint64_t *r) { return r[0] == 1 && r[1] == 0; },
         {forbidden, forbidden, allowed}},
        {"MP+half-rel+word-add+half-acq",
         "C++20 [intro.races]/5 by byte: a ticket taken in the high half keeps the low half's "
         "release",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_lo_release(&s.x, 1);
          },
          [](Shared &s, Reg r) { r[2] = ol_add_hi_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[2] == 1 && r[0] == 0x1'0001 && r[1] == 0;
         },
         {forbidden, forbidden, forbidden}},
        {"MP+half-rel+other-half+acq",
         "axioms by byte: a store to the other half ends nothing",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_lo_release(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_lo_relaxed(&s.x);
              ol_store_hi_relaxed(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[2] == 1 && r[0] == 0x1'0001 && r[1] == 0;
         },
         {forbidden, forbidden, forbidden}},
        {"MP+half-rel+word+acq",
         "C++20 [intro.races]/5: a store to the word ends it",
         {[](Shared &s, Reg) {
              ol_store_relaxed(&s.y, 1);
              ol_store_lo_release(&s.x, 1);
          },
          [](Shared &s, Reg r) {
              r[2] = ol_load_lo_relaxed(&s.x);
              ol_store_relaxed(&s.x, 0x1'0001);
          },
          [](Shared &s, Reg r) {
              r[0] = ol_load_acquire(&s.x);
              r[1] = ol_load_relaxed(&s.y);
          }},
         [](const Shared &, const uint64_t *r) {
             return r[2] == 1 && r[0] == 0x1'0001 && r[1] == 0;
         },
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

        // Read-modify-writes of halves and words.
        {"half-add-word-add",
         "[atomics.order]/10 by byte: neither loses the other's part",
         {[](Shared &s, Reg r) { r[0] = ol_add_lo_relaxed(&s.x, 1); },
          [](Shared &s, Reg r) { r[1] = ol_add_hi_relaxed(&s.x, 1); }},
         [](const Shared &s, const uint64_t *) { return s.x != 0x1'0001; },
         {forbidden, forbidden, forbidden}},
        {"half-xchg-word-add",
         "[atomics.order]/10 with axiom stores: one of the two comes first, and the other reads it",
         {[](Shared &s, Reg r) { r[0] = ol_xchg_lo_acquire(&s.x, 5); },
          [](Shared &s, Reg r) { r[1] = ol_add_relaxed(&s.x, 0x1'0001); }},
         [](const Shared &s, const uint64_t *r) {
             bool half_first = r[0] == 0 && r[1] == 5 && s.x == 0x1'0006;
             bool word_first = r[0] == 1 && r[1] == 0 && s.x == 0x1'0005;
             return !half_first && !word_first;
         },
         {forbidden, forbidden, forbidden}},
        {"word-cas-half-store",
         "[atomics.order]/10: a half stored before cannot be overwritten by a success that missed "
         "it",
         {[](Shared &s, Reg r) { r[0] = ol_cas_relaxed(&s.x, 0, 0x1'0001); },
          [](Shared &s, Reg) { ol_store_lo_relaxed(&s.x, 2); }},
         [](const Shared &s, const uint64_t *r) { return r[0] == 1 && s.x == 0x1'0001; },
         {forbidden, forbidden, forbidden}},
        {"half-cas-other-half",
         "seam: a compare-exchange of one half never fails for the other",
         {[](Shared &s, Reg r) { r[0] = ol_cas_lo_relaxed(&s.x, 0, 1); },
          [](Shared &s, Reg) { ol_store_hi_relaxed(&s.x, 1); }},
         [](const Shared &s, const uint64_t *r) { return r[0] != 1 || s.x != 0x1'0001; },
         {forbidden, forbidden, forbidden}},
        {"half-cas-race",
         "[atomics.order]/10",
         {[](Shared &s, Reg r) { r[0] = ol_cas_lo_acquire(&s.x, 0, 1); },
          [](Shared &s, Reg r) { r[1] = ol_cas_lo_acquire(&s.x, 0, 2); },
          [](Shared &s, Reg) { ol_store_hi_relaxed(&s.x, 1); }},
         [](const Shared &, const uint64_t *r) { return r[0] == r[1]; },
         {forbidden, forbidden, forbidden}},
        {"half-add-wraps",
         "seam: no carry into the other half",
         {[](Shared &s, Reg r) { r[0] = ol_add_lo_relaxed(&s.x, 0x8000); },
          [](Shared &s, Reg r) { r[1] = ol_add_lo_relaxed(&s.x, 0x8000); }},
         [](const Shared &s, const uint64_t *r) { return s.x != 0 || r[0] == r[1]; },
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
    };
}

} // namespace ol::litmus
