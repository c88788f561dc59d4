# pyright: strict
"""What enters is checked once, against a typed structure: `converted` makes it or says why not.

Cards, states, settings and records are `msgspec.Struct`s or dataclasses; what a file
holds is turned into one where it is read, and whatever does not fit becomes a sentence
that names the file, the field, the value found there, what is expected and what to do.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from .suggestions import meant

T = TypeVar("T")

_PATH = re.compile(r" - at (`key` in )?`\$(.*?)(\[\.\.\.\].*)?`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_FIELD = re.compile(r"Object (?:missing required|contains unknown) field `(.*)`")
# What msgspec says of values and types; any other message comes from a structure's own check.
_OF_TYPES = ("Expected ", "Invalid ", "Object ")
_LONGEST = 60


def converted(
    value: object,
    kind: type[T],
    source: object,
    remedy: str = "",
    error: type[ValueError] = ValueError,
) -> T:
    """`value`, plain as JSON or YAML gives it, as a `kind`; otherwise an `error` in a sentence.

    `source` is what the value was read from, `remedy` what can be done ("copy it again").
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as trouble:
        raise error(_sentence(value, kind, str(source), remedy, str(trouble))) from None
    except RecursionError:
        raise error(f"{source}: is nested too deeply{_then(remedy)}") from None


def read_json(
    data: bytes, source: object, remedy: str = "", error: type[ValueError] = ValueError
) -> Any:
    """The value that some JSON holds, or an `error` in a sentence."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as trouble:
        raise error(f"{source}: is not valid JSON: {trouble}{_then(remedy)}") from None
    except RecursionError:
        raise error(f"{source}: is nested too deeply{_then(remedy)}") from None
    except UnicodeDecodeError:
        raise error(f"{source}: is not valid JSON: it is no UTF-8{_then(remedy)}") from None


def _then(remedy: str) -> str:
    return f"; {remedy}" if remedy else ""


def _sentence(value: object, kind: Any, source: str, remedy: str, told: str) -> str:
    """What msgspec says of a value, in words that name the value and what is wanted."""
    place = _PATH.search(told)
    of_names, steps, some = place.groups() if place else (None, "", None)
    text = told[: place.start()] if place else told
    about = inspect.type_info(kind)
    for name, number in _STEP.findall(steps):
        about = _within(about, name, number)
        value = _item(value, name, number)
    where = steps.removeprefix(".")
    if not text.startswith(_OF_TYPES):
        return f"{source}: {f'{where}: ' if where else ''}{text}{_then(remedy)}"
    field = _FIELD.fullmatch(text)
    if field is not None:
        name, of = field.group(1), f"{where}: " if where else ""
        if "missing" in text:
            return f"{source}: {of}has no {name!r}{_then(remedy)}"
        near = meant(name, _names(about), listed=False)
        return f"{source}: {of}{shown(name)} is not known here{near or _then(remedy)}"
    if of_names or some:
        # msgspec does not say which of a mapping's names or values it speaks of.
        part, wanted = ("name", "key_type") if of_names else ("value", "value_type")
        found = _wanted(getattr(about, wanted, inspect.StrType()))
        return f"{source}: {where or 'it'}: every {part} has to be {found}{_then(remedy)}"
    subject = f"{where} is {shown(value)}" if where else f"it is {shown(value)}"
    return f"{source}: {subject}: it has to be {_wanted(about)}{_then(remedy)}"


def _item(value: Any, name: str, number: str) -> Any:
    return value[name] if name else value[int(number)]


def _within(about: Any, name: str, number: str) -> Any:
    """The type of an item or a field of a value of this type."""
    for each in about.types if isinstance(about, inspect.UnionType) else (about,):
        if name and isinstance(each, (inspect.StructType, inspect.DataclassType)):
            for field in each.fields:
                if field.encode_name == name:
                    return field.type
        elif name and isinstance(each, inspect.DictType):
            return each.value_type
        elif not name and isinstance(each, inspect.TupleType):
            return each.item_types[int(number)]
        elif not name and isinstance(each, inspect.CollectionType):
            return each.item_type
    return inspect.AnyType()


def _names(about: Any) -> list[str]:
    for each in about.types if isinstance(about, inspect.UnionType) else (about,):
        if isinstance(each, (inspect.StructType, inspect.DataclassType)):
            return [field.encode_name for field in each.fields]
    return []


_WORDS: dict[type[Any], str] = {
    inspect.BoolType: "true or false",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.StrType: "a text",
    inspect.AnyType: "anything",
    inspect.NoneType: "null",
    inspect.DictType: "a mapping",
    inspect.StructType: "a mapping",
    inspect.DataclassType: "a mapping",
}


_BOUNDED = (inspect.IntType, inspect.FloatType)
_PLURALS: dict[type[Any], str] = {
    inspect.IntType: "whole numbers",
    inspect.FloatType: "numbers",
    inspect.StrType: "texts",
    inspect.DictType: "mappings",
    inspect.StructType: "mappings",
    inspect.DataclassType: "mappings",
}


def wanted_of(kind: Any) -> str:
    """What a type takes, in words, as errors and help tell it."""
    return _wanted(inspect.type_info(kind))


def _wanted(about: Any) -> str:
    if isinstance(about, inspect.Metadata):
        return _wanted(about.type)
    if isinstance(about, inspect.UnionType):
        return " or ".join(_wanted(each) for each in about.types)
    if isinstance(about, inspect.LiteralType):
        return "one of " + ", ".join(map(str, about.values))
    if isinstance(about, _BOUNDED):
        even = "an even number" if about.multiple_of == 2 else _WORDS[type(about)]
        return even + _bounds(about)
    if isinstance(about, inspect.DictType):
        return f"a mapping {'of one or more' if about.min_length else ''}".strip()
    if isinstance(about, inspect.CollectionType):
        return f"a list of {_length(about)}{_several(about.item_type)}"
    if isinstance(about, inspect.TupleType) and len({*map(_several, about.item_types)}) == 1:
        return f"a list of {len(about.item_types)} {_several(about.item_types[0])}"
    for kind, words in _WORDS.items():
        if isinstance(about, kind):
            return words
    return "a list"


def _bounds(about: Any) -> str:
    limits = (("at least", about.ge), ("more than", about.gt), ("at most", about.le),
              ("less than", about.lt))  # fmt: skip
    told = [
        f"{words} {limit if isinstance(limit, int) else format(limit, '.15g')}"
        for words, limit in limits if limit is not None
    ]  # fmt: skip
    return f" of {' and '.join(told)}" if told else ""


def _several(about: Any) -> str:
    """The same of many."""
    if isinstance(about, inspect.Metadata):
        return _several(about.type)
    if isinstance(about, inspect.LiteralType):
        return "words, each " + _wanted(about)
    for kind, words in _PLURALS.items():
        if isinstance(about, kind):
            bounds = _bounds(about).removeprefix(" of ") if kind in _BOUNDED else ""
            return words + (f", each {bounds}" if bounds else "")
    return f"which each is {_wanted(about)}"


def _length(about: Any) -> str:
    """How many there have to be, before the word for them."""
    least = about.min_length
    return {None: "", 0: "", 1: "one or more "}.get(least, f"at least {least} ")


def shown(value: object) -> str:
    """A value as an error quotes it: short, and of lists and mappings only what they are."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        count = len(cast("list[Any]", value))
        return f"a list of {count}" if count else "an empty list"
    try:
        text = repr(value)
    except ValueError:  # more digits than Python writes
        return "a very long number"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
