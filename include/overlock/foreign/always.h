/* SPDX-License-Identifier: MIT */
/*
 * Included before anything else in every C or C++ file that is checked; of the language alone, so that the file
 * still chooses its feature macros. What the compiler has built in cannot be renamed by the linker.
 */
#ifdef __cplusplus
extern "C"
#endif
	void
	ol_checked_spin(void);
#define __builtin_ia32_pause	ol_checked_spin
