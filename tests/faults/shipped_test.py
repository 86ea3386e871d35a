#!/usr/bin/env python3
"""shipped_test.py --faulty PROGRAM SHIPPED...: no fault is in what is shipped, and every one is in the faulty program.

A fault leaves a call of tenon_fault_on and, in the switch, its name and its rule. Also compares docs/faults.md with the list.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fault_list

FAULTS = fault_list.read()


def contents(path):
    """What is executed and read at run time: debug information may name the enumerators."""
    with tempfile.TemporaryDirectory() as folder:
        bare = pathlib.Path(folder) / "bare"
        subprocess.run(["strip", "--strip-debug", "-o", str(bare), str(path)], check=True)
        return bare.read_bytes()


def traces(path):
    data = contents(path)
    words = ["tenon_fault", "TENON_FAULT"] + [word for fault in FAULTS for word in (fault.name, fault.rule)]
    return {word for word in words if word.encode() in data}


class Shipped(unittest.TestCase):
    def test_no_trace_of_a_fault_is_shipped(self):
        self.assertGreater(len(arguments.shipped), 10)
        for path in arguments.shipped:
            self.assertEqual(traces(path), set(), path)

    def test_the_faulty_program_has_them_all(self):
        found = traces(arguments.faulty)
        self.assertEqual({fault.name for fault in FAULTS} - found, set())
        self.assertIn("tenon_fault", found)

    def test_an_unknown_fault_is_an_error_that_lists_the_known_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "text.txt"
            text.write_text("one two three four\n" * 400)
            config = pathlib.Path(folder) / "tiny.toml"
            config.write_text('[model]\nmodel_type = "llama"\nvocab_size = 260\nhidden_size = 8\nintermediate_size = 8\n'
                              "num_hidden_layers = 1\nnum_attention_heads = 1\nmax_position_embeddings = 8\n"
                              f'[data]\npath = "{text}"\n[train]\nsteps = 1\n')
            done = subprocess.run([arguments.faulty, "train", config, "--run", pathlib.Path(folder) / "run"],
                                  env=dict(os.environ, TENON_FAULT="absent"), capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn('"absent"', done.stderr)
        for fault in FAULTS:
            self.assertIn(fault.name, done.stderr)

    def test_the_page_has_every_fault(self):
        page = (fault_list.ROOT / "docs/faults.md").read_text()
        for fault in FAULTS:
            self.assertIn(f"| `{fault.name}` | {fault.rule} | `{fault.program}`: `{fault.tests}` |", page)
        self.assertEqual(page.count("\n| `"), len(FAULTS))

    def test_every_fault_is_planted_once_at_least(self):
        text = "".join(path.read_text() for path in sorted((fault_list.ROOT / "tenon").rglob("*.cpp")))
        for fault in FAULTS:
            self.assertIn(f"TENON_FAULT({fault.name})", text)

    def test_no_header_has_a_fault(self):
        for path in sorted((fault_list.ROOT / "tenon").rglob("*.h")):
            if path.name != "fault.h":
                self.assertNotIn("TENON_FAULT(", path.read_text(), path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--faulty", required=True)
    parser.add_argument("shipped", nargs="+")
    arguments = parser.parse_args()
    unittest.main(argv=sys.argv[:1])
