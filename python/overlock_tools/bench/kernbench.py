# SPDX-License-Identifier: MIT
"""C files for guests to compile: always the same, and what they make tells whether it is right.

Each is some hundred functions of integers behind a long header; together they are a program that
prints a number. They need no library, so that any C compiler makes them.
"""

import random
import subprocess
import tempfile
from pathlib import Path

from overlock_tools.core.system.errors import FAILED, MISSING, Fail, last_line

SEED = 1
UNITS, FUNCTIONS, DECLARATIONS = 24, 30, 500
HEADER = "kernbench.h"
EXPECTED = "expected"

START = """\
#include "kernbench.h"

/* No library: the kernel jumps here, and is called for the two things that are needed. */
__asm__(".globl _start\\n"
	"_start:\\n"
	"xorl %ebp, %ebp\\n"
	"andq $-16, %rsp\\n"
	"call text\\n"
	"movq %rax, %rsi\\n"
	"movl $1, %eax\\n"
	"movl $1, %edi\\n"
	"movl $9, %edx\\n"
	"syscall\\n"
	"movl $60, %eax\\n"
	"xorl %edi, %edi\\n"
	"syscall\\n");

static char line[9];

char *text(void)
{
	unsigned sum = 1, i;

"""
END = """\
	for (i = 0; i < 8; i++)
		line[i] = "0123456789abcdef"[sum >> (28 - 4 * i) & 15];
	line[8] = '\\n';
	return line;
}
"""


def _header(draw: random.Random) -> str:
    lines = ["#ifndef KERNBENCH_H", "#define KERNBENCH_H"]
    for i in range(DECLARATIONS):
        size = draw.randrange(2, 9)
        lines.append(f"#define K{i} {draw.randrange(1, 2**31)}u")
        lines.append(f"struct s{i} {{ unsigned a, b[{size}]; struct s{i} *n; }};")
        lines.append(f"static inline unsigned h{i}(const struct s{i} *p) {{ return p->a ^ K{i}; }}")
    lines += [f"unsigned unit{i}(unsigned x);" for i in range(UNITS)]
    return "\n".join([*lines, "#endif", ""])


def _function(draw: random.Random, i: int) -> str:
    kind, one, other = (draw.randrange(DECLARATIONS) for _ in range(3))
    turns, shift, factor = draw.randrange(2, 6), draw.randrange(1, 31), draw.randrange(1, 1000)
    cases = "\n".join(
        f"\t\tcase {n}:\n\t\t\tx += K{draw.randrange(DECLARATIONS)} * i;\n\t\t\tbreak;"
        for n in range(draw.randrange(3, 8))
    )
    return f"""\
static unsigned f{i}(unsigned x)
{{
	struct s{kind} v;
	unsigned i;

	v.a = x;
	v.b[0] = K{one};
	v.n = &v;
	for (i = 0; i < {turns}; i++) {{
		switch ((x + i) % 8) {{
{cases}
		default:
			x ^= v.n->b[0] + i * {factor};
		}}
		x = (x << {shift} | x >> {32 - shift}) + h{kind}(&v);
		if (x & 1)
			v.a += K{other};
		else
			v.b[0] = x / (i + 1);
	}}
	return x;
}}
"""


def _unit(draw: random.Random, number: int) -> str:
    functions = [_function(draw, i) for i in range(FUNCTIONS)]
    calls = "\n".join(f"\tx = f{i}(x);" for i in range(FUNCTIONS))
    last = f"unsigned unit{number}(unsigned x)\n{{\n{calls}\n\treturn x;\n}}\n"
    return "\n".join([f'#include "{HEADER}"\n', *functions, last])


def sources() -> dict[str, str]:
    """By name; the same in every call."""
    draw = random.Random(SEED)  # noqa: S311 - no secret
    calls = "".join(f"\tsum = unit{i}(sum);\n" for i in range(UNITS))
    found = {HEADER: _header(draw), "start.c": START + calls + END}
    return found | {f"unit{i:02}.c": _unit(draw, i) for i in range(UNITS)}


def expected(compiler: str = "gcc") -> str:
    """What the program prints, as a compiler of this machine makes it."""
    with tempfile.TemporaryDirectory(prefix="overlock-kernbench-") as name:
        folder = Path(name)
        for file, text in sources().items():
            (folder / file).write_text(text)
        units = [str(path) for path in sorted(folder.glob("*.c"))]
        command = [compiler, "-O0", "-w", "-ffreestanding", "-nostdlib", "-static", "-fno-pie"]
        command += ["-no-pie", "-fno-stack-protector", "-o", str(folder / "program"), *units]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise Fail(f"there is no {compiler}; install gcc", MISSING) from error
        if done.returncode:
            raise Fail(f"{compiler} does not make kernbench: {last_line(done.stderr)}", FAILED)
        return subprocess.run(
            [folder / "program"], capture_output=True, text=True, check=True
        ).stdout.strip()
