#!/usr/bin/env python3
"""check_skips.py RESULTS [--list]: which tests were skipped, and whether tests/skips-<set>.txt expects exactly those.

RESULTS is the folder of GoogleTest's XML files, one per test binary. The set is the processor's widest: avx512, avx2 or
plain. A line of the list is a test's full name; a line beginning with # is a comment. Tests that did not run at all
(another selection, --gtest_filter) are not held against the list. With --list it only prints "SKIPPED: name: reason".
"""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as xml


def instruction_set(cpuinfo):
    flags = set()
    for line in cpuinfo.splitlines():
        if line.startswith("flags"):
            flags = set(line.split(":", 1)[1].split())
            break
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        return "avx512"
    return "avx2" if {"avx2", "fma", "f16c"} <= flags else "plain"


def read_results(folder):
    """The names of all tests that ran, and {name: reason} of those that were skipped."""
    ran, skipped = set(), {}
    for file in sorted(folder.glob("*.xml")):
        for case in xml.parse(file).getroot().iter("testcase"):
            if case.get("status") != "run":
                continue
            name = f"{case.get('classname')}.{case.get('name')}"
            ran.add(name)
            mark = case.find("skipped")
            if mark is not None:
                # The message is "file:line\nreason".
                skipped[name] = " ".join((mark.get("message") or "").split("\n", 1)[-1].split()) or "no reason given"
    return ran, skipped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--expected", type=pathlib.Path, help="the list, by default tests/skips-<set>.txt")
    arguments = parser.parse_args()

    ran, skipped = read_results(arguments.results)
    for name, reason in sorted(skipped.items()):
        print(f"SKIPPED: {name}: {reason}")
    if arguments.list:
        return 0
    if not ran:
        print(f"check_skips: no test results in {arguments.results}", file=sys.stderr)
        return 1

    chosen = instruction_set(pathlib.Path("/proc/cpuinfo").read_text())
    tests = pathlib.Path(__file__).resolve().parent.parent / "tests"
    file = arguments.expected or tests / f"skips-{chosen}.txt"
    expected = {line.strip() for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")}
    new = sorted(set(skipped) - expected)
    gone = sorted((expected & ran) - set(skipped))
    for name in new:
        print(f"check_skips: {name} was skipped ({skipped[name]}) and is not in {file.name}", file=sys.stderr)
    for name in gone:
        print(f"check_skips: {name} ran; take it out of {file.name}", file=sys.stderr)
    for name in sorted(set(skipped) & expected):
        if skipped[name] == "no reason given":
            print(f"check_skips: {name} was skipped without a reason", file=sys.stderr)
            new.append(name)
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main())
