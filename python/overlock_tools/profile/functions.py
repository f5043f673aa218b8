# SPDX-License-Identifier: MIT
"""Names of functions, as the tools for symbols write them, without what differs between builds.

`std::sync::Mutex::lock` of `std::sync::Mutex<T>::lock(&self)`, of `<std::sync::Mutex<u64>>::lock`
and of `_$LT$std..sync..Mutex$LT$T$GT$$GT$::lock::h0123456789abcdef`: so parameters and arguments of
templates, which name what is kept in a lock, do not hide what the function is.
"""

import re
from collections.abc import Iterator
from functools import cache

from overlock_tools.run.stacks import without_parameters

RUST_HASH = re.compile(r"::h[0-9a-f]{16}(?![0-9a-f])")
RUST_MARKS = {
    "$LT$": "<", "$GT$": ">", "$LP$": "(", "$RP$": ")", "$RF$": "&", "$BP$": "*", "$C$": ",",
    "$u20$": " ", "$u7b$": "{", "$u7d$": "}", "$u5b$": "[", "$u5d$": "]", "$u27$": "'",
    "$u2b$": "+", "$u3b$": ";", "$u22$": '"', "..": "::",
}  # fmt: skip
RUST_MARK = re.compile("|".join(map(re.escape, RUST_MARKS)))
# Versions in names, which differ between builds of one library.
VERSIONS = re.compile(r"\b(absl)::(?:lts_\w+|debian\d+)::|\b(std)::(?:__[1-9]\w*|__cxx11|__ndk1)::")
OPERATOR = re.compile(r"\boperator ?(\(\)|<=>|->\*?|<<=?|>>=?|[<>]=?|\[\]|(?=[a-z]))(?: (?=<))?")
# What a compiler and a linker add to names of C.
ADDED = re.compile(r"(\.(part|constprop|isra|cold|llvm|lto_priv)(\.\d+)*|@@?[\w.]+)+$")
TRAILING = re.compile(r"(?: const| volatile| &{1,2}| \[[^\]]*\])+$")
OPENS, CLOSES = "(<{", ")>}"


def unmangled(name: str) -> str:
    """Rust's older names, which are C++'s to other tools."""
    name = RUST_HASH.sub("", name)
    if "$" not in name:
        return name
    name = RUST_MARK.sub(lambda mark: RUST_MARKS[mark[0]], name).removeprefix("_")
    return name.replace("_{{", "{").replace("{{", "{").replace("}}", "}")


def readable(name: str) -> str:
    """For people: arguments of templates tell them apart."""
    return without_parameters(unmangled(name))


@cache
def qualified(name: str) -> str:
    """Empty if there is nothing that could be one."""
    name = unmangled(name).replace("(anonymous namespace)", "{anonymous}")
    name = OPERATOR.sub("operator", name)
    name = VERSIONS.sub(lambda found: f"{found[1] or found[2]}::", name)
    plain = TRAILING.sub("", _without_arguments(name).rstrip())
    return ADDED.sub("", plain.rpartition(" ")[2]).removeprefix("__GI_")


def _closing(name: str, at: int) -> int:
    """Of the bracket at that place."""
    depth = 0
    for i in range(at, len(name)):
        if name[i] == ">" and name[i - 1] in "-=":  # of `Fn() -> T`
            continue
        depth += (name[i] in OPENS) - (name[i] in CLOSES)
        if not depth:
            return i
    return len(name) - 1


def _without_arguments(name: str) -> str:
    made = ""
    i = 0
    while i < len(name):
        if name[i] not in OPENS:
            made += name[i]
            i += 1
            continue
        end = _closing(name, i)
        inside = name[i + 1 : end]
        if name[i] == "{":
            made += f"{{{_without_arguments(inside).replace(' ', '_')}}}"
        elif name[i] == "<" and (not made or made[-1] in " &*"):
            made += _type(inside)  # Rust's <T as Trait>::function
        elif name[i] == "<" and made.endswith("::"):
            made = made.removesuffix("::")  # its function::<T>
        i = end + 1
    return made


def _type(text: str) -> str:
    """`T` of `T as Trait`, of `impl Trait for T`, of `&mut T`, of `dyn T + Send`."""
    plain = _without_arguments(text).partition(" as ")[0]
    plain = plain.rpartition(" for ")[2]
    plain = re.sub(r"^(?:[&*]|mut |const |dyn |impl |'\w+ )+", "", plain.strip())
    return plain.partition(" ")[0]


def passed_by(name: str) -> Iterator[str]:
    """The functions whose lambdas it is called with: who called it, where that was inlined."""
    name = unmangled(name)
    at = name.find("<")
    if at < 0:
        return
    inside = name[at + 1 : _closing(name, at)]
    for found in re.finditer(r"::(?:'lambda\d*'|\{lambda)", inside):
        before = inside[: found.start()]
        yield qualified(_last_argument(before))


def _last_argument(text: str) -> str:
    """Behind the last bracket that is open, or the last comma at that depth."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] in CLOSES) - (text[i] in OPENS)
        if depth < 0 or (not depth and text[i] == ","):
            return text[i + 1 :].strip()
    return text.strip()
