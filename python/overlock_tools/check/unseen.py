# SPDX-License-Identifier: MIT
"""What a lock from outside calls and the checker does not answer: functions of libraries, whose
accesses and waiting it does not see."""

import re
import subprocess
from pathlib import Path

from overlock_tools.core.system.errors import Fail

# The checker's own, the compiler's calls, and what the linker adds to every shared object.
ANSWERED = re.compile(
    r"__wrap_|__tsan_|__sanitizer_cov_|ol_checked_|_ITM_|__gmon_start__$|__cxa_finalize$"
)
# They touch no memory that contexts share, or only as a program starts and ends.
HARMLESS = re.compile(
    r"__stack_chk_fail$|__cxa_atexit$|__cxa_pure_virtual$|__gxx_personality_v0$|_Unwind_Resume$"
    r"|__cxa_(begin|end)_catch$|__cxa_call_terminate$|_ZSt9terminatev$|_ZSt20__throw_"
    r"|_ZTV|_ZTI|_ZTS|_ZSt11_Hash_bytesPKvmm$|(ll?)?abs$|pthread_equal$|rust_eh_personality$"
)
# A clock, random numbers, the kernel: a loop that ends by these seems never to end.
UNMODELLED = re.compile(
    r"\t(?:lock )?(rdtscp?|rdrand|rdseed|rdpmc|syscall|xbegin|mrs\s+\w+, cntvct_el0|svc)\b"
)
THREAD_LOCAL = re.compile(
    r"R_\w+_(?:TPOFF64|TPREL64|TLS_TPREL|TLSDESC)\b\s*(?:[0-9a-f]{16} +(\w+))?"
)
# They wait, or let others go on.
BLOCKING = re.compile(
    r"(__)?pthread_(?!equal$|[gs]et(schedparam|name_np|affinity_np)$)\w+$"
    r"|(sem|mtx|cnd|thrd)_\w+$|call_once$"
    r"|(p?select|ppoll|epoll_p?wait|sigwait\w*|sigsuspend|pause|wait(pid|id|3|4)?|fork|vfork|clone)$"
    r"|_ZNK?S[at]\w*(condition_variable|6thread|15__once|__future)"
    r"|_ZNSt28__atomic_futex"
)


# They come back to a state of the context that the checker has left.
JUMPS = re.compile(r"_*(sig)?(setjmp|longjmp)(_chk)?$|(get|set|make|swap)context$")


def calls(loaded: Path) -> tuple[str, ...]:
    """By name, in order; and instructions that read what the checker does not model."""
    called = [name for name in _undefined(loaded) if not HARMLESS.match(name)]
    return (*called, *_instructions(loaded))


def refuse_blocking(file: Path, loaded: Path) -> None:
    for name in calls(loaded):
        if JUMPS.match(name):
            raise Fail(f"{file} calls {name}, which the checker cannot follow; leave it out")
        if BLOCKING.match(name):
            called = (
                f"{file} calls {_shown(name)}, whose accesses and waiting the checker does not see"
            )
            raise Fail(f"{called}; bring its source too, or write it on atomics and futexes")


def refuse_shared_locals(file: Path, loaded: Path) -> None:
    """Thread-local variables that are not found by a call: all contexts would share them."""
    command = ["readelf", "--relocs", "--wide", str(loaded)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if found := THREAD_LOCAL.search(said):
        name = f" {found[1]}" if found[1] else ""
        raise Fail(
            f"{file} has a thread-local variable{name} of a model of which the checker cannot give "
            "each context its own; leave out its tls_model, or -ftls-model"
        )


def _instructions(loaded: Path) -> list[str]:
    command = ["objdump", "--disassemble", "--no-show-raw-insn", str(loaded)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sorted({found[1] for found in UNMODELLED.finditer(said)})


def _undefined(loaded: Path) -> list[str]:
    command = ["nm", "--dynamic", "--undefined-only", "--format=posix", str(loaded)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = (line.split()[0].partition("@")[0] for line in said.splitlines() if line.strip())
    return sorted({name for name in names if not ANSWERED.match(name)})


def _shown(name: str) -> str:
    """As its source has it."""
    if not name.startswith("_Z"):
        return name
    done = subprocess.run(["c++filt", name], capture_output=True, text=True, check=False)
    return done.stdout.strip() or name
