/* SPDX-License-Identifier: MIT */
/* Loops that wait and loops that do not, a function each; test_loops.py has what each is. */
	.text

	.macro	begin name
	.globl	\name
	.type	\name, @function
	.p2align 6
\name:
	.cfi_startproc
	.endm

	.macro	end name
	.cfi_endproc
	.size	\name, . - \name
	.p2align 6
	.endm

/* As BLIS's barrier: entered at its top, no pause. */
	begin	waits
1:	mov	(%rdi), %rax
	cmp	%rax, %rsi
	je	1b
	ret
	end	waits

/* As GNU's OpenMP: entered in its middle, behind filling. */
	begin	waits_from_the_middle
	jmp	2f
	nopl	0(%rax)
1:	pause
2:	mov	(%rdi), %eax
	cmp	%esi, %eax
	je	1b
	ret
	end	waits_from_the_middle

/* Its way back is a jump without a condition. */
	begin	waits_and_jumps
1:	mov	8(%rdi), %rax
	test	%rax, %rax
	jne	2f
	pause
	jmp	1b
2:	ret
	end	waits_and_jumps

/* A word of the object's own. */
	begin	waits_for_a_global
1:	testb	$1, flag(%rip)
	jne	1b
	ret
	end	waits_for_a_global

/* By way of a pointer that another thread changes. */
	begin	waits_behind_a_pointer
1:	mov	(%rdi), %rax
	mov	8(%rax), %rdx
	and	$3, %edx
	cmp	$2, %edx
	jne	1b
	ret
	end	waits_behind_a_pointer

/* As compilers have a condition of two parts. */
	begin	waits_for_two_words
1:	cmpl	$0, (%rdi)
	je	2f
	cmpl	$0, (%rsi)
	jne	1b
2:	ret
	end	waits_for_two_words

/* setcc, as without optimisation. */
	begin	waits_with_setcc
1:	cmpl	$0, (%rdi)
	sete	%al
	movzbl	%al, %eax
	test	%eax, %eax
	jne	1b
	ret
	end	waits_with_setcc

/* As Redis waits for its I/O threads: each round adds up what several words have. */
	begin	waits_for_a_sum
1:	lea	flag(%rip), %rdx
	xor	%ecx, %ecx
	mov	$1, %eax
2:	add	$1, %eax
	add	$64, %rdx
	add	-64(%rdx), %rcx
	cmp	%esi, %eax
	jl	2b
	test	%rcx, %rcx
	jne	1b
	ret
	end	waits_for_a_sum

/* With a jump over a lock prefix elsewhere in the function, as glibc has where there is one thread. */
	begin	waits_beside_a_lock_prefix
	cmpb	$0, flag(%rip)
	je	1f
	lock
1:	decl	(%rsi)
2:	cmpl	$0, (%rdi)
	jne	2b
	ret
	end	waits_beside_a_lock_prefix

	begin	counts
	mov	$1000000, %eax
1:	cmpl	$0, (%rdi)
	jne	2f
	pause
	dec	%eax
	jne	1b
2:	ret
	end	counts

/* The bound is a variable. */
	begin	counts_to_a_variable
	xor	%eax, %eax
1:	cmpl	$0, (%rdi)
	jne	2f
	add	$1, %rax
	cmp	limit(%rip), %rax
	jb	1b
2:	ret
	end	counts_to_a_variable

/* As Redis's I/O threads: its jump has a way to the loop around it, by the counter's end alone. */
	begin	counts_again_and_again
1:	mov	$1000000, %eax
	jmp	3f
2:	sub	$1, %eax
	je	4f
3:	cmpl	$0, (%rdi)
	je	2b
4:	movl	$0, (%rsi)
	jmp	1b
	end	counts_again_and_again

	begin	waits_until_a_time
1:	cmpl	$0, (%rdi)
	jne	2f
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	cmp	%rsi, %rax
	jb	1b
2:	ret
	end	waits_until_a_time

/* As llama.cpp's threads wait for work: where the wait ends, code lies between. */
	begin	waits_beside_other_code
	xor	%eax, %eax
1:	mov	(%rdi), %edx
	cmp	8(%rbx), %edx
	je	2f
	mov	%edx, 8(%rbx)
	ret
2:	cmp	%rcx, %rax
	je	3f
	pause
	add	$1, %rax
	jmp	1b
