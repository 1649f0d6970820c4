"""Values of a TOML file as frozen dataclasses; a wrong value gives one sentence with its place in the file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from common.errors import UsageError


class Mistake(Exception):
    """Raised for a wrong value in the file; the message says what is wrong and where."""


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        what: what the file holds, for the message if it cannot be read.

    Raises:
        UsageError: the file cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))  # Windows editors write a byte order mark
    except OSError as error:
        raise UsageError(f"expected {what} at {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: expected UTF-8 text; byte {error.start} is not valid UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def value_at(data: Any, place: str) -> Any:
    """Return the value at a place such as `score.win_rate.formula`; raise Mistake if there is none."""
    for key in place.split("."):
        if not isinstance(data, dict) or key not in data:
            raise Mistake(f"expected a value at {place}; {key!r} is missing")
        data = data[key]
    return data


def require_known_keys(data: dict[str, Any], places: Collection[str], table: str = "") -> None:
    """Raise Mistake if the file has a key that leads to none of these places.

    Args:
        places: where the file may hold values, such as `score.win_rate.formula`; the keys inside a value are not examined.
        table: the place of `data` in the file, empty for the whole file.
    """
    inside = f"{table}." if table else ""
    keys = list(dict.fromkeys(place[len(inside) :].split(".")[0] for place in places if place.startswith(inside)))
    for key, value in data.items():
        if key not in keys:
            raise Mistake(f"expected other keys in {table or 'the file'}: {key} is unknown; the keys are {', '.join(keys)}")
        place = f"{inside}{key}"
        if place not in places:
            if not isinstance(value, dict):
                raise Mistake(f"expected a table for {place}; got {_shown(value)}")
            require_known_keys(value, places, place)


def converted(value: Any, kind: Any, place: str) -> Any:
    """Return a value of the file as `kind`; raise Mistake if it has another type.

    Args:
        kind: an annotation: str, int, float, Fraction (a decimal number, exactly), a dataclass, a tuple or dict of these, or
            one of these or None. Keys of a dataclass whose fields have defaults may be missing.
        place: the place of the value in the file, empty for the whole file.
    """
    arguments, is_record = get_args(kind), is_dataclass(kind)
    if get_origin(kind) is UnionType:
        return converted(value, arguments[0], place)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise Mistake(f"expected a list for {place}; got {_shown(value)}")
        if arguments[-1] is Ellipsis:
            arguments = arguments[:1] * len(value)
        if len(value) != len(arguments):
            raise Mistake(f"expected {len(arguments)} values for {place}; got {_shown(value)}")
        places = [f"{place}[{_key_of(item, i)}]" for i, item in enumerate(value)]
        return tuple(converted(*each) for each in zip(value, arguments, places, strict=True))
    if get_origin(kind) is dict or is_record:
        if not isinstance(value, dict):
            raise Mistake(f"expected a table for {place}; got {_shown(value)}")
        inside = f"{place}." if place else ""
        if not is_record:
            return {key: converted(item, arguments[1], f"{inside}{key}") for key, item in value.items()}
        kinds = get_type_hints(kind)
        needed = [field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]
        wrong = [f"{key} is missing" for key in needed if key not in value]
        wrong += [f"{key} is unknown" for key in value if key not in kinds]
        if wrong:
            raise Mistake(f"expected other keys in {place or 'the file'}: {', '.join(wrong)}; the keys are {', '.join(kinds)}")
        return kind(**{key: converted(item, kinds[key], f"{inside}{key}") for key, item in value.items()})
    if kind is str and isinstance(value, str):
        return value
    if kind is not str and type(value) in (int, float if kind is Fraction else kind) and 0 <= value < math.inf:
        return Fraction(str(value)) if kind is Fraction else kind(value)
    number = "a number of at least 0"
    words = {str: "text", int: "a whole number of at least 0", float: number, Fraction: number}
    raise Mistake(f"expected {words[kind]} for {place}; got {_shown(value)}")


def _key_of(item: Any, index: int) -> Any:
    """Return what names an item of a list: its id if it is a table that has one, or else its index."""
    return (item.get("id") if isinstance(item, dict) else None) or index


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
