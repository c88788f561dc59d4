"""API reference as Markdown, a page for each package, made from the sources.

Griffe reads signatures, annotations and docstrings without importing anything. Names that begin
with an underscore, or are imported from elsewhere, are left out.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import extension_pages
import griffe

from german_whist.common.markup import markdown_table

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "german_whist"
# Of extensions and of what is behind the commands, only the modules are listed.
LISTED_ONLY = ("commands", "configs", *(folder.name for folder in extension_pages.FOLDERS))
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


def reference() -> dict[str, str]:
    """Every page by file name, the index included."""
    with tempfile.TemporaryDirectory() as folder:
        link_packages(Path(folder))
        front = griffe.load(PACKAGE, search_paths=[folder])
        assert isinstance(front, griffe.Module)
        pages = {package.path: _page(package) for package in _packages(front)}
    entries = "\n".join(f"{name.removeprefix(f'{PACKAGE}.')} <{name}>" for name in pages)
    contents = (
        "# API reference\n\nEvery package with its modules, made from the sources. Most programs "
        "need only `german_whist` itself.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n"
    )
    return {"names/index.md": contents} | {f"names/{name}.md": text for name, text in pages.items()}


def _packages(package: griffe.Module) -> Iterator[griffe.Module]:
    yield package
    for module in package.modules.values():
        if module.is_init_module and not module.is_alias:
            yield from _packages(module)


def _page(package: griffe.Module) -> str:
    parts = [f"# {package.path}", _text(package), _exports(package), *_members(package)]
    for module in sorted(package.modules.values(), key=lambda module: module.name):
        if not module.is_init_module and not module.is_alias and not module.name.startswith("__"):
            parts += [f"## {module.name}", _text(module)]
            parts += [] if _only_listed(module) else _members(module)
    return "\n\n".join(filter(None, parts)) + "\n"


def _exports(package: griffe.Module) -> str:
    """Names that a package exports, with links to their sections."""
    rows: list[list[str]] = []
    for name in sorted(map(str, package.exports or [])):
        member = package.members.get(name)
        if isinstance(member, griffe.Alias) and member.target_path.startswith(f"{PACKAGE}."):
            target = member.final_target
            home = target.module
            at = home if home.is_package else home.parent
            page = f"{at.path}.md" if at else ""
            opening = _text(target).partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")
            # What has no docstring has no section of its own.
            own = target.docstring and not target.is_module and not _only_listed(home)
            anchor = _anchor(target.name if own else home.name)
            rows.append([f"[`{name}`]({page}#{anchor})", opening])
    return markdown_table(["name", "description"], rows) if rows else ""


def _only_listed(module: griffe.Module) -> bool:
    return any(part in LISTED_ONLY for part in module.path.split("."))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w-]", "", heading.lower())


def _text(documented: griffe.Object | griffe.Alias) -> str:
    """A docstring; the opening of one that is a page of its own."""
    text = documented.docstring.value if documented.docstring else ""
    opening = text.partition("\n\n")[0]
    if "\n### " in text:
        return opening
    return re.sub(r"^(>>> .*(\n.+)*)", r"```pycon\n\1\n```", text, flags=re.MULTILINE)


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
