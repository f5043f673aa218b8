# SPDX-License-Identifier: MIT
"""Where threads run: their registers, for which each is stopped for some 50 µs (ptrace).

A thread is attached for one look, so a signal that comes between two looks is none of ours. One
that is able to run and has no CPU stops when it gets one: where it was all the time. Threads that
sleep are left alone: to stop them would end some system calls early.
"""

import contextlib
import ctypes
import os
import signal
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GETREGS, DETACH, SEIZE, INTERRUPT = 12, 17, 0x4206, 0x4207
WALL = 0x40000000  # threads of other processes, too
AGAIN_S = 0.0005  # where another thread gets the signal that one has stopped
LOOK_S = 1.0  # a thread that gets no CPU for so long is looked at later
# struct user_regs_struct of x86-64.
REGISTERS = (
    *("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx"),
    *("rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base"),
    *("ds", "es", "fs", "gs"),
)
LAYOUT = struct.Struct(f"={len(REGISTERS)}Q")
NO_CALL = 2**64 - 1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


@dataclass(frozen=True)
class At:
    """A thread in its own code, or in a system call."""

    registers: dict[str, int]

    @property
    def ip(self) -> int:
        return self.registers["rip"]

    @property
    def call(self) -> int | None:
        """The number of the system call that it is in."""
        number = self.registers["orig_rax"]
        return None if number == NO_CALL else number


def _ptrace(request: int, tid: int, data: object = None) -> None:
    if _libc.ptrace(request, tid, None, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Reader:
    """Of the threads of a process; `is_child`: of ours, whose end somebody else waits for."""

    def __init__(self, pid: int, *, is_child: bool) -> None:
        self.pid, self.is_child = pid, is_child
        self.pending: set[int] = set()  # stop when they get a CPU

    def look(self, tids: set[int]) -> dict[int, At]:
        """PermissionError: we may not."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        try:
            for tid in tids - self.pending:
                self._attach(tid)
            return dict(self._stopped(time.monotonic() + LOOK_S))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self) -> None:
        """Whoever is still attached goes on when this process ends; better at once."""
        end = time.monotonic() + LOOK_S
        for _ in self._stopped(end):
            pass

    def _attach(self, tid: int) -> None:
        try:
            _ptrace(SEIZE, tid)
            self.pending.add(tid)
            _ptrace(INTERRUPT, tid)
        except ProcessLookupError:  # it has ended
            return
        except PermissionError:
            if not self._has_ended(tid):
                raise

    def _has_ended(self, tid: int) -> bool:
        """And is still there, until somebody asks for its exit code."""
        try:
            stat = Path(f"/proc/{self.pid}/task/{tid}/stat").read_text(errors="replace")
        except OSError:
            return True
        return stat.rpartition(")")[2].split()[0] in "ZX"

    def _stopped(self, until: float) -> Iterator[tuple[int, At]]:
        while self.pending:
            for tid in list(self.pending):
                if at := self._look_at(tid):
                    yield tid, at
            left = until - time.monotonic()
            if not self.pending or left <= 0:
                return
            signal.sigtimedwait({signal.SIGCHLD}, min(left, AGAIN_S))

    def _look_at(self, tid: int) -> At | None:
        """None: it has not stopped yet, or has ended."""
        ends = 0 if self.is_child and tid == self.pid else os.WEXITED
        try:
            found = os.waitid(os.P_PID, tid, os.WSTOPPED | os.WNOHANG | ends | WALL)
        except ChildProcessError:
            self.pending.discard(tid)
            return None
        if not found:
            if not os.path.isdir(f"/proc/{self.pid}/task/{tid}"):
                self.pending.discard(tid)
            return None
        self.pending.discard(tid)
        if found.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED):
            return None
        return self._read(tid, found.si_status)

    def _read(self, tid: int, status: int) -> At | None:
        """And lets it go on, with the signal that it had stopped for, if it was one."""
        event, number = status >> 8, status & 0xFF
        words = ctypes.create_string_buffer(LAYOUT.size)
        at = None
        with contextlib.suppress(OSError):
            _ptrace(GETREGS, tid, ctypes.byref(words))
            at = At(dict(zip(REGISTERS, LAYOUT.unpack(words.raw), strict=True)))
        with contextlib.suppress(OSError):
            _ptrace(DETACH, tid, None if event else number)
        return at
