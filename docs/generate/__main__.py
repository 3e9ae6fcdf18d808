"""Writes the parts of the documentation that come from the code.

    python docs/generate            (or `make reference`)

tests/docs/ fails when a page and the code have drifted apart.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from pages import PAGES

for path, text in PAGES.items():
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(text(old), encoding="utf-8")