3:	ret
	end	waits_beside_other_code

/* The address is loaded again before the next round, after the register had something else. */
	begin	waits_where_the_last_round_loaded
	xor	%eax, %eax
	mov	16(%rbx), %rdx
1:	mov	(%rdx), %edx
	test	%edx, %edx
	jne	2f
	pause
	mov	16(%rbx), %rdx
	add	$1, %rax
	cmp	%rcx, %rax
	jne	1b
2:	ret
	end	waits_where_the_last_round_loaded

	begin	exchanges
1:	mov	$1, %eax
	xchg	%eax, (%rdi)
	test	%eax, %eax
	jne	1b
	ret
	end	exchanges

	begin	calls
1:	call	elsewhere
	cmpl	$0, flag(%rip)
	jne	1b
	ret
	end	calls

	begin	asks_the_kernel
1:	mov	$24, %eax
	syscall
	cmpl	$0, (%rdi)
	jne	1b
	ret
	end	asks_the_kernel

/* A pause of so many rounds between two looks; the rounds grow. */
	begin	backs_off
	mov	$4, %edx
1:	mov	%edx, %ecx
2:	pause
	dec	%ecx
	jne	2b
	inc	%edx
	cmp	$1000, %edx
	je	3f
	cmpl	$0, (%rdi)
	jne	1b
3:	ret
	end	backs_off

/* Work until a flag ends it: a thread that yields in it would lose what it works for. */
	begin	works
	xor	%eax, %eax
1:	imul	$7, %rax, %rax
	inc	%rax
	cmpl	$0, (%rdi)
	jne	1b
	ret
	end	works

	begin	works_and_counts
	mov	$1000, %ecx
1:	imul	$7, %rax, %rax
	cmpl	$0, (%rdi)
	jne	2f
	dec	%ecx
	jne	1b
2:	ret
	end	works_and_counts

	begin	counts_until_told
	xor	%eax, %eax
1:	inc	%rax
	cmpl	$0, (%rdi)
	jne	1b
	ret
	end	counts_until_told

	begin	works_with_vectors
1:	movsd	(%rdi), %xmm1
	addsd	%xmm1, %xmm0
	cmpl	$0, (%rdi)
	jne	1b
	ret
	end	works_with_vectors

/* It ends by a word, too, but what it looks for is in what it passes. */
	begin	looks_at_word_after_word
1:	add	$8, %rax
	cmp	%rsi, %rax
	jae	2f
	cmpq	$16, 8(%rcx)
	mov	(%rax), %rdx
	ja	1b
2:	ret
	end	looks_at_word_after_word

/* As GCC unlinks the uses of a name: round the first jump lead both loops, round the second one only what may wait. */
	begin	is_part_of_work
	jmp	3f
1:	mov	(%rax), %rdx
	test	%rdx, %rdx
	je	4f
	mov	%rdx, (%rcx)
	mov	%rax, 8(%rdx)
3:	mov	8(%rbx), %rax
4:	cmp	%r13, %rax
	jne	1b
	ret
	end	is_part_of_work

/* The same, but what may wait has no jump to its beginning; its other jump is one of the loop around it. */
	begin	is_part_of_work_and_falls
	jmp	4f
	nopl	0(%rax)
1:	mov	(%rax), %rdx
	test	%rdx, %rdx
	jne	3f
2:	cmp	%r13, %rax
	jne	1b
	ret
3:	mov	%rdx, (%rcx)
	mov	%rax, 8(%rdx)
4:	mov	8(%rbx), %rax
	jmp	2b
	end	is_part_of_work_and_falls

/* Most likely a variable of its own that had no register. */
	begin	looks_at_its_own_frame
1:	cmpl	$0, -8(%rsp)
	jne	1b
	ret
	end	looks_at_its_own_frame

/* As a compiler leaves it that does not optimize. */
	begin	keeps_variables_in_its_frame
	push	%rbp
	mov	%rsp, %rbp
	mov	%rdi, -24(%rbp)
	movl	$0, -4(%rbp)
1:	mov	-24(%rbp), %rax
	mov	(%rax), %eax
	mov	%eax, -8(%rbp)
	cmpl	$0, -8(%rbp)
	jne	1b
	pop	%rbp
	ret
	end	keeps_variables_in_its_frame

/* None of these waits. */
	begin	has_too_few_registers
	mov	%r12, -16(%rsp)
