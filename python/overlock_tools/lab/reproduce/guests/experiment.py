# SPDX-License-Identifier: MIT
"""What an experiment is made of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from overlock_tools.core.analyze.paper_claims import Claim, Finding
from overlock_tools.core.model import paper_settings
from overlock_tools.core.model.results import Result

Results = Mapping[str, Result]  # by part
Values = Sequence[float]


@dataclass(frozen=True)
class Part:
    """A load, with so many guests at once."""

    load: str
    vms: int = 1
    vcpus: str = "1x"  # of the host's CPUs
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.load}-{self.vms}"


@dataclass(frozen=True)
class Question:
    sentence: str
    check: Callable[[Results], Finding]


def of_each(
    names: Iterable[str], sentence: str, check: Callable[[str], Callable[[Results], Finding]]
) -> list[Question]:
    """The same question of several loads or locks: `{}` in the sentence is whose."""
    return [Question(sentence.format(name), check(name)) for name in names]


@dataclass(frozen=True)
class Experiment:
    paper: str
    figure: str
    what: str
    parts: Sequence[Part]
    locks: Sequence[str]  # the first is the baseline
    rounds: int
    seconds: float
    columns: Sequence[str]  # of measures.MEASURES
    questions: Sequence[Question] = ()  # beside those of paper_claims.toml
    statistic: str = paper_settings.MEDIAN
    events: Sequence[str] = ()  # to be shown by themselves
    otherwise: str = ""  # what the paper had, and this has not

    def claims(self, results: Results) -> list[Claim]:
        found = ((question.sentence, question.check(results)) for question in self.questions)
        return [
            Claim(self.paper, self.figure, sentence, finding.verdict.value, finding.reason)
            for sentence, finding in found
        ]


# The locks and kernels that experiments compare

COUNTED = "@kernel=counted"
TICKET, I_SPIN, I_SPIN_PV = (f"{lock}{COUNTED}" for lock in ("ticket", "i_spin", "i_spin_pv"))
STEALING = f"unfair_qspin{COUNTED}"
OFF, OFF_NOPV = "native@kernel=off", "native@kernel=off-nopv"
ON_NOPV = "native@kernel=nopv"
TWICE = "1x,2x,4x"
SMALLER = "the papers' hosts had 8 CPUs and more"
