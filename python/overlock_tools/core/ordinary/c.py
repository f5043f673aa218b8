# SPDX-License-Identifier: MIT
"""The locks of a C or C++ file, as libclang reads it: types, typedefs, templates, macros.

The file may lack includes that only its own build has: declarations around an error still count.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from overlock_tools.core.ordinary import compiler, names
from overlock_tools.core.ordinary import lock as locks
from overlock_tools.core.ordinary.lock import Function, Lock
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail

C, CPP = "c", "c++"
STANDARDS = {C: "-std=gnu17", CPP: compiler.CPP_STANDARD}
LANGUAGES = {
    ".c": (C,),
    ".h": (C, CPP),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), (CPP,)),
}


@dataclass(frozen=True)
class Read:
    """A file in one language."""

    language: str
    locks: tuple[Lock, ...]


def read(file: Path, flags: str = "", folders: tuple[Path, ...] = ()) -> Read:
    """A header is in the language in which it has fewer errors."""
    languages = LANGUAGES[file.suffix]
    if len(languages) > 1:
        languages = (min(languages, key=lambda one: _errors(file, one, flags, folders)),)
    unit = _parsed(file, languages[0], flags, folders)
    return Read(languages[0], tuple(_Reader(unit.cursor, file.resolve(), languages[0]).locks()))


def _errors(file: Path, language: str, flags: str, folders: tuple[Path, ...]) -> int:
    """Of declarations: what functions do with GCC's headers, libclang may refuse."""
    unit = _parsed(file, language, flags, folders, declarations_only=True)
    severe, beside = _cindex().Diagnostic.Error, file.resolve().parent
    of = [d for d in unit.diagnostics if d.severity >= severe]
    return sum(_is_beside(d.location, beside) for d in of)


def _parsed(
    file: Path,
    language: str,
    flags: str,
    folders: tuple[Path, ...],
    declarations_only: bool = False,
) -> Any:
    cindex = _cindex()
    includes = [f"-I{folder}" for folder in (*folders, native.include(), file.parent)]
    compilers = [f"-isystem{folder}" for folder in _includes_of_compiler(language)]
    options = [f"-x{language}", STANDARDS[language], *includes, *shlex.split(flags), *compilers]
    parse = cindex.TranslationUnit
    whole = parse.PARSE_DETAILED_PROCESSING_RECORD
    whole |= parse.PARSE_SKIP_FUNCTION_BODIES if declarations_only else 0
    try:
        return cindex.Index.create().parse(str(file.resolve()), ["-w", *options], options=whole)
    except cindex.TranslationUnitLoadError as error:
        raise Fail(f"{file} cannot be read: {error}") from error


def _cindex() -> Any:
    from clang import cindex

    return cindex


