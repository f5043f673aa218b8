# SPDX-License-Identifier: MIT
"""What README and the two choosing.md say of advice.toml, with the numbers that it names."""

import evidence
from evidence import Called, Cell
from lock_pages import table
from overlock_tools.core.model import advice
from overlock_tools.core.model.advice import Gain, Situation
from overlock_tools.core.model.quantities import factor, si
from overlock_tools.core.system.errors import Fail


def _linked(lock: str) -> str:
    """Our locks have a page, a kernel's and glibc's have none."""
    page = evidence.TOP / f"docs/locks/{lock}.md"
    return f"[`{lock}`](locks/{lock}.md)" if page.exists() else f"`{lock}`"


def _counted(those: list[Cell]) -> str:
    better, worse = (sum(getattr(c, name) for c in those) for name in ("better", "worse"))
    ratios = sorted(cell.ratio for cell in those if cell.ratio is not None)
    least = "< 0.1" if any(cell.ratio is None for cell in those) else factor(ratios[0])
    most = factor(ratios[-1]) if ratios else ""
    span = least if len(those) == 1 or not most else f"{least} to {most}"
    return f"faster in {better}, slower in {worse} of {len(those)}; {span}×"


def _summary(situation: Situation) -> str:
    if situation.pages:
        return ", ".join(f"[{what}]({where})" for what, where in situation.pages.items())
    if not situation.evidence:
        return "not measured"
    if not situation.locks:
        better = [name for name in evidence.locks(situation.id) if _is_better(situation, name)]
        return f"faster: {_names(better) or 'none'}"
    lock = situation.locks[0]
    return f"{_linked(lock)} {_counted(evidence.of_lock(situation.id, lock))}"


def _is_better(situation: Situation, lock: str) -> bool:
    return evidence.called(situation.id, lock) is Called.BETTER


def situations() -> str:
    """The table of docs/choosing.md."""
    rows = [[one.when, one.words, _summary(one)] for one in advice.load().values()]
    return table(
        ["situation", "recommendation", "measured on 2 CPUs, beside the lock in place"], rows
    )


def _names(locks: list[str]) -> str:
    return ", ".join(f"`{lock}`" for lock in locks)


def _of_one(situation: Situation, before: list[str]) -> str:
    """Its measurements; of commands, those that were not named before."""
    said = [f"**{situation.when}.** Beside {situation.today}:", ""]
    for lock in situation.locks:
        use = situation.alternatives.get(lock, "")
        note = f" ({use})" if use else ""
        said.append(f"- {_linked(lock)}{note}: {_counted(evidence.of_lock(situation.id, lock))}")
    there = [lock for lock in evidence.locks(situation.id) if lock not in situation.locks]
    for which in (Called.BETTER, Called.ALIKE, Called.MIXED, Called.WORSE):
        if those := [lock for lock in there if evidence.called(situation.id, lock) is which]:
            said.append(f"- {which.value}: {_names(those)}")
    commands = evidence.commands(situation)
    if of_programs := [command for command in commands if " apps run " in command]:
        commands = [command for command in commands if command not in of_programs]
        said += ["", "Measured by the commands of [each program](results/apps-programs.md)."]
    if new := [command for command in commands if command not in before]:
        said += ["", *(f"    {command}" for command in new)]
    if len(new) < len(commands):
        said += ["", "Also from the commands above." if new else "From the commands above."]
    before += new
    return "\n".join((*said, ""))


def measured() -> str:
    """What is behind each row."""
    before: list[str] = []
    return "\n".join(_of_one(one, before) for one in advice.load().values() if one.evidence)


def gain_cell(situation: Situation, gain: Gain) -> Cell:
    lock = gain.beside or situation.take
    for cell in evidence.of_lock(situation.id, lock):
        wanted = (gain.baseline, gain.place, gain.load or cell.where)
        if (cell.baseline, cell.place, cell.where) == wanted:
            return cell
    raise Fail(f"{situation.id}: {lock} was not measured beside {gain.baseline} at {gain.place}")


def _rate(value: float) -> str:
    return f"{si(value).strip()}/s"


def _where(cell: Cell) -> str:
    guests, times, vcpus = cell.place.partition("×")
    if times:
        return f"{guests} guest of {vcpus} vCPUs" if guests == "1" else f"{guests} of {vcpus} vCPUs"
    return f"{cell.place} threads"


def gains() -> str:
    """The README's table: first the situation with the most to gain, at last none."""
    shown = [(one, one.gain) for one in advice.load().values() if one.gain]
    rows = []
    for situation, gain in shown:
        cell = gain_cell(situation, gain)
        mine, base = map(_rate, cell.rates)
        take = "**keep it**" if situation.keeps else f"`{cell.lock}`"
        mine = f"`{cell.lock}`: {mine}" if situation.keeps else mine
        gained = f"none: {cell.text}" if situation.keeps else f"**{cell.text}**"
        rows.append([gain.lock, _where(cell), base, take, mine, gained])
    return table(
        ["your lock today", "load, 2 CPUs", "now", "replace it by", "then", "speed-up"], rows
    )
