/* SPDX-License-Identifier: MIT */
/*
 * From a stub to C and back, with everything as the loop left it: general registers, flags and the red zone below its
 * stack. Vector registers are kept because nothing here uses them.
 *
 * On entry:	0(%rsp) return into the stub, 8(%rsp) the site, 16(%rsp) the jump's target, 24(%rsp) the red zone
 *
 * To who unwinds the stack this is a signal's frame: it interrupted the loop at the jump's target.
 */
	.text
	.globl	ol_spins_enter
	.hidden	ol_spins_enter
	.type	ol_spins_enter, @function
	.p2align 4
ol_spins_enter:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa rsp, 152
	.cfi_offset rip, -136
	endbr64
	pushfq
	.cfi_adjust_cfa_offset 8
	/* All 16, in the order of their numbers: an array, of which the one of %rsp is of no use. */
	.irp	register, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rsp, rbx, rdx, rcx, rax
	pushq	%\register
	.cfi_adjust_cfa_offset 8
	.ifnc	\register, rsp
	.cfi_rel_offset \register, 0
	.endif
	.endr
	cld
	movq	144(%rsp), %rdi
	movq	%rsp, %rsi
	call	ol_spins_look
	.irp	register, rax, rcx, rdx, rbx
	popq	%\register
	.cfi_adjust_cfa_offset -8
	.cfi_restore \register
	.endr
	leaq	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	.irp	register, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	popq	%\register
	.cfi_adjust_cfa_offset -8
	.cfi_restore \register
	.endr
	popfq
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	ol_spins_enter, . - ol_spins_enter
/* syscall() of libc's, after a look at what it is for. */
#define SECCOMP 317
	.globl	syscall
	.type	syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	endbr64
	cmpq	$SECCOMP, %rdi
	je	1f
	movq	ol_spins_real_syscall(%rip), %rax
	testq	%rax, %rax
	je	1f
	jmpq	*%rax
1:	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	ol_spins_before_syscall
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmpq	*ol_spins_real_syscall(%rip)
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
