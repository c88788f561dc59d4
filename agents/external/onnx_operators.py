"""Operators of an ONNX file, read from its bytes without a library for it.

onnxruntime does not list a graph's operators, and one of them, `Loop`, may run for ever.
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_OPERATOR = "operator"
# Numbers of the fields of each message in onnx.proto that lead to operators, and what they hold.
_FIELDS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node"},
    "function": {7: "node"},
    "node": {4: _OPERATOR, 5: "attribute"},
    "attribute": {6: "graph", 11: "graph"},
}


def graph_operators(data: bytes) -> set[str]:
    """Names of all operators, those of nested graphs and local functions included.

    Raises ValueError for what is no ONNX file in the format of protocol buffers.
    """
    operators: set[str] = set()
    messages = [("model", memoryview(data))]
    while messages:
        kind, message = messages.pop()
        for number, content in _fields(message):
            held = _FIELDS[kind].get(number)
            if held == _OPERATOR:
                operators.add(bytes(content).decode(errors="replace"))
            elif held is not None:
                messages.append((held, content))
    if not operators:
        raise ValueError("there is no graph in it")
    return operators


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Number and content of each field that holds bytes."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            _, place = _varint(message, place)
        elif wire_type in (_FIXED32, _FIXED64):
            place += 4 if wire_type == _FIXED32 else 8
        elif wire_type == _BYTES:
            size, place = _varint(message, place)
            yield number, message[place : place + size]
            place += size
        else:
            raise ValueError(f"it has a field of the unknown type {wire_type}")
        if place > len(message):
            raise ValueError("it ends within a field")


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and the place behind it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            break
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    raise ValueError("it ends within a number")
