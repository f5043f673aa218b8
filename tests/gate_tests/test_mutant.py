# SPDX-License-Identifier: MIT
"""How a mutant says what it breaks: tests/mutant.py."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.mutant import Edit, Wrong, changed, edited, read, source, words

TEXT = """
int one(int a)
{
	if (a == 1) /* the first */
		return take(a);
	return 0;
}

Two::Two(int a) : a_{a}, b_(take(a)) {
	use(a);
}

int Two::one(int a, int b) const { return take(a) + b; }
"""


def test_white_space_and_comments_do_not_matter() -> None:
    found = changed(TEXT, ("if (a==1) // once\n\treturn take(", "if (a == 2)\n\t\treturn take("))
    assert found == TEXT.replace("if (a == 1) /* the first */", "if (a == 2)")


def test_tokens_match_whole() -> None:
    with pytest.raises(Wrong, match=r"0 matches in source\.c, expected one, of: ="):
        changed("a == b;", ("=", "!="))
    with pytest.raises(Wrong, match=r"0 matches"):
        changed("counted(a);", ("count", "x"))
    assert changed('say("a  b", \'"\'); a b;', ("a b", "c")) == 'say("a  b", \'"\'); c;'


def test_a_text_that_is_not_there_or_twice_is_refused() -> None:
    with pytest.raises(Wrong, match=r"0 matches in source\.c, expected one, of: a == 2"):
        changed(TEXT, ("a == 2", "a"))
    with pytest.raises(Wrong, match=r"2 matches in source\.c, expected one, of: return take"):
        changed(TEXT, ("return take", "return"))
    with pytest.raises(Wrong, match=r"the old text is empty"):
        changed(TEXT, ("/* none */", "return"))


def test_an_edit_is_within_its_function() -> None:
    assert edited(TEXT, Edit("take(a)", "a", "Two")) == TEXT.replace("b_(take(a))", "b_(a)")
    assert edited(TEXT, Edit("take(a)", "a", "Two::one")) == TEXT.replace("take(a) + b", "a + b")
    with pytest.raises(Wrong, match=r"2 matches in one, expected one"):  # both
        edited(TEXT, Edit("take(a)", "a", "one"))
    with pytest.raises(Wrong, match=r"0 matches in Two::one, expected one"):
        edited(TEXT, Edit("use", "a", "Two::one"))
    with pytest.raises(Wrong, match=r"source\.c defines no function take"):  # it only calls it
        edited(TEXT, Edit("a", "b", "take"))


def test_edits_are_of_the_text_as_it_was() -> None:
    assert changed("a; b;", ("a", "b"), ("b", "a")) == "b; a;"
    with pytest.raises(Wrong, match=r"two edits overlap"):
        changed("a b c", ("a b", "x"), ("b c", "y"))


def test_words_do_not_grow_together() -> None:
    assert changed("f(int) { g(); }", (") {", "a) {")) == "f(int a) { g(); }"
    assert changed("x = a+b;", ("+", "or")) == "x = a or b;"


def test_other_languages_have_other_comments() -> None:
    text = 'size = n // 2  # half\nword = "# none"\n'
    assert changed(text, ("n // 2 word", "n\nword"), name="a.py") == 'size = n\nword = "# none"\n'
    assert changed("all: # of them\n\tmake\n", ("all: make", "all:"), name="Makefile") == "all:\n"


MUTANTS = """
file = "tests/gate_tests/planted.c"
[one]
function = "count"
old = "word += 1;"
new = ""
[other]
edits = [{ old = "no such text", new = "" }]
"""


def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, TOP / "tests/mutant.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_mutant_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text(MUTANTS)
    done = run("apply", file, tmp_path)
    wrong = "mutant other: 0 matches in tests/gate_tests/planted.c, expected one, of: no such text"
    assert (done.returncode, done.stderr) == (1, f"mutant.py: {wrong}\n")
    made = tmp_path / "one/tests/gate_tests/planted.c"
    planted = (TOP / "tests/gate_tests/planted.c").read_text()
    assert made.read_text() == planted.replace("word += 1;", "")
    time = made.stat().st_mtime_ns
    assert run("apply", file, tmp_path).returncode == 1
    assert made.stat().st_mtime_ns == time  # what has not changed is not compiled again


def test_a_table_that_says_too_little_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    for text, wrong in (
        ("[a]\nold = 'x'\nnew = 'y'\n", "mutant a does not say file"),
        ("file = 'x.c'\n[a]\nold = 'x'\n", "mutant a does not say new"),
        ("[a]\nold = x\n", "some.toml: "),
    ):
        file.write_text(text)
        with pytest.raises(Wrong, match=wrong):
            read(file)


def test_a_source_is_found_by_the_end_of_its_path() -> None:
    assert source("lock/mcs.h") == TOP / "include/overlock/lock/mcs.h"
    with pytest.raises(Wrong, match=r"0 sources have a path that ends with lock/none.h"):
        source("lock/none.h")
    with pytest.raises(Wrong, match=r"\d sources have a path that ends with main.cpp"):
        source("main.cpp")


FILES = [*(TOP / "tests").glob("**/mutants/*.toml"), TOP / "tests/check/search/mutants.toml"]


def test_every_mutant_of_a_file_can_be_made() -> None:
    mutants = [mutant for file in FILES for mutant in read(file)]
    assert len(mutants) > 290
    for mutant in mutants:
        assert mutant.whole or words(mutant.text()) != words(mutant.path.read_text()), mutant.name