@cache
def _includes_of_compiler(language: str) -> tuple[str, ...]:
    """GCC's own headers, <stdatomic.h> among them: libclang comes without any."""
    compiler = shutil.which({C: "gcc", CPP: "g++"}[language])
    if not compiler:
        return ()
    command = [compiler, "-E", "-v", f"-x{language}", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    found = re.search(r"#include <\.\.\.>.*?\n(.*?)\nEnd of search", said, re.DOTALL)
    return tuple(line.strip() for line in found[1].splitlines()) if found else ()


def _is_beside(location: Any, folder: Path) -> bool:
    return location.file is not None and Path(location.file.name).is_relative_to(folder)


class _Reader:
    def __init__(self, top: Any, file: Path, language: str) -> None:
        self.top, self.file, self.language = top, file, language
        self.kinds = _cindex().CursorKind
        self.types = _cindex().TypeKind

    def locks(self) -> Iterator[Lock]:
        own = [c for c in self._walk(self.top) if _is_beside(c.location, self.file.parent)]
        functions = [
            f for c in own if c.kind == self.kinds.FUNCTION_DECL for f in self._function(c)
        ]
        found = locks.of_functions(functions, self.language)
        found += [lock for c in own for lock in self._class(c, own)]
        yield from found or self._of_macros(own)

    def _is_in_file(self, cursor: Any) -> bool:
        return bool(cursor.location.file.name == str(self.file))

    def _walk(self, cursor: Any) -> Iterator[Any]:
        """Into namespaces and `extern "C"`, not into classes and functions."""
        for one in cursor.get_children():
            yield one
            if one.kind in (self.kinds.NAMESPACE, self.kinds.LINKAGE_SPEC):
                yield from self._walk(one)

    # Functions

    def _function(self, cursor: Any) -> Iterator[Function]:
        operation = names.operation(cursor.spelling)
        parameters = list(cursor.get_arguments())
        if not operation or not parameters:
            return
        of, by = self._lock_of(parameters[0].type)
        node, node_by = self._node(parameters[1:], operation)
        rest = () if node else self._rest(parameters[1:], operation)
        if of and rest is not None:
            yield Function(
                _qualified(cursor),
                operation,
                of,
                by,
                rest,
                node,
                node_by,
                cursor.result_type.spelling,
                in_file=self._is_in_file(cursor),
                defined=cursor.get_definition() is not None,
            )

    def _lock_of(self, given: Any) -> tuple[str, str]:
        """The type that a parameter points or refers to, by the name that the file has for it."""
        kind, pointee = given.kind, given.get_pointee()
        if kind not in (self.types.POINTER, self.types.LVALUEREFERENCE):
            return "", ""
        return self._name_of(pointee), "o" if kind == self.types.POINTER else "*o"

    def _name_of(self, of: Any) -> str:
        """One name for a struct and its typedefs; of a typedef of none, that of the typedef."""
        declared = of.get_canonical().get_declaration()
        if declared.kind == self.kinds.NO_DECL_FOUND or not _is_beside(
            declared.location, self.file.parent
        ):
            declared = of.get_declaration()
        if declared.kind == self.kinds.NO_DECL_FOUND or not _is_beside(
            declared.location, self.file.parent
        ):
            return ""
        plain = of.get_canonical() if declared == of.get_canonical().get_declaration() else of
        name = plain.spelling
        for word in ("const ", "volatile "):
            name = name.replace(word, "")
        return "" if "(unnamed" in name or "(anonymous" in name else name

    def _rest(self, parameters: list[Any], operation: str) -> tuple[str, ...] | None:
        """What further parameters are given; None if that is not known."""
        given = [p for p in parameters if not self._has_default(p)]
        if operation == "wait" and len(given) == 1:
            return (self._lock_of(given[0].type)[0] or "0",)
        if operation == "init":
            pointer = "nullptr" if self.language == CPP else "0"
            return tuple(pointer if p.type.kind == self.types.POINTER else "0" for p in given)
        return None if given else ()

    def _node(self, parameters: list[Any], operation: str) -> tuple[str, str]:
        """The type of the one further parameter of a queue lock, and how it is passed."""
        if operation not in locks.HOLDING or len(parameters) != 1:
            return "", "o"
        return self._lock_of(parameters[0].type)

    @staticmethod
    def _has_default(parameter: Any) -> bool:
        return any(token.spelling == "=" for token in parameter.get_tokens())

    # Classes

    def _class(self, cursor: Any, own: list[Any]) -> Iterator[Lock]:
        kinds = (self.kinds.CLASS_DECL, self.kinds.STRUCT_DECL, self.kinds.CLASS_TEMPLATE)
        if self.language != CPP or cursor.kind not in kinds or not cursor.is_definition():
            return
        of = self._instance(cursor, own)
        found = locks.of_functions(self._methods(cursor, of), CPP) if of else []
        for lock in found:
            if self._is_constructible(cursor):
                bases = tuple(_qualified(base.referenced) for base in self._bases(cursor))
                yield replace(lock, constructed=True, bases=bases)

    def _instance(self, cursor: Any, own: list[Any]) -> str:
        """The class; of a template that of its defaults, or the one that an alias names."""
        name = _qualified(cursor)
        if cursor.kind != self.kinds.CLASS_TEMPLATE:
            return name
        parameters = (
            self.kinds.TEMPLATE_TYPE_PARAMETER,
            self.kinds.TEMPLATE_NON_TYPE_PARAMETER,
            self.kinds.TEMPLATE_TEMPLATE_PARAMETER,
        )
        taken = [one for one in cursor.get_children() if one.kind in parameters]
        if all(self._has_default(one) for one in taken):
            return f"{name}<>"
        aliases = (self.kinds.TYPE_ALIAS_DECL, self.kinds.TYPEDEF_DECL)
        for alias in own:
            if alias.kind in aliases:
                spelt = alias.underlying_typedef_type.get_canonical().spelling
                if spelt.partition("<")[0] == name:
                    return _qualified(alias)
        return ""

    def _bases(self, cursor: Any) -> Iterator[Any]:
        for one in cursor.get_children():
            if one.kind == self.kinds.CXX_BASE_SPECIFIER and self._is_public(one):
                definition = one.type.get_declaration()
                definition = definition.get_definition() or definition
                yield one
                yield from self._bases(definition)

    @staticmethod
    def _is_public(cursor: Any) -> bool:
        return bool(cursor.access_specifier.name == "PUBLIC")

    def _methods(self, cursor: Any, of: str) -> Iterator[Function]:
        bases = [base.type.get_declaration() for base in self._bases(cursor)]
        methods = (self.kinds.CXX_METHOD, self.kinds.FUNCTION_TEMPLATE)
        for one in (m for c in (*bases, cursor) for m in (c.get_definition() or c).get_children()):
            if one.kind not in methods or not self._is_public(one) or one.is_static_method():
                continue
            operation = names.operation(one.spelling)
            given = list(one.get_arguments())
            node, node_by = self._node(given, operation or "")
            rest = () if node else self._rest(given, operation) if operation else None
            if operation and operation != "init" and rest is not None:
                defined = one.get_definition()
                yield Function(
                    one.spelling,
                    operation,
                    of,
                    ".",
                    rest,
                    node,
                    node_by,
                    one.result_type.spelling,
                    in_file=self._is_in_file(defined or one),
                    defined=defined is not None,
                )

    def _is_constructible(self, cursor: Any) -> bool:
        """Without arguments."""
        constructors = [c for c in cursor.get_children() if c.kind == self.kinds.CONSTRUCTOR]
        usual = [c for c in constructors if not c.is_copy_constructor()]
        usual = [c for c in usual if not c.is_move_constructor()]
        return not usual or any(all(self._has_default(p) for p in c.get_arguments()) for c in usual)

    # Macros

    def _of_macros(self, own: list[Any]) -> list[Lock]:
        """Of a file without functions: macros of one argument, for the only type that it has."""
        types = (self.kinds.STRUCT_DECL, self.kinds.UNION_DECL, self.kinds.TYPEDEF_DECL)
        named = dict.fromkeys(self._name_of(c.type) for c in own if c.kind in types and c.spelling)
        of = [name for name in named if name]
        if len(of) != 1:
            return []
        macros = (c for c in own if c.kind == self.kinds.MACRO_DEFINITION)
        functions = [f for c in macros for f in self._macro(c, of[0])]
        return locks.of_functions(functions, self.language)

    def _macro(self, cursor: Any, of: str) -> Iterator[Function]:
        operation = names.operation(cursor.spelling)
        tokens = [token.spelling for token in cursor.get_tokens()]
        if not operation or tokens[1:2] != ["("] or tokens[3:4] != [")"]:
            return
        line, in_file = cursor.location.line, self._is_in_file(cursor)
        yield Function(cursor.spelling, operation, of, "o", line=line, in_file=in_file)


def _qualified(cursor: Any) -> str:
    """With its namespaces; unnamed ones are transparent."""
    words = []
    while cursor is not None and not cursor.kind.is_translation_unit():
        if cursor.spelling and cursor.kind.name != "LINKAGE_SPEC" and "(" not in cursor.spelling:
            words.append(cursor.spelling)
        cursor = cursor.semantic_parent
    return "::".join(reversed(words))
