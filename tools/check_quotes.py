#!/usr/bin/env python3
"""check_quotes.py PAGE...: every block of C++ in a page stands in tenon/ as it is quoted (white space aside)."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def squeezed(text):
    return re.sub(r"\s+", "", text)


def main(pages):
    sources = [squeezed(path.read_text()) for folder in ("tenon", "cli") for path in sorted((ROOT / folder).rglob("*"))
               if path.suffix in (".cpp", ".h")]
    failed = False
    for page in pages:
        text = pathlib.Path(page).read_text()
        for block in re.finditer(r"^```cpp\n(.*?)^```", text, re.M | re.S):
            if any(squeezed(block[1]) in source for source in sources):
                continue
            line = text.count("\n", 0, block.start()) + 1
            print(f"{page}:{line}: no source has this code (any more)")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
