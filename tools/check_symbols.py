#!/usr/bin/env python3
"""check_symbols.py [--except NAME]... LIBRARY...: no object asks libm for a function whose bits libm may change.

glibc picks variants of exp, sin, pow ... by processor and changes them between versions, so nothing that reaches a number
may call them (docs/numerics.md). Every undefined symbol of every object in the libraries (archives, objects or programs)
is looked up in libm itself and its vector companion, so a function nobody thought of is found too. Allowed are the
functions that IEEE 754 or their own definition make exact. Objects named by --except (a file name without extension) are skipped.
"""

import argparse
import pathlib
import subprocess
import sys

# Exact, or rounded once as IEEE 754 says, for every argument, so any libm gives the same bits. (sqrt is too, but must be an
# instruction: a call shows that -fno-math-errno is missing.)
EXACT = {
    "ceil", "copysign", "fabs", "fdim", "floor", "fma", "fmod", "frexp", "ilogb", "ldexp", "llrint", "llround",
    "logb", "lrint", "lround", "modf", "nan", "nearbyint", "nextafter", "remainder", "rint", "round", "roundeven",
    "scalbln", "scalbn", "trunc",
}  # fmt: skip
EXACT |= {name + suffix for name in set(EXACT) for suffix in ("f", "l")}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported_by_libm(compiler):
    names = set()
    for library in ("libm.so.6", "libmvec.so.1"):
        path = output_of(compiler, f"-print-file-name={library}").strip()
        if not pathlib.Path(path).is_absolute():
            if library == "libm.so.6":
                sys.exit(f"check_symbols: {compiler} does not know where libm.so.6 is")
            continue  # libmvec exists on some processors only
        for line in output_of("nm", "-D", "--defined-only", path).splitlines():
            names.add(line.split()[-1].split("@")[0])
    return names


def undefined_symbols(library):
    """Pairs (object, symbol). nm names an archive's member as "member.o:" on a line of its own."""
    member = pathlib.Path(library).name
    for line in output_of("nm", "-u", library).splitlines():
        if line.endswith(":"):
            member = line[:-1]
        elif line.strip():
            yield member, line.split()[-1].split("@")[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--except", dest="skipped", action="append", default=[], metavar="NAME")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("libraries", nargs="+")
    arguments = parser.parse_args()

    forbidden = exported_by_libm(arguments.compiler) - EXACT
    found = 0
    for library in arguments.libraries:
        for member, symbol in undefined_symbols(library):
            if symbol in forbidden and member.split(".")[0] not in arguments.skipped:
                print(f"{library}({member}): calls {symbol} of libm; use tenon/scalar, or cpu/f64_math for f64 tensors")
                found += 1
    print(f"check_symbols: {len(arguments.libraries)} libraries, {found} calls that libm may change")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
