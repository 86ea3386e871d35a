#!/usr/bin/env python3
"""check_isa.py LIBRARY...: AVX code stands only in functions of the namespaces tenon::cpu::avx2 and tenon::cpu::avx512.

One binary serves every x86-64 processor. An inline function that two files compile with different flags is kept once, and
if the AVX-512 copy is the one kept, an AVX2 machine dies in it; so this reads the machine code itself. An instruction is
VEX (AVX, AVX2) encoded when its first byte after legacy prefixes is C4 or C5, and EVEX (AVX-512) encoded when it is 62; in
64-bit code these bytes mean nothing else. AVX-512 code in the namespace avx2 is stray too.
"""

import re
import subprocess
import sys

LEGACY_PREFIXES = {"66", "67", "f2", "f3", "2e", "36", "3e", "26", "64", "65", "f0"}
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
# A mangled name that holds tenon::cpu::avx2 or tenon::cpu::avx512, and the first bytes that may stand there.
ALLOWED = {"N5tenon3cpu4avx2": {"c4", "c5"}, "N5tenon3cpu6avx512": {"c4", "c5", "62"}}


def encoding(instruction_bytes):
    return next((byte for byte in instruction_bytes.split() if byte not in LEGACY_PREFIXES), "")


def allowed_in(function):
    return next((bytes_ for name, bytes_ in ALLOWED.items() if name in function), set())


def stray_instructions(library):
    """Triples (object, function, instruction), one for each function that has any."""
    member = function = ""
    stray = set()
    command = ["objdump", "--disassemble", "--wide", library]  # wide: all bytes of an instruction on its line
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            fields = line.split("\t")
            if len(fields) >= 3:
                if encoding(fields[1]) in stray:
                    stray = set()
                    yield member, function, fields[2].strip()
            elif match := FUNCTION.match(line):
                function = match.group(1)
                stray = {"c4", "c5", "62"} - allowed_in(function)
            elif ":     file format " in line:
                member = line.split(":")[0]
    if process.returncode:
        sys.exit(f"check_isa: objdump failed on {library}")


def main():
    libraries = sys.argv[1:]
    if not libraries:
        sys.exit("usage: check_isa.py LIBRARY...")
    found = 0
    for library in libraries:
        for member, function, instruction in stray_instructions(library):
            print(f"{library}({member}): {function} holds AVX code: {instruction}")
            found += 1
    print(f"check_isa: {len(libraries)} libraries, {found} functions with stray AVX code")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
