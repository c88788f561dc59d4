"""The reference of names, made from the sources: a page of Markdown for each package.

Griffe reads signatures, types as they are written, and docstrings, which are Markdown, without
importing anything. What begins with an underscore, or is imported from elsewhere, is left out.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "german_whist"
# What these packages hold serves the commands and the table, and is nothing to build upon.
LISTED_ONLY = ("table", "commands", "configs")
_WIDTH = 88


def linked(folder: Path) -> None:
    """Lay the rooms under their import name, as they are when installed."""
    package = folder / PACKAGE
    package.mkdir(parents=True)
    rooms = [each.parent for each in ROOT.glob("*/__init__.py")]
    for each in [*(ROOT / "src" / PACKAGE).iterdir(), *rooms]:
        if each.name not in ("tests", "benchmarks", "__pycache__"):
            (package / each.name).symlink_to(each)


def reference() -> dict[str, str]:
    """Every page, by file name, and the one that lists them."""
    with tempfile.TemporaryDirectory() as folder:
        linked(Path(folder))
        front = griffe.load(PACKAGE, search_paths=[folder])
        assert isinstance(front, griffe.Module)
        pages = {each.path: _page(each) for each in _packages(front)}
    named = "\n".join(f"{name.removeprefix(f'{PACKAGE}.')} <{name}>" for name in pages)
    contents = (
        "# Names of Python\n\nEvery package with its modules, made from the sources. What most "
        "programs need is in the front door, `german_whist`, itself.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{named}\n```\n"
    )
    return {"names/index.md": contents} | {f"names/{name}.md": text for name, text in pages.items()}


def _packages(package: griffe.Module) -> Iterator[griffe.Module]:
    yield package
    for each in package.modules.values():
        if each.is_init_module and not each.is_alias:
            yield from _packages(each)


def _page(package: griffe.Module) -> str:
    parts = [f"# {package.path}", _text(package), _gathered(package), *_members(package)]
    for each in sorted(package.modules.values(), key=lambda module: module.name):
        if not each.is_init_module and not each.is_alias and not each.name.startswith("__"):
            parts += [f"## {each.name}", _text(each)]
            parts += [] if _only_listed(each) else _members(each)
    return "\n\n".join(filter(None, parts)) + "\n"


def _gathered(package: griffe.Module) -> str:
    """What can be imported from a package, and where it is told of."""
    rows: list[str] = []
    for name in sorted(map(str, package.exports or [])):
        member = package.members.get(name)
        if isinstance(member, griffe.Alias) and member.target_path.startswith(f"{PACKAGE}."):
            target = member.final_target
            home = target.module
            at = home if home.is_package else home.parent
            page = f"{at.path}.md" if at else ""
            opening = _text(target).partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")
            anchor = _anchor(home.name if target.is_module or _only_listed(home) else target.name)
            rows.append(f"| [`{name}`]({page}#{anchor}) | {opening} |")
    return "\n".join(["| name | what it is |", "|---|---|", *rows]) if rows else ""


def _only_listed(module: griffe.Module) -> bool:
    return any(part in LISTED_ONLY for part in module.path.split("."))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w-]", "", heading.lower())


def _text(told: griffe.Object | griffe.Alias) -> str:
    """A docstring; of one that is a page of its own, how it begins."""
    text = told.docstring.value if told.docstring else ""
    opening = text.partition("\n\n")[0]
    if "\n### " in text:
        return opening
    return re.sub(r"^(>>> .*(\n(>>>|\.\.\.) .*)*)", r"```pycon\n\1\n```", text, flags=re.MULTILINE)


def _members(holder: griffe.Module) -> Iterator[str]:
    for name, member in holder.members.items():
        if member.is_alias or name.startswith("_") or not member.docstring:
            continue
        if isinstance(member, griffe.Function):
            yield f"### {name}\n\n{_code(_signature(member))}\n\n{_text(member)}"
        elif isinstance(member, griffe.Class):
            yield f"### {name}\n\n{_code(_outline(member))}\n\n{_text(member)}"
            yield from _methods(member)
        elif isinstance(member, griffe.Attribute):
            yield f"### {name}\n\n{_code(f'{name} = {member.value}')}\n\n{_text(member)}"


def _methods(holder: griffe.Class) -> Iterator[str]:
    for name, member in holder.members.items():
        if member.is_alias or name.startswith("_") or not member.docstring:
            continue
        if isinstance(member, griffe.Function):
            yield f"{_code(_signature(member, f'{holder.name}.{name}'))}\n\n{_text(member)}"
        elif isinstance(member, griffe.Attribute):
            told = f"{holder.name}.{name}" + (f": {member.annotation}" if member.annotation else "")
            yield f"{_code(told)}\n\n{_text(member)}"


def _outline(told: griffe.Class) -> str:
    """How an object of a class is made, or the fields that it has."""
    bases = ", ".join(map(str, told.bases))
    lines = [f"class {told.name}({bases}):" if bases else f"class {told.name}:"]
    start = told.members.get("__init__")
    if isinstance(start, griffe.Function):
        inside = _signature(start, "__init__").replace("\n", "\n    ")
        return "\n".join([*lines, f"    def {inside}"])
    for name, member in told.members.items():
        if isinstance(member, griffe.Attribute) and not name.startswith("_") and member.annotation:
            value = "" if member.value is None else f" = {member.value}"
            lines.append(f"    {name}: {member.annotation}{value}")
    return "\n".join(lines) if len(lines) > 1 else lines[0].removesuffix(":")


def _signature(told: griffe.Function, name: str = "") -> str:
    """A function as it is called, with types and defaults, in lines of readable length."""
    shown: list[str] = []
    starred = False
    for each in told.parameters:
        kind = each.kind.value if each.kind else ""
        if each.name in ("self", "cls") and not shown:
            continue
        if kind == "keyword-only" and not starred:
            shown, starred = [*shown, "*"], True
        prefix = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        starred = starred or prefix == "*"
        text = f"{prefix}{each.name}" + (f": {each.annotation}" if each.annotation else "")
        if each.default is not None and not prefix:
            text += f" = {each.default}" if each.annotation else f"={each.default}"
        shown.append(text)
    end = f" -> {told.returns}" if told.returns else ""
    line = f"{name or told.name}({', '.join(shown)}){end}"
    if len(line) <= _WIDTH:
        return line
    inside = "".join(f"    {each},\n" for each in shown)
    return f"{name or told.name}(\n{inside}){end}"


def _code(text: str) -> str:
    return f"```python\n{text}\n```"
