"""Made-up students, with names that roster, archive and spreadsheet programs have trouble with."""

from __future__ import annotations

from dataclasses import dataclass

# Given name, family name. Any likeness to real people is accidental.
NAMES = (
    ("Ada", "Example"),
    ("雷", "李"),
    ("梅梅", "韩"),
    ("Zoë", "Müller-Lüdenscheidt"),
    ("Seán", "O'Example"),
    ("José María", "de la Muestra, Jr."),
    ('Robert "Bob"', "Sample"),
    ("Łukasz", "Przykładowski"),
    ("Søren", "Ågård"),
    ("Анна", "Примерова"),
    ("さくら", "例"),
    ("민준", "김"),
    ("=1+1", "Formula"),
    ("Nguyễn Văn", "Ví Dụ"),
    ("Αλέξανδρος", "Παράδειγμα"),
    ("Mary Jane", "van der Test"),
    ("دانا", "مثال"),
    ("Li", "Wei"),
    ("Wei", "Li"),
    ("Çağla", "Örnek"),
)


@dataclass(frozen=True)
class Person:
    """A student of the made-up class; each platform has an id of its own."""

    id: str
    first_name: str
    last_name: str
    canvas_id: int
    moodle_id: int

    @property
    def email(self) -> str:
        return f"s{self.id}@example.org"

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}"


def person(number: int) -> Person:
    """Return the student with this number, from 0.

    When all names have been used, they come again with a numeral, except the first one: two students may have the same name.
    """
    first, last = NAMES[number % len(NAMES)]
    again = number // len(NAMES)
    if again and number % len(NAMES):
        last = f"{last} {again + 1}"
    return Person(f"2026{number + 1:03}", first, last, 70_001 + 13 * number, 900_001 + 7 * number)


def stranger() -> Person:
    """Return somebody who hands in without being on the roster."""
    return Person("2025999", "Nobody", "Ontheroster", 69_999, 899_999)
