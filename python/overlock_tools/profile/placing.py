# SPDX-License-Identifier: MIT
"""Where in the program somebody waits: the innermost call that is no library's."""

from collections import defaultdict
from dataclasses import replace

from overlock_tools.core.system.symbols import Call
from overlock_tools.profile import functions, kinds
from overlock_tools.profile.kinds import Kind, Step
from overlock_tools.profile.naming import Frame, Names
from overlock_tools.profile.seen import Stack

# Of the C and C++ libraries: what hides who calls, not who does.
HIDING = ("/usr/include/", "/usr/lib/", "/lib/", "../")
LIBRARIES = (
    "libc.so",
    "libpthread",
    "libstdc++",
    "ld-linux",
    "ld-musl",
    "libgomp",
    "libomp",
    "libiomp5",
    "libc++",
    "libtbb",
    "libabsl_",
    "libnsync",
)

Steps = tuple[Step, ...]


def is_library(path: str) -> bool:
    return any(name in path.rpartition("/")[2] for name in LIBRARIES)


def frames_of(stack: Stack) -> list[Frame]:
    return [(module, offset) for module, offset in stack.frames]


def steps(stack: Stack, names: Names) -> Steps:
    """Innermost first; of a stack that was only scanned, what fits together."""
    if stack.scanned:
        return _scanned(frames_of(stack), names)
    return tuple(step for frame in frames_of(stack) for step in of_frame(frame, names))


def of_frame(frame: Frame, names: Names) -> Steps:
    path = names.path(frame)
    in_library = is_library(path) or not path
    return tuple(Step(call, path, in_library) for call in names.calls(frame))


def _scanned(frames: list[Frame], names: Names) -> Steps:
    """The first function called that waits, who called it, who called that one.

    What is left over on the stack from calls that are over does not fit.
    """
    made = of_frame(frames[0], names)
    wanted = ""
    for target, caller in zip(frames[1::2], frames[2::2], strict=False):
        called, calls = of_frame(target, names), of_frame(caller, names)
        fits = _name(called[-1]) == wanted if wanted else kinds.by_functions(called)
        if fits:
            made += calls if wanted else called + calls
            wanted = _name(calls[-1])
    return made


def _name(step: Step) -> str:
    return functions.qualified(step.call.function or "")


def site(found: Steps) -> Call:
    """Empty if nothing is known. A closure that is inlined into a library's function is there."""
    for step in found:
        if not kinds.is_own(step) and not (step.call.file or "").startswith(HIDING):
            return step.call
    for step in found:
        if not step.in_library and not kinds.is_known(step):
            return _of_closure(step.call)
    return found[0].call if found else Call(None)


def _of_closure(call: Call) -> Call:
    passed = [
        name for name in functions.passed_by(call.function or "") if not kinds.OWN.match(name)
    ]
    return replace(call, function=f"{passed[0]}::{{lambda}}") if passed else call


def _unnamed(call: Call) -> bool:
    return "+0x" in (call.function or "")


def sites(found: dict[int, Steps]) -> dict[int, Call]:
    """Of all locks. Where functions have no names, what many of them share is the lock's own."""
    made = {address: site(one) for address, one in found.items()}
    alike: dict[Call, dict[int, list[Call]]] = defaultdict(dict)
    for address, call in made.items():
        if _unnamed(call):
            calls = [step.call for step in found[address] if not kinds.is_own(step)]
            alike[call][address] = calls or [call]
    for group in alike.values():
        shared = _shared(list(group.values()))
        for address, calls in group.items():
            made[address] = calls[min(shared, len(calls) - 1)]
    return made


def _shared(lists: list[list[Call]]) -> int:
    """So many of the first ones are the same in all; 0 if all is."""
    for i, same in enumerate(zip(*lists, strict=False)):
        if len(set(same)) > 1:
            return i
    return 0


def behind(stack: Stack, names: Names) -> tuple[Frame, ...]:
    """The callers of the innermost function that is not the C library's."""
    own = [frame for frame in frames_of(stack) if not is_library(names.path(frame))]
    return tuple(own[1:])


def of_same_call(
    stack: Stack, waiters: list[tuple[Stack, Kind, Call]], names: Names
) -> tuple[Kind, Call] | None:
    """Who yields before it sleeps does both for the same: its callers are, or its place is.

    Where the compiler has put all into one function, the two may be for different things.
    """
    found = steps(stack, names)
    callers, place = behind(stack, names), site(found)
    may_be = kinds.by_functions(found)
    in_place = []
    for waiter, kind, call in waiters:
        if callers and behind(waiter, names) == callers:
            return kind, call
        if may_be and call == place and kind.name.startswith(may_be.name):
            return kind, call
        if kind.name in kinds.MAY_YIELD_FIRST and _of_one_function(call, place):
            in_place.append((kinds.MAY_YIELD, place))
    return in_place[0] if in_place else None


def _of_one_function(call: Call, other: Call) -> bool:
    """Where functions have no names, those of one object may be one."""
    names = [(one.function or "").partition("+0x")[0] for one in (call, other)]
    return bool(names[0]) and names[0] == names[1] and call.file == other.file
