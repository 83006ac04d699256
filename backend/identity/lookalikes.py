"""Names that look like one another, letter by letter, though they are written with other letters."""

from __future__ import annotations

import unicodedata

_LATIN = {
    # Cyrillic
    "АаВЕеЅѕІіЈјКкМНОоРрСсТУуХхҮүһԁԚԛԜԝӀӏԌь": "AaBEeSsIiJjKkMHOoPpCcTYyXxYyhdQqWwllGb",
    "вмнтёЁїЇзЗ": "bmhtëËïÏ33",
    # Greek
    "ΑαΒβΕεΖΗηΙιΚκΜΝνΟοΡρΤτΥυΧχωγ": "AaBbEeZHnIiKkMNvOoPpTtYuXxwy",
    # Armenian, and Latin letters of other languages
    "օոսհյքցզԱՕՍ": "onuhjpgqUOU",
    "ıɑɡɩʏɪ": "iagiyi",
}
_SIMILAR = str.maketrans(
    {letter: latin for given, shown in _LATIN.items() for letter, latin in zip(given, shown, strict=True)}
)


def looks(name: str) -> str:
    """Return a common form of names that look the same: their letters in the Latin alphabet, without case."""
    plain = unicodedata.normalize("NFKC", name).translate(_SIMILAR)
    digits = "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in plain)
    return digits.casefold()
