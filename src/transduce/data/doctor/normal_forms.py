"""Texts in different Unicode normal forms, which look alike and are different to a model."""

import unicodedata
from collections.abc import Iterator

from transduce.data.doctor.base import Check, Finding, many
from transduce.data.doctor.window import Side, Window
from transduce.data.tally import MOST_LINES, Tally

FORMS = ("NFC", "NFD")


class Forms:
    """The lines of one side that only NFC, only NFD, or neither would leave as they are."""

    def __init__(self) -> None:
        self.only = {form: Tally() for form in FORMS}
        self.neither = Tally()

    def look(self, side: Side, window: Window) -> None:
        if all(unicodedata.is_normalized(form, side.joined) for form in FORMS):
            return
        composed, decomposed = (
            [unicodedata.is_normalized(form, text) for text in side.texts] for form in FORMS
        )
        for line, nfc, nfd in zip(window.lines, composed, decomposed, strict=True):
            if nfc != nfd:
                self.only[FORMS[nfd]].add([line])
            elif not nfc:
                self.neither.add([line])

    def finding(self, check: str, side: str) -> Finding | None:
        composed, decomposed = (self.only[form] for form in FORMS)
        usual, rarer = FORMS if composed.count >= decomposed.count else FORMS[::-1]
        odd = {rarer: self.only[rarer], "neither form": self.neither}
        counts = " and ".join(f"{tally.count:,} in {form}" for form, tally in odd.items() if tally.count)
        values = {"side": side, "nfc": composed.count, "nfd": decomposed.count, "neither": self.neither.count}
        if counts:
            many_usual = f"{many(self.only[usual].count, 'line')} in {usual}"
            text = f"{side}: {many_usual}, {counts}: alike to the eye, not to a model"
            lines = sorted(line for tally in odd.values() for line in tally.lines)[:MOST_LINES]
            return Finding(check, "fault", text, sum(t.count for t in odd.values()), lines, values=values)
        if decomposed.count:
            text = f"{side}: all in NFD: what is translated must be too, or set tokenizer.{side}.normal_form"
            return Finding(check, "note", text, decomposed.count, decomposed.lines, values=values)
        return None


class NormalForms(Check, name="normal_forms"):
    """Whether a side mixes composed (NFC) and decomposed (NFD) text."""

    def __init__(self) -> None:
        self.sides = {"source": Forms(), "target": Forms()}

    def look(self, window: Window) -> None:
        for name, side in window.sides:
            self.sides[name].look(side, window)

    def findings(self) -> Iterator[Finding]:
        for name, forms in self.sides.items():
            if finding := forms.finding(self.name, name):
                yield finding
