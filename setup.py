"""Find the packages: `german_whist`, and in it every top-level package but the benchmarks.

An editable installation links these into `src/german_whist` and has `src` as its import path, which
type checkers and editors read too. Without the right to make links (Windows), setuptools maps the
folders at run time.
"""

import os
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.editable_wheel import editable_wheel

NAME, SOURCE = "german_whist", Path("src", "german_whist")
PACKAGES = find_packages(exclude=["benchmarks*", "tests*"])
FOLDERS = [name for name in PACKAGES if "." not in name]


class LinkedEditable(editable_wheel):
    """An editable installation whose import path is `src`, with links to the other packages."""

    def finalize_options(self) -> None:
        try:
            for folder in FOLDERS:
                if not os.path.lexists(SOURCE / folder):
                    (SOURCE / folder).symlink_to(Path("..", "..", folder), target_is_directory=True)
            self.distribution.package_dir = {"": "src"}
        except OSError as error:
            print(f"type checkers will not find {NAME}, since links cannot be made: {error}")
        super().finalize_options()


setup(
    packages=sorted({*find_packages("src"), *(f"{NAME}.{name}" for name in PACKAGES)}),
    package_dir={NAME: str(SOURCE), **{f"{NAME}.{folder}": folder for folder in FOLDERS}},
    cmdclass={"editable_wheel": LinkedEditable},
)
