"""Find the packages: `german_whist`, in it those at the top but the benchmarks, and the extensions.

An editable installation links these into `src/german_whist` and has `src` as its import path, which
type checkers and editors read too. Without the right to make links (Windows), setuptools maps the
folders at run time.
"""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.editable_wheel import editable_wheel

NAME, SOURCE = "german_whist", Path("src", "german_whist")
CORE = find_packages(exclude=["benchmarks*", "tests*"])
EXTENSIONS = find_packages("extensions") if Path("extensions").exists() else []
FOLDERS = {name: Path(name) for name in CORE if "." not in name}
FOLDERS |= {name: Path("extensions", name) for name in EXTENSIONS if "." not in name}


class LinkedEditable(editable_wheel):
    """An editable installation whose import path is `src`, with links to the other packages."""

    def finalize_options(self) -> None:
        try:
            # Anew, since packages move and go.
            for path in SOURCE.iterdir():
                if path.is_symlink():
                    path.unlink()
            for name, folder in FOLDERS.items():
                (SOURCE / name).symlink_to(Path("..", "..", folder), target_is_directory=True)
            self.distribution.package_dir = {"": "src"}
        except OSError as error:
            print(f"type checkers will not find {NAME}, since links cannot be made: {error}")
        super().finalize_options()


setup(
    packages=sorted({*find_packages("src"), *(f"{NAME}.{name}" for name in CORE + EXTENSIONS)}),
    package_dir={
        NAME: str(SOURCE),
        **{f"{NAME}.{name}": str(folder) for name, folder in FOLDERS.items()},
    },
    cmdclass={"editable_wheel": LinkedEditable},
)
