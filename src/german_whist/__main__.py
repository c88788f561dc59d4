# pyright: strict
"""`python -m german_whist` is the command `german-whist`."""

import sys

from .cli import main

sys.exit(main())
