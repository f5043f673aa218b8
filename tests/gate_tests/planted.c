/* SPDX-License-Identifier: MIT */
/* What test_mutant.py breaks. */

void count(void);

static int word;

void count(void)
{
	word += 1;
}
