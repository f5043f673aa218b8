// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The file that the threads of a replay repeat, as python/overlock_tools/core/trace/plan.py writes it. */
#include <linux/fs.h>
#include <linux/kernel_read_file.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include "loop.h"
#include <replay_format.h>

static char *plan;
module_param(plan, charp, 0444);
MODULE_PARM_DESC(plan, "file of the replay");

struct replay_head *replay_plan;

int replay_load(void)
{
	const char *wrong;
	void *read = NULL;
	ssize_t size;

	size = plan ? kernel_read_file_from_path(plan, 0, &read, INT_MAX, NULL, READING_UNKNOWN)
		    : -EINVAL;
	if (size < 0) {
		pr_err("overlock_loop: the plan of the replay cannot be read: %zd\n", size);
		return (int)size;
	}
	wrong = replay_check_file(read, (u64)size, false);
	if (wrong) {
		pr_err("overlock_loop: the plan of the replay: %s\n", wrong);
		vfree(read);
		return -EINVAL;
	}
	replay_plan = read;
	return 0;
}

void replay_convert(void)
{
	struct replay_op *ops = replay_ops(replay_plan);
	u64 i;

	for (i = 0; i < replay_plan->ops; i++)
		ops[i].work = mul_u64_u64_div_u64(ops[i].work, 1000, trial.unit_ps);
}

void replay_free(void)
{
	vfree(replay_plan);
}
