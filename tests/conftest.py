"""Test set-up shared by all rooms."""

import sys
from pathlib import Path

# The plain second implementation is a helper module of the tests.
sys.path.insert(0, str(Path(__file__).parent))
