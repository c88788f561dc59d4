# pyright: strict
"""Validation of input against typed structures, with errors in full sentences.

Model cards, states, settings and records are `msgspec.Struct`s or dataclasses. File contents are
converted to them where they are read; an error names the file, the field, the value, what is
expected and the remedy.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from .suggestions import suggest

T = TypeVar("T")

_PATH = re.compile(r" - at (`key` in )?`\$(.*?)(\[\.\.\.\].*)?`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_FIELD = re.compile(r"Object (?:missing required|contains unknown) field `(.*)`")
# Starts of msgspec's messages; any other message comes from a structure's own check.
_OF_TYPES = ("Expected ", "Invalid ", "Object ")
_MAX_REPR = 60


def convert(
    value: object,
    kind: type[T],
    source: object,
    remedy: str = "",
    error: type[ValueError] = ValueError,
) -> T:
    """Convert plain JSON or YAML data to a `kind`, or raise `error` with a sentence.

    `source` is where the value was read from, `remedy` what to do ("copy it again").
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as validation_error:
        raise error(_sentence(value, kind, str(source), remedy, str(validation_error))) from None
    except RecursionError:
        raise error(f"{source}: is nested too deeply{_remedy_clause(remedy)}") from None


def read_json(
    data: bytes, source: object, remedy: str = "", error: type[ValueError] = ValueError
) -> Any:
    """Parse JSON, or raise `error` with a sentence."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as decode_error:
        raise error(
            f"{source}: is not valid JSON: {decode_error}{_remedy_clause(remedy)}"
        ) from None
    except RecursionError:
        raise error(f"{source}: is nested too deeply{_remedy_clause(remedy)}") from None
    except UnicodeDecodeError:
        raise error(
            f"{source}: is not valid JSON: it is no UTF-8{_remedy_clause(remedy)}"
        ) from None


def _remedy_clause(remedy: str) -> str:
    return f"; {remedy}" if remedy else ""


def _sentence(value: Any, kind: type, source: str, remedy: str, message: str) -> str:
    location = _PATH.search(message)
    in_keys, steps, wildcard = location.groups() if location else (None, "", None)
    problem = message[: location.start()] if location else message
    info = inspect.type_info(kind)
    for name, number in _STEP.findall(steps):
        info = _type_within(info, name, number)
        value = value[name] if name else value[int(number)]
    path = steps.removeprefix(".")
    if not problem.startswith(_OF_TYPES):
        return f"{source}: {f'{path}: ' if path else ''}{problem}{_remedy_clause(remedy)}"
    field = _FIELD.fullmatch(problem)
    if field is not None:
        name, prefix = field.group(1), f"{path}: " if path else ""
        if "missing" in problem:
            return f"{source}: {prefix}has no {name!r}{_remedy_clause(remedy)}"
        hint = suggest(name, _field_names(info), listed=False)
        problem = f"{prefix}{short_repr(name)} is not known here"
        return f"{source}: {problem}{hint or _remedy_clause(remedy)}"
    if in_keys or wildcard:
        # msgspec does not report which key or value of a mapping it is.
        noun, attribute = ("name", "key_type") if in_keys else ("value", "value_type")
        expected = _describe(getattr(info, attribute, inspect.StrType()))
        return (
            f"{source}: {path or 'it'}: every {noun} has to be {expected}{_remedy_clause(remedy)}"
        )
    subject = f"{path} is {short_repr(value)}" if path else f"it is {short_repr(value)}"
    return f"{source}: {subject}: it has to be {_describe(info)}{_remedy_clause(remedy)}"


def _type_within(info: inspect.Type, name: str, number: str) -> inspect.Type:
    for option in info.types if isinstance(info, inspect.UnionType) else (info,):
        if name and isinstance(option, (inspect.StructType, inspect.DataclassType)):
            for field in option.fields:
                if field.encode_name == name:
                    return field.type
        elif name and isinstance(option, inspect.DictType):
            return option.value_type
        elif not name and isinstance(option, inspect.TupleType):
            return option.item_types[int(number)]
        elif not name and isinstance(option, inspect.CollectionType):
            return option.item_type
    return inspect.AnyType()


def _field_names(info: inspect.Type) -> list[str]:
    for option in info.types if isinstance(info, inspect.UnionType) else (info,):
        if isinstance(option, (inspect.StructType, inspect.DataclassType)):
            return [field.encode_name for field in option.fields]
    return []


_WORDS: dict[type[inspect.Type], str] = {
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
_PLURALS: dict[type[inspect.Type], str] = {
    inspect.IntType: "whole numbers",
    inspect.FloatType: "numbers",
    inspect.StrType: "texts",
    inspect.DictType: "mappings",
    inspect.StructType: "mappings",
    inspect.DataclassType: "mappings",
}


def type_text(kind: object) -> str:
    """Description of the values that a type allows, for errors and help texts."""
    return _describe(inspect.type_info(kind))


def _describe(info: inspect.Type) -> str:
    if isinstance(info, inspect.Metadata):
        return _describe(info.type)
    if isinstance(info, inspect.UnionType):
        return " or ".join(_describe(option) for option in info.types)
    if isinstance(info, inspect.LiteralType):
        return "one of " + ", ".join(map(str, info.values))
    if isinstance(info, _BOUNDED):
        noun = "an even number" if info.multiple_of == 2 else _WORDS[type(info)]
        return noun + _bounds(info)
    if isinstance(info, inspect.DictType):
        return f"a mapping {'of one or more' if info.min_length else ''}".strip()
    if isinstance(info, inspect.CollectionType):
        return f"a list of {_minimum_length(info)}{_describe_plural(info.item_type)}"
    if isinstance(info, inspect.TupleType) and len({*map(_describe_plural, info.item_types)}) == 1:
        return f"a list of {len(info.item_types)} {_describe_plural(info.item_types[0])}"
    for type_class, text in _WORDS.items():
        if isinstance(info, type_class):
            return text
    return "a list"


def _bounds(info: inspect.IntType | inspect.FloatType) -> str:
    limits = (
        ("at least", info.ge),
        ("more than", info.gt),
        ("at most", info.le),
        ("less than", info.lt),
    )
    limits_text = [
        f"{comparison} {limit if isinstance(limit, int) else format(limit, '.15g')}"
        for comparison, limit in limits
        if limit is not None
    ]
    return f" of {' and '.join(limits_text)}" if limits_text else ""


def _describe_plural(info: inspect.Type) -> str:
    if isinstance(info, inspect.Metadata):
        return _describe_plural(info.type)
    if isinstance(info, inspect.LiteralType):
        return "words, each " + _describe(info)
    for type_class, noun in _PLURALS.items():
        if isinstance(info, type_class):
            bounds = _bounds(info).removeprefix(" of ") if isinstance(info, _BOUNDED) else ""
            return noun + (f", each {bounds}" if bounds else "")
    return f"which each is {_describe(info)}"


def _minimum_length(info: inspect.CollectionType) -> str:
    minimum = info.min_length
    return {None: "", 0: "", 1: "one or more "}.get(minimum, f"at least {minimum} ")


def short_repr(value: object) -> str:
    """A value as an error quotes it: shortened, with containers only summarized."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        count = len(cast("list[object]", value))
        return f"a list of {count}" if count else "an empty list"
    try:
        quoted = repr(value)
    except ValueError:  # more digits than Python writes
        return "a very long number"
    return quoted if len(quoted) <= _MAX_REPR else f"{quoted[:_MAX_REPR]}…"
