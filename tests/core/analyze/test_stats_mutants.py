# SPDX-License-Identifier: MIT
"""Mutants of the statistics: each module with one thing wrong, and the test that must notice.

Each mutant is a copy of the package with one text replaced; the test that is named runs on it and
must fail, and on the copy as it is it must pass.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests import parts
from tests.conftest import TOP
from tests.mutant import changed

PACKAGE = TOP / "python/overlock_tools"
TESTS = TOP / "tests/core"


@dataclass(frozen=True)
class Mutant:
    what: str
    module: str
    right: str
    wrong: str
    test: str  # FILE::NAME


STATS = "model/test_stats.py"
JUDGE, MINISTAT = "analyze/test_stats_judge.py", "analyze/test_stats_ministat.py"
COMPARE, PAPERS = "analyze/test_compare.py", "analyze/test_papers.py"
EXPORT = "render/test_csv_export.py"

MUTANTS = [
    Mutant(
        "the ratio of medians",
        "model.stats",
        "np.array([pair[i] for pair in pairs]",
        "np.array([[statistics.median(pair[i])] * len(pair[i]) for pair in pairs]",
        f"{STATS}::test_ratio_is_formed_within_rounds",
    ),
    Mutant(
        "the mean over rounds",
        "model.stats",
        "np.mean(np.median(logs, axis=1))",
        "np.mean(np.mean(logs, axis=1))",
        f"{STATS}::test_median_not_mean_of_ratios",
    ),
    Mutant(
        "the best cell instead of their mean",
        "model.stats",
        "np.exp(np.mean(np.median(logs, axis=1)))",
        "np.exp(np.max(np.median(logs, axis=1)))",
        f"{STATS}::test_geometric_mean_of_two_and_eight_is_four",
    ),
    Mutant(
        "the lower median",
        "model.stats",
        "rows[:, (last + 1) // 2]",
        "rows[:, last // 2]",
        f"{STATS}::test_medians_of_rows_are_numpys",
    ),
    Mutant(
        "plain percentiles",
        "model.stats",
        "return _at_least(rounds // 2 + 1, rounds, (beyond + 1) / rounds) / 2",
        "return (1 - confidence) / 2",
        f"{STATS}::test_equals_are_rarely_called_different",
    ),
    Mutant(
        "an interval to one side",
        "model.stats",
        "if 2 * _at_least(",
        "if _at_least(",
        f"{STATS}::test_interval_of_one_median_is_the_exact_one",
    ),
    Mutant(
        "an interval of three rounds",
        "model.stats",
        "    return max(beyond, default=None)",
        "    return max(beyond, default=0)",
        f"{STATS}::test_too_few_rounds_have_no_interval",
    ),
    Mutant(
        "other resamples each time",
        "model.stats",
        "default_rng(seed)",
        "default_rng()",
        f"{STATS}::test_the_same_data_give_the_same_interval",
    ),
    Mutant(
        "logarithm of nothing",
        "model.stats",
        "np.log(np.maximum(theirs, NOTHING))",
        "np.log(theirs)",
        f"{STATS}::test_a_lock_that_never_got_anywhere_is_not_a_division_by_zero",
    ),
    Mutant(
        "any difference that is certain",
        "model.stats",
        "RESOLUTION = 0.005",
        "RESOLUTION = 0.0",
        f"{STATS}::test_a_certain_difference_too_small_to_show_is_none",
    ),
    Mutant(
        "ends not swapped",
        "model.stats",
        "None if self.high is None else 1 / self.high,",
        "None if self.low is None else 1 / self.low,",
        f"{STATS}::test_inverse_swaps_the_ends",
    ),
    Mutant(
        "after and before swapped",
        "model.stats",
        "_resampled(now, seed=1) - _resampled(then)",
        "_resampled(then) - _resampled(now, seed=1)",
        f"{STATS}::test_a_change_between_two_runs_needs_no_common_rounds",
    ),
    Mutant(
        "the longer run's certainty",
        "model.stats",
        "tail(min(then.shape[1]",
        "tail(max(then.shape[1]",
        f"{STATS}::test_a_change_from_few_rounds_has_no_interval",
    ),
    Mutant(
        "Jain's index without n",
        "model.stats",
        "/ (len(shares) * squares)",
        "/ squares",
        f"{STATS}::test_jain",
    ),
    Mutant(
        "judged by the rounds that chose",
        "analyze.best_peer",
        "_rounds(result)[::2])",
        "_rounds(result)[1::2])",
        f"{JUDGE}::test_half_of_the_rounds_choose_and_the_other_half_judge",
    ),
    Mutant(
        "bounds to both sides",
        "model.stats",
        "return 2 * confidence - 1",
        "return confidence",
        f"{JUDGE}::test_too_few_rounds_are_not_judged",
    ),
    Mutant(
        "passed by the median",
        "analyze.best_peer",
        "if self.bound.low >= self.bar:",
        "if self.bound.value >= self.bar:",
        f"{JUDGE}::test_slower_never_passes_and_much_slower_is_worse",
    ),
    Mutant(
        "failed by the median",
        "analyze.best_peer",
        "if self.bound.high < self.bar",
        "if self.bound.value < self.bar",
        f"{JUDGE}::test_equals_are_rarely_called_worse_or_better",
    ),
    Mutant(
        "one peer at all numbers of threads",
        "analyze.best_peer",
        "against = [(ours, j.theirs, j.threads[0])",
        "against = [(ours, judged[0].theirs, j.threads[0])",
        f"{JUDGE}::test_each_number_of_threads_has_its_own_best",
    ),
    Mutant(
        "the worst peer",
        "analyze.best_peer",
        "return max(found, key=",
        "return min(found, key=",
        f"{JUDGE}::test_half_of_the_rounds_choose_and_the_other_half_judge",
    ),
    Mutant(
        "variances not weighted",
        "analyze.ministat",
        "sum((len(x) - 1) * statistics.variance(x) for x in (first, second))",
        "sum(statistics.variance(x) for x in (first, second)) * freedom / 2",
        f"{MINISTAT}::test_pooled_variance_weighs_by_degrees_of_freedom",
    ),
    Mutant(
        "t to one side",
        "analyze.ministat",
        "< confidence / 100:",
        "< confidence / 50 - 1:",
        f"{MINISTAT}::test_student_t_as_printed_tables_have_it",
    ),
    Mutant(
        "a term of the series",
        "analyze.ministat",
        "(k - 1) / k * cos",
        "k / (k + 1) * cos",
        f"{MINISTAT}::test_student_t_as_printed_tables_have_it",
    ),
    Mutant(
        "the error of equal numbers",
        "analyze.ministat",
        "sqrt(1 / len(first) + 1 / len(second))",
        "sqrt(2 / len(first))",
        f"{MINISTAT}::test_same_as_the_tool",
    ),
    Mutant(
        "raw rates of two runs",
        "analyze.comparison",
        "for result in (before, after)]\n            if all",
        "for result in (before, after)]\n"
        "            pairs = [[(a, [1.0] * len(a)) for a, _ in pair] for pair in pairs]\n"
        "            if all",
        f"{COMPARE}::test_a_machine_that_slowed_is_no_change_of_the_locks",
    ),
    Mutant(
        "other parameters not noticed",
        "analyze.comparison",
        "if then.get(what) != now.get(what):",
        "if what not in now:",
        f"{COMPARE}::test_what_cannot_be_compared_is_refused_by_name",
    ),
    Mutant(
        "any loss a regression",
        "analyze.comparison",
        "self.change.high < 1 - percent / 100",
        "self.change.high < 1",
        f"{COMPARE}::test_exit_code_for_continuous_integration",
    ),
    Mutant(
        "a restless peer not told",
        "analyze.comparison",
        "if not moved:",
        "if moved:",
        f"{COMPARE}::test_a_peer_that_moved_is_told",
    ),
    Mutant(
        "rounds not matched",
        "model.stats",
        "rounds = sorted(set.intersection(*map(set, tables))) if tables else []",
        "rounds = [1]",
        f"{COMPARE}::test_command_of_one_file",
    ),
    Mutant(
        "seen by the value",
        "model.stats",
        "if low < self.low and self.high < high:",
        "if True:",
        f"{PAPERS}::test_equals_cannot_be_told_apart",
    ),
    Mutant(
        "threads that take turns",
        "analyze.paper_claims",
        "<= min(most, result.cpus)",
        "<= most",
        f"{PAPERS}::test_threads_that_take_turns_show_nothing",
    ),
    Mutant(
        "somewhere is everywhere",
        "analyze.paper_claims",
        "for verdict in (Verdict.NOT_SEEN, Verdict.OPEN):",
        "for verdict in ():",
        f"{PAPERS}::test_everywhere_means_everywhere",
    ),
    Mutant(
        "one file of several",
        "render.csv_export",
        "(row for result in results for row in _cells(result))",
        "_cells(results[0])",
        f"{EXPORT}::test_a_line_for_each_cell",
    ),
    Mutant(
        "ends of the interval in each other's column",
        "render.csv_export",
        '("value", "low", "high")',
        '("value", "high", "low")',
        f"{EXPORT}::test_a_line_for_each_lock_and_number_of_threads",
    ),
    Mutant(
        "the sum for one copy",
        "analyze.paper_claims",
        "            for measure in measures\n",
        "            for measure in measures[:1]\n",
        f"{PAPERS}::test_ouyang_and_lange_ask_for_one_copy_and_for_all",
    ),
]


def outcome(folder: Path, tests: list[str]) -> subprocess.CompletedProcess[str]:
    """Of all of them, whichever parts of this suite were chosen."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(parts.NAME)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", *(str(TESTS / test) for test in tests)],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def copied(folder: Path) -> Path:
    shutil.copytree(
        PACKAGE, folder / "overlock_tools", ignore=shutil.ignore_patterns("__pycache__")
    )
    return folder


def result_of(mutant: Mutant, folder: Path) -> str:
    """Empty if the test noticed."""
    file = copied(folder) / "overlock_tools/core" / f"{mutant.module.replace('.', '/')}.py"
    change = mutant.right, mutant.wrong
    file.write_text(changed(file.read_text(), change, name=file.name))
    done = outcome(folder, [mutant.test])
    if done.returncode == 1:
        return ""
    return f"{mutant.what}: {mutant.test} ended with {done.returncode}: {done.stdout[-300:]}"


def test_every_mutant_is_noticed(tmp_path: Path) -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(
            lambda entry: result_of(entry[1], tmp_path / str(entry[0])), enumerate(MUTANTS)
        )
        assert [line for line in found if line] == []


def test_without_a_fault_the_same_tests_pass(tmp_path: Path) -> None:
    """Or else a mutant would be noticed by a test that fails anyway."""
    folder = copied(tmp_path)
    tests = sorted({mutant.test for mutant in MUTANTS})
    done = outcome(folder, tests)
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_copy_is_what_is_tested(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "import overlock_tools.core.model.stats as s; print(s.__file__)"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()).is_relative_to(folder)
