// SPDX-License-Identifier: MIT
// Two locks, of which the caller must choose one.
struct reader {
	int held;
};
struct writer {
	int held;
};

void reader_lock(struct reader *l)
{
	while (__sync_lock_test_and_set(&l->held, 1))
		;
}

void reader_unlock(struct reader *l)
{
	__sync_lock_release(&l->held);
}

void writer_lock(struct writer *l)
{
	while (__sync_lock_test_and_set(&l->held, 1))
		;
}

void writer_unlock(struct writer *l)
{
	__sync_lock_release(&l->held);
}
