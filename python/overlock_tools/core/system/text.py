# SPDX-License-Identifier: MIT
"""Text that others wrote, before it is shown."""

import unicodedata

UNSHOWN = "\ufffd"
BREAKS = "\n\t"
# Control characters, which a terminal acts upon, and halves of characters, which no file can hold.
ACTED_UPON = ("Cc", "Cs")
# They turn what follows around, so that it reads as another text.
TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """The same without what is no text: colours, movements and titles of a terminal."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(UNSHOWN if _acts(letter) else letter for letter in text)


def _acts(letter: str) -> bool:
    if letter in BREAKS:
        return False
    return letter in TURNING or unicodedata.category(letter) in ACTED_UPON
