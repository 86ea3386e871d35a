#!/usr/bin/env python3
"""planted_test.py PROGRAMS [FAULT...]: the named tests pass without the fault and fail with it, in the same program.

PROGRAMS is the folder of the programs with fault points (build/faults). Without names: every fault of the list.
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fault_list

LIMIT_S = 120


class Unfit(Exception):
    pass


def run(fault, programs, planted):
    """The exit status of the fault's tests and what they print."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GTEST_")}
    environment["TENON_FAULT"] = fault.name if planted else ""
    program = programs / fault.program
    if fault.program == "cli":
        environment["TENON"] = str(program)
        command = [sys.executable, "-B", str(fault_list.ROOT / "tests/cli/run_test.py"), fault.tests]
    else:
        command = [str(program), f"--gtest_filter={fault.tests}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
    return done.returncode, done.stdout + done.stderr


def check(fault, programs):
    status, text = run(fault, programs, planted=False)
    if status != 0:
        raise Unfit(f"{fault.tests} fails without the fault:\n{text[-4000:]}")
    passed = "[  PASSED  ] 0 tests" not in text and "Ran 0 tests" not in text
    if not passed:
        raise Unfit(f"{fault.tests} names no test that runs:\n{text[-2000:]}")
    status, text = run(fault, programs, planted=True)
    # A failed assertion, not a crash: both print it and exit with 1.
    if status == 1 and ("[  FAILED  ]" in text or "\nFAILED (" in text):
        return
    if status == 0:
        raise Unfit(f"{fault.tests} passes with {fault.name} planted, which is to break: {fault.rule}")
    raise Unfit(f"{fault.tests} ends with status {status} instead of a failed assertion:\n{text[-4000:]}")


def main():
    programs = pathlib.Path(sys.argv[1])
    asked = sys.argv[2:]
    known = {fault.name: fault for fault in fault_list.read()}
    unfit = 0
    for name in asked or known:
        try:
            if name not in known:
                raise Unfit("is not on the list in tenon/base/fault_list.h")
            check(known[name], programs)
            print(f"caught  {name:28} by {known[name].program}: {known[name].tests}")
        except (Unfit, subprocess.TimeoutExpired) as error:
            unfit += 1
            print(f"MISSED  {name}: {error}")
    return 1 if unfit else 0


if __name__ == "__main__":
    sys.exit(main())
