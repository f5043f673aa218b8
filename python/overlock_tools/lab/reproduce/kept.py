# SPDX-License-Identifier: MIT
"""The answers that come with Overlock, each with its machine and commit."""

from pathlib import Path

from overlock_tools.lab.reproduce import answers
from overlock_tools.lab.reproduce.answers import Answers

FILE = Path(__file__).with_name("kept.json")


def load() -> Answers:
    return answers.read(FILE)
