/* SPDX-License-Identifier: MIT */
/*
 * Waits for a word with everything set that a thread has, and says in %rax what was changed: 0, nothing.
 *
 *	long kept(volatile int *word, void *scratch)	scratch: 16 vectors
 *
 * Its jump back does not look at the flags, and they are looked at in each round. With FAR, jumps back have four bytes.
 */
#ifdef FAR
#define BACK {disp32}
#else
#define BACK
#endif
	.text
	.globl	kept
	.type	kept, @function
	.p2align 6
kept:
	.cfi_startproc
	push	%rbp
	.cfi_adjust_cfa_offset 8
	push	%rbx
	.cfi_adjust_cfa_offset 8
	push	%r12
	.cfi_adjust_cfa_offset 8
	push	%r13
	.cfi_adjust_cfa_offset 8
	push	%r14
	.cfi_adjust_cfa_offset 8
	push	%r15
	.cfi_adjust_cfa_offset 8
	.set	i, 1
	.rept	16
	movq	$(0x0102030405060708 * i), %rax
	movq	%rax, -8 * i(%rsp)
	.set	i, i + 1
	.endr
	movdqu	(%rsi), %xmm0
	movdqu	(%rsi), %xmm7
	movdqu	(%rsi), %xmm15
	movabs	$0x1111111111111111, %rax
	movabs	$0x2222222222222222, %rbx
	movabs	$0x3333333333333333, %rdx
	movabs	$0x4444444444444444, %rbp
	movabs	$0x5555555555555555, %r8
	movabs	$0x6666666666666666, %r9
	movabs	$0x7777777777777777, %r10
	movabs	$0x8888888888888888, %r11
	movabs	$0x9999999999999999, %r12
	movabs	$0xaaaaaaaaaaaaaaaa, %r13
	movabs	$0xbbbbbbbbbbbbbbbb, %r14
	mov	%rsp, %r15
	std
	stc
	jmp	kept_loop
	nopl	0(%rax)
	nopl	0(%rax)
	.globl	kept_loop
kept_loop:
	jnc	changed_flags
	mov	(%rdi), %ecx
#ifdef FAR
	jecxz	1f
	jmp	2f
1:	BACK jmp kept_loop
2:
#else
	jecxz	kept_loop
#endif
	jnc	changed_flags
	pushfq
	cld
	popq	%rcx
	testl	$0x400, %ecx
	jz	changed_flags
	cmp	%rsp, %r15
	jne	changed_register
	.macro	same value, register
	movabs	$\value, %rcx
	cmp	%rcx, \register
	jne	changed_register
	.endm
	same	0x1111111111111111, %rax
	same	0x2222222222222222, %rbx
	same	0x3333333333333333, %rdx
	same	0x4444444444444444, %rbp
	same	0x5555555555555555, %r8
	same	0x6666666666666666, %r9
	same	0x7777777777777777, %r10
	same	0x8888888888888888, %r11
	same	0x9999999999999999, %r12
	same	0xaaaaaaaaaaaaaaaa, %r13
	same	0xbbbbbbbbbbbbbbbb, %r14
	.irp	vector, 0, 7, 15
	movdqu	(%rsi), %xmm1
	pcmpeqb	%xmm\vector, %xmm1
	pmovmskb %xmm1, %ecx
	cmp	$0xffff, %ecx
	jne	changed_vector
	.endr
	/* The first of the red zone had the flags a moment ago. */
	.set	i, 2
	.rept	15
	movabs	$(0x0102030405060708 * i), %rcx
	cmp	%rcx, -8 * i(%rsp)
	jne	changed_red_zone
	.set	i, i + 1
	.endr
	xor	%eax, %eax
	jmp	out
	nopl	0(%rax,%rax,1)
changed_flags:
	mov	$1, %eax
	jmp	out
changed_register:
	mov	$2, %eax
	jmp	out
changed_vector:
	mov	$3, %eax
	jmp	out
changed_red_zone:
	mov	$4, %eax
out:
	cld
	pop	%r15
	.cfi_adjust_cfa_offset -8
	pop	%r14
	.cfi_adjust_cfa_offset -8
	pop	%r13
	.cfi_adjust_cfa_offset -8
	pop	%r12
	.cfi_adjust_cfa_offset -8
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	kept, . - kept

/* As a barrier waits; void await(volatile int *word) */
	.globl	await
	.type	await, @function
	.p2align 6
await:
	.cfi_startproc
1:	mov	(%rdi), %eax
	test	%eax, %eax
	BACK je	1b
	.globl	await_jumped
await_jumped:
	ret
	.cfi_endproc
	.size	await, . - await
	.p2align 6

/* As OpenMP's runtimes wait before they sleep; void await_so_long(volatile int *word, long rounds) */
	.globl	await_so_long
	.type	await_so_long, @function
	.p2align 6
await_so_long:
	.cfi_startproc
1:	mov	(%rdi), %eax
	test	%eax, %eax
	jne	2f
	pause
	sub	$1, %rsi
	BACK jne 1b
2:	ret
	.cfi_endproc
	.size	await_so_long, . - await_so_long
	.p2align 6

/* A loop in a loop that begins a byte before it; void await_both(volatile int *word, volatile int *other) */
	.globl	await_both
	.type	await_both, @function
await_both:
	.cfi_startproc
1:	nop
	.globl	await_inner
await_inner:
	mov	(%rdi), %eax
	test	%eax, %eax
	BACK je	await_inner
	mov	(%rsi), %eax
	test	%eax, %eax
	BACK je	1b
	ret
	.cfi_endproc
	.size	await_both, . - await_both
	.p2align 6

/* Each round takes one of two jumps; void await_either(volatile int *word) */
	.globl	await_either
	.type	await_either, @function
	.p2align 6
await_either:
	.cfi_startproc
1:	mov	(%rdi), %eax
	test	$1, %al
	BACK je	1b
	test	$2, %al
	BACK je	1b
	ret
	.cfi_endproc
	.size	await_either, . - await_either
	.p2align 6

	.globl	await_end
	.type	await_end, @function
await_end:
	.cfi_startproc
	ret
	.cfi_endproc
	.size	await_end, . - await_end
	.section .note.GNU-stack, "", @progbits
