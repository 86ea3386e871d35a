#!/usr/bin/env python3
"""check_dependencies.py PROGRAM: docs/dependencies.md names exactly what the program links, includes and installs.

Compared both ways: the shared libraries the program asks for (readelf), the third-party headers that tenon/ and cli/
include, and the packages in tools/packages-*.txt, with the table's columns.
"""

import argparse
import pathlib
import re
import subprocess
import sys

# What a compiler and libc bring; a program needs no row for them.
SYSTEM_LIBRARIES = re.compile(r"^(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt|libatomic|ld-linux.*)\.so\.\d+$")
SYSTEM_HEADERS = {
    "cpuid.h", "dirent.h", "dlfcn.h", "elf.h", "errno.h", "fcntl.h", "float.h", "immintrin.h", "limits.h", "link.h", "malloc.h", "math.h", "poll.h",
    "pthread.h", "sched.h", "signal.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "termios.h",
    "time.h", "unistd.h", "x86intrin.h", "xmmintrin.h", "emmintrin.h", "cxxabi.h", "execinfo.h",
}  # fmt: skip
SYSTEM_FOLDERS = ("sys/", "linux/", "asm/", "bits/")


def read_table(text):
    """Rows as dictionaries from column name to cell, of every table whose first column is `library`."""
    rows, columns = [], None
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = None
            continue
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if cells[0] == "library":
            columns = cells
        elif columns and set(cells[0]) - set("-:"):
            rows.append(dict(zip(columns, cells)))
    return rows


def linked_libraries(program):
    text = subprocess.run(["readelf", "--dynamic", program], check=True, capture_output=True, text=True).stdout
    return {name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text) if not SYSTEM_LIBRARIES.match(name)}


def included_headers(root):
    headers = {}
    for folder in ("tenon", "cli"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".cpp"):
                continue
            for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", file.read_text(), re.MULTILINE):
                standard = "/" not in name and "." not in name
                if not standard and name not in SYSTEM_HEADERS and not name.startswith(SYSTEM_FOLDERS):
                    headers.setdefault(name, file.relative_to(root))
    return headers


def listed_packages(root):
    names = set()
    for file in sorted((root / "tools").glob("packages-*.txt")):
        names |= {line.split()[0] for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")}
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    rows = read_table((arguments.root / "docs/dependencies.md").read_text())
    column = lambda name: {row[name] for row in rows if row.get(name)}  # noqa: E731

    problems = []
    linked, documented = linked_libraries(arguments.program), column("linked as")
    problems += [f"{name} is linked and has no row" for name in sorted(linked - documented)]
    problems += [f"{name} has a row and is not linked" for name in sorted(documented - linked)]

    headers, prefixes = included_headers(arguments.root), column("header")
    for name, file in sorted(headers.items()):
        if not name.startswith(tuple(prefixes)):
            problems.append(f"<{name}>, included by {file}, has no row")
    for prefix in sorted(prefixes):
        if not any(name.startswith(prefix) for name in headers):
            problems.append(f"header {prefix} has a row and is included nowhere")

    packages, named = listed_packages(arguments.root), column("package")
    problems += [f"package {name} is installed and has no row" for name in sorted(packages - named)]
    problems += [f"package {name} has a row and is in no tools/packages-*.txt" for name in sorted(named - packages)]

    for problem in problems:
        print(f"docs/dependencies.md: {problem}")
    print(f"check_dependencies: {len(rows)} rows, {len(problems)} differences")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