1:	mov	-24(%rsp), %rax
	mov	(%rax), %eax
	mov	%eax, -8(%rsp)
	cmpl	$0, -8(%rsp)
	jne	1b
	mov	-16(%rsp), %r12
	ret
	end	has_too_few_registers

	begin	counts_in_its_frame
1:	mov	-8(%rsp), %rax
	inc	%rax
	mov	%rax, -8(%rsp)
	cmp	$100, %rax
	jne	1b
	ret
	end	counts_in_its_frame

	begin	stores_elsewhere
1:	mov	-24(%rsp), %rax
	mov	(%rax), %eax
	mov	%eax, -8(%rsp)
	mov	%eax, (%rdi)
	cmpl	$0, -8(%rsp)
	jne	1b
	ret
	end	stores_elsewhere

	begin	length
	xor	%eax, %eax
1:	cmpb	$0, (%rdi,%rax)
	je	2f
	inc	%rax
	jmp	1b
2:	ret
	end	length

	begin	walks
1:	mov	(%rdi), %rdi
	test	%rdi, %rdi
	jne	1b
	ret
	end	walks

	begin	walks_two_by_two
1:	mov	(%rdi), %rax
	mov	8(%rax), %rdi
	test	%rdi, %rdi
	jne	1b
	ret
	end	walks_two_by_two

	begin	tries_again
	mov	(%rdi), %eax
1:	lea	1(%rax), %edx
	lock cmpxchg %edx, (%rdi)
	jne	1b
	ret
	end	tries_again

	begin	stores
1:	mov	%rsi, 8(%rdi)
	cmpl	$0, (%rdi)
	jne	1b
	ret
	end	stores

	begin	idles
1:	pause
	cmp	%rsi, %rdi
	jne	1b
	ret
	end	idles

	begin	hangs
1:	cmp	%rsi, %rdi
	jne	1b
	ret
	end	hangs

	begin	delays
	mov	$1000, %ecx
1:	pause
	dec	%ecx
	jne	1b
	ret
	end	delays

/* As a stack of errors is cleared: the index is loaded, and stepped in a register. */
	begin	steps_what_it_loaded
	mov	(%rdi), %edx
1:	cmpl	$0, 8(%rdi)
	jne	3f
	test	%edx, %edx
	jg	2f
	mov	(%rdi), %edx
2:	sub	$1, %edx
	cmp	$0, %edx
	jne	1b
3:	ret
	end	steps_what_it_loaded

/* Jumps with a displacement of four bytes, and of one without dead bytes in its reach. */
	begin	jumps_far
	.rept	40
	mov	%rsi, 8(%rdi)
	.endr
1:	cmpl	$0, (%rdi)
	je	2f
	pause
	.byte	0x0f, 0x1f, 0x80, 0, 0, 0, 0
	.rept	40
	pause
	nopl	0(%rax)
	.endr
	jmp	1b
2:	.rept	40
	mov	%rsi, 8(%rdi)
	.endr
	ret
	end	jumps_far

	begin	has_no_room
	.rept	40
	mov	%rsi, 8(%rdi)
	.endr
1:	cmpl	$0, (%rdi)
	jne	1b
	.rept	40
	mov	%rsi, 8(%rdi)
	.endr
	ret
	end	has_no_room

/* The filling before the loop has two bytes, and that before it more. */
	begin	hops
	jmp	1f
	nopl	0(%rax)
	nopl	0(%rax)
1:	.rept	24
	mov	%rsi, 8(%rdi)
	.endr
	jmp	2f
	xchg	%ax, %ax
2:	.rept	24
	mov	%rsi, 8(%rdi)
	.endr
3:	cmpl	$0, (%rdi)
	jne	3b
	.rept	40
	mov	%rsi, 8(%rdi)
	.endr
	ret
	end	hops

/* What may look like filling, but is run. */
	begin	falls_into_filling
	.rept	40
	mov	%rsi, 8(%rdi)
	.endr
1:	cmpl	$0, (%rdi)
	jne	1b
	nopl	0(%rax)
	nopl	0(%rax)
	.rept	40
	mov	%rsi, 8(%rdi)
	.endr
	ret
	end	falls_into_filling

	.section .note.GNU-stack, "", @progbits
	.data
	.hidden	flag, limit
	.globl	flag, limit
flag:	.quad	0
limit:	.quad	0
