"""The faults of tenon/base/fault_list.h."""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

Fault = collections.namedtuple("Fault", "name rule program tests")


def read():
    text = (ROOT / "tenon/base/fault_list.h").read_text().replace("\\\n", "\n")
    rows = re.findall(r'^ +FAULT\((\w+), "([^"]*)",\s+"(\w+)", "([^"]*)"\)', text, re.MULTILINE)
    assert len(rows) == text.count("    FAULT("), "a row of fault_list.h does not have the form of the others"
    return [Fault(*row) for row in rows]
