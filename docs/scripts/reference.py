"""API reference as Markdown: a page for each public package, made from the sources.

Griffe reads signatures, annotations and docstrings. The names are those that a package exports.
"""

from __future__ import annotations

import importlib
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import extension_pages
import griffe

from german_whist.common.markup import markdown_table

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "german_whist"
# What each package is for, in the order of the table on the first page.
PACKAGES = {
    "": "They are what most programs need: games, views, records, training and evaluation",
    "envs": "They are the environments",
    "agents": "They load agents by name, and are the base of agents of your own",
    "training": "They are for trainers, settings and callbacks of your own",
    "evaluation": "They are the results of `evaluate` and `ladder`, and the arena that plays them",
    "engine": "They are what a compiled agent needs",
}
FILES = [f"api-{package or PACKAGE}.md" for package in PACKAGES]
ENVIRONMENTS = "environments.md"
"""The page that has the docstrings of environments in full."""
_WIDTH = 88


def link_packages(folder: Path) -> None:
    """Link the top-level folders under their import name, as they are when installed."""
    package = folder / PACKAGE
    package.mkdir(parents=True)
    folders = [module.parent for module in ROOT.glob("*/__init__.py")] + extension_pages.FOLDERS
    # An editable installation has links to the folders beside the modules.
    modules = [path for path in (ROOT / "src" / PACKAGE).iterdir() if not path.is_symlink()]
    for source in [*modules, *folders]:
        if source.name not in ("tests", "benchmarks", "__pycache__"):
            (package / source.name).symlink_to(source)


def pages() -> dict[str, str]:
    """The page of each package by its file name."""
    with tempfile.TemporaryDirectory() as folder:
        link_packages(Path(folder))
        front = griffe.load(PACKAGE, search_paths=[folder])
        assert isinstance(front, griffe.Module)
        return {file: _page(front, package) for file, package in zip(FILES, PACKAGES, strict=True)}


def _page(front: griffe.Module, package: str) -> str:
    path = f"{PACKAGE}.{package}".rstrip(".")
    holder = front[package] if package else front
    parts = [
        f"# {path}",
        f"Made from the docstrings by `make docs`: the names that `{path}` exports. "
        f"{PACKAGES[package]}. All other modules may change without notice.",
    ]
    if not package:
        parts += [
            "[Python API](api.md) shows how to use them.",
        ]
    sections: list[str] = []
    rows = []
    headings = Counter([_anchor(part[2:]) for part in parts if part.startswith("#")])
    for name, member in _exports(holder, path):
        section = "\n\n".join(_section(name, member))
        link = ENVIRONMENTS if member.is_module else ""
        if section:
            anchor = _anchor(name)
            link = f"#{anchor}-{headings[anchor]}" if headings[anchor] else f"#{anchor}"
            headings[anchor] += 1
            sections.append(section)
        rows.append([f"[`{name}`]({link})" if link else f"`{name}`", _opening(member)])
    parts += [markdown_table(["name", "description"], rows), *sections]
    return "\n\n".join(parts) + "\n"


def _exports(holder: griffe.Object, path: str) -> Iterator[tuple[str, griffe.Object]]:
    """The names that a package exports at run time, and what they are in the sources."""
    for name in sorted(importlib.import_module(path).__all__):
        member = holder.members.get(name)
        if isinstance(member, griffe.Alias) and member.target_path.startswith(f"{PACKAGE}."):
            yield name, member.final_target


def _opening(member: griffe.Object) -> str:
    return _text(member).partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def _section(name: str, member: griffe.Object) -> Iterator[str]:
    """A name with its signature, its docstring, and those of its methods and attributes."""
    if not member.docstring or member.is_module:
        return
    yield f"## {name}"
    if isinstance(member, griffe.Function):
        yield _code(_signature(member))
    elif isinstance(member, griffe.Class):
        yield _code(_outline(member))
    elif isinstance(member, griffe.Attribute) and "\n" not in str(member.value):
        yield _code(f"{name} = {member.value}")
    yield _text(member)
    if isinstance(member, griffe.Class):
        yield from _methods(member)


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def _text(documented: griffe.Object) -> str:
    """A docstring; of environments the opening, with a link to the page that has all of it."""
    text = documented.docstring.value if documented.docstring else ""
    if "\n### " in text:
        opening = text.partition("\n\n")[0]
        return f"{opening}\n\n[Options, actions and infos]({ENVIRONMENTS})."
    return re.sub(r"^(>>> .*(\n.+)*)", r"```pycon\n\1\n```", text, flags=re.MULTILINE)


def _methods(holder: griffe.Class) -> Iterator[str]:
    for name, member in holder.members.items():
        if member.is_alias or name.startswith("_") or not member.docstring:
            continue
        if isinstance(member, griffe.Function):
            yield f"{_code(_signature(member, f'{holder.name}.{name}'))}\n\n{_text(member)}"
        elif isinstance(member, griffe.Attribute):
            annotation = f": {member.annotation}" if member.annotation else ""
            yield f"{_code(f'{holder.name}.{name}{annotation}')}\n\n{_text(member)}"


def _outline(cls: griffe.Class) -> str:
    """The constructor of a class, or its fields."""
    bases = ", ".join(map(str, cls.bases))
    lines = [f"class {cls.name}({bases}):" if bases else f"class {cls.name}:"]
    constructor = cls.members.get("__init__")
    if isinstance(constructor, griffe.Function):
        signature = _signature(constructor, "__init__").replace("\n", "\n    ")
        return "\n".join([*lines, f"    def {signature}"])
    for name, member in cls.members.items():
        if isinstance(member, griffe.Attribute) and not name.startswith("_") and member.annotation:
            value = "" if member.value is None else f" = {member.value}"
            lines.append(f"    {name}: {member.annotation}{value}")
    return "\n".join(lines) if len(lines) > 1 else lines[0].removesuffix(":")


def _signature(function: griffe.Function, name: str = "") -> str:
    """A function's signature with types and defaults, in lines of readable length."""
    parameters: list[str] = []
    starred = False
    for parameter in function.parameters:
        kind = parameter.kind.value if parameter.kind else ""
        if parameter.name in ("self", "cls") and not parameters:
            continue
        if kind == "keyword-only" and not starred:
            parameters, starred = [*parameters, "*"], True
        prefix = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        starred = starred or prefix == "*"
        annotation = f": {parameter.annotation}" if parameter.annotation else ""
        text = f"{prefix}{parameter.name}{annotation}"
        if parameter.default is not None and not prefix:
            text += f" = {parameter.default}" if annotation else f"={parameter.default}"
        parameters.append(text)
    end = f" -> {function.returns}" if function.returns else ""
    line = f"{name or function.name}({', '.join(parameters)}){end}"
    if len(line) <= _WIDTH:
        return line
    indented = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"{name or function.name}(\n{indented}){end}"


def _code(text: str) -> str:
    return f"```python\n{text}\n```"
