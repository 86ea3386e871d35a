"""tenon diff, runs and show --plot: one thing is changed, and it must be named first."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import xml.dom.minidom

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import CliTest, PROGRAM, words

STEPS = ("--set", "train.steps=3")


class DiffTest(CliTest):
    def train(self, run, *arguments, **options):
        self.succeed("train", "tiny.toml", "--run", run, *STEPS, *arguments, **options)

    def diff(self, a, b):
        done = self.command("diff", a, b, "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr.decode())
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode != 0, bool(found["differences"] or found["first_difference"] or found["outcome"]))
        return found

    def text_of_diff(self, a, b):
        return self.command("diff", a, b).stdout.decode()

    def copy(self, run, *path, value):
        """A copy of run a with another value in its record."""
        shutil.copytree(self.folder / "a", self.folder / run)
        record = json.loads((self.folder / run / "run.json").read_text())
        at = record
        for key in path[:-1]:
            at = at[key]
        self.assertNotEqual(at[path[-1]], value)
        at[path[-1]] = value
        self.write(f"{run}/run.json", json.dumps(record))


class Diff(DiffTest):
    def setUp(self):
        super().setUp()
        self.train("a")

    def expect_cause(self, b, kind, name, effect="may change bits", same_bits=False):
        found = self.diff("a", b)
        first = found["differences"][0]
        self.assertEqual((first["kind"], first["name"], first["effect"], first["follows"]), (kind, name, effect, None))
        if same_bits is not None:
            self.assertEqual(found["first_difference"] is None, same_bits)
        text = self.text_of_diff("a", b)
        self.assertRegex(text.splitlines()[1], rf"^  1  {kind} +{re.escape(name)} ")
        return found

    def test_identical_runs_print_nothing(self):
        self.train("b")
        done = self.command("diff", "a", "b")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertEqual(self.diff("a", "b"),
                         {"differences": [], "common_steps": 3, "first_difference": None, "outcome": []})

    def test_one_key_of_the_configuration(self):
        for number, (key, value) in enumerate([
                ("optim.learning_rate", 1e-3), ("optim.clip_norm", 0.25), ("schedule.warmup_steps", 4), ("train.seed", 4),
                ("model.hidden_size", 48), ("model.vocab_size", 310), ("model.attention_dropout", 0.2),
                ("batch.sequences", 16), ("batch.length", 16), ("batch.leaves", 2), ("data.held_out", 0.25)]):
            with self.subTest(key):
                self.train(f"b{number}", "--set", f"{key}={value}")
                found = self.expect_cause(f"b{number}", "config", key)
                first = found["differences"][0]
                self.assertEqual((first["b"], first["origin_b"]), (value, "--set"))
                self.assertNotEqual(first["a"], value)

    def test_the_first_step_tells_where_a_change_acts(self):
        for number, (change, step, parts) in enumerate([
                ("train.seed=4", 0, ["parameters"]), ("optim.learning_rate=1e-3", 1, ["parameters"]),
                ("model.attention_dropout=0.2", 1, ["loss", "gradients", "parameters"]),
                ("batch.sequences=16", 1, ["samples", "loss", "gradients", "parameters"])]):
            with self.subTest(change):
                self.train(f"b{number}", "--set", change)
                first = self.diff("a", f"b{number}")["first_difference"]
                self.assertEqual((first["step"], first["parts"]), (step, parts))
                record = [line.split("\t") for line in self.digests(f"b{number}").splitlines()][step]
                self.assertEqual(first["b"]["parameters"], record[3])

    def test_one_byte_of_the_text(self):
        text = (self.folder / "text.txt").read_bytes()
        at = random.Random(5).randrange(len(text) // 2)
        self.write("text.txt", text[:at] + (b"q" if text[at:at + 1] != b"q" else b"x") + text[at + 1:])
        self.train("b")
        self.expect_cause("b", "input", "text", same_bits=None)  # three steps may not come to that byte

    def test_another_tokenizer(self):
        self.write("other.txt", words(300, seed=2))
        for name, text in (("t", "text.txt"), ("u", "other.txt")):
            self.succeed("tokenizer", "train", text, "--vocab-size", "300", "--out", f"{name}.json")
        self.train("b", "--set", "tokenizer.path=u.json")
        self.expect_cause("b", "input", "tokenizer")

    def test_the_environment(self):
        for number, (name, value) in enumerate([("TENON_CPU", "plain"), ("LANG", "de_DE.UTF-8"), ("LC_NUMERIC", "fr_FR")]):
            with self.subTest(name):
                self.train(f"b{number}", environment={name: value})
                found = self.expect_cause(f"b{number}", "environment", name, "changes no bit at tier D4", same_bits=True)
                self.assertEqual(found["differences"][0]["b"], value)

    def test_values_that_are_not_text_are_recorded_readably(self):
        self.train("b", environment={"LC_TIME": b"a\xff"})
        self.assertEqual(self.diff("a", "b")["differences"][0]["b"], "a\\xff")

    def test_threads_the_order_of_leaves_and_paths_change_no_bit(self):
        shutil.copy(self.folder / "text.txt", self.folder / "moved.txt")
        threads = json.loads((self.folder / "a/run.json").read_text())["host"]["threads"]
        for number, (kind, name, arguments) in enumerate([
                ("kernels", "threads", ["--threads", str(threads + 1)]),
                ("config", "batch.leaf_order", ["--set", "batch.leaf_order=descending"]),
                ("config", "data.path", ["--set", "data.path=moved.txt"]),
                ("config", "train.log_every", ["--set", "train.log_every=1"])]):
            with self.subTest(name):
                self.train(f"b{number}", *arguments)
                found = self.expect_cause(f"b{number}", kind, name, "changes no bit", same_bits=True)
                self.assertEqual(len(found["differences"]), 1)

    def test_what_changes_no_bit_comes_last(self):
        self.train("b", "--threads", "3", "--set", "batch.leaf_order=descending", "--set", "train.seed=4",
                   environment={"LANG": "de_DE.UTF-8"})
        self.assertEqual([each["name"] for each in self.diff("a", "b")["differences"]],
                         ["train.seed", "LANG", "batch.leaf_order", "threads"])

    def test_another_build_or_provider(self):
        """As if another program had made the run: only its record says so."""
        record = json.loads((self.folder / "a/run.json").read_text())
        self.assertRegex(record["build"]["sources"], "^[0-9a-f]{64}$")
        providers = [dict(record["providers"][0], provider="other"), *record["providers"][1:]]
        op = f'{providers[0]["op"]} on {providers[0]["device"]}'
        for number, (kind, name, path, value, effect) in enumerate([
                ("build", "sources", ("build", "sources"), "0" * 64, "may change bits"),
                ("build", "flags", ("build", "flags"), record["build"]["flags"] + " -ffast-math", "may change bits"),
                ("build", "compiler", ("build", "compiler"), "Clang 99", "changes no bit at tier D4"),
                ("build", "commit", ("build", "commit"), "0" * 12, "changes no bit"),
                ("kernels", op, ("providers",), providers, "changes no bit at tier D4")]):
            with self.subTest(name):
                self.copy(f"b{number}", *path, value=value)
                self.expect_cause(f"b{number}", kind, name, effect, same_bits=True)
        self.assertIn("none -> -ffast-math", self.text_of_diff("a", "b1"))

    def test_a_bit_without_a_cause_is_shown(self):
        shutil.copytree(self.folder / "a", self.folder / "b")
        path = self.folder / "b/digests.bin"
        data = bytearray(path.read_bytes())
        data[16 + 2 * 48 + 40] ^= 1  # the parameters after step 2
        path.write_bytes(data)
        text = self.text_of_diff("a", "b")
        self.assertIn("nothing on record differs before the first step", text)
        self.assertIn("first difference at step 2: parameters\n", text)

    def test_a_longer_run_with_the_same_bits(self):
        self.succeed("train", "tiny.toml", "--run", "long", "--set", "train.steps=5", "--set", "schedule.kind=constant")
        self.succeed("train", "tiny.toml", "--run", "short", "--set", "train.steps=4", "--set", "schedule.kind=constant")
        found = self.diff("long", "short")
        self.assertEqual((found["common_steps"], found["first_difference"]), (4, None))
        self.assertEqual([each["name"] for each in found["differences"]], ["train.steps"])
        self.assertIn("the same bits in all 4 steps that both have", self.text_of_diff("long", "short"))

    def test_a_resumed_run_differs_only_in_having_been_resumed(self):
        self.train("b")
        shutil.rmtree(self.folder / "b/checkpoints/step-3")
        self.succeed("resume", "b")
        found = self.diff("a", "b")
        self.assertEqual(([each["name"] for each in found["differences"]], found["outcome"]), (["resumes"], []))

    def test_bad_input(self):
        self.expect(2, "", "diff", "a")
        self.expect(3, "absent: there is no such run folder", "diff", "a", "absent")
        self.expect(3, "is no run folder", "diff", ".", "a")
        for content, message in ((b"", "is no digest file"), (b"TENONDIG\x01", "is no digest file"),
                                 (b"TENONDIG\x02\0\0\0\x30\0\0\0", "this program reads 1")):
            shutil.rmtree(self.folder / "b", ignore_errors=True)
            shutil.copytree(self.folder / "a", self.folder / "b")
            (self.folder / "b/digests.bin").write_bytes(content)
            self.expect(3, message, "diff", "a", "b")
        shutil.rmtree(self.folder / "b")
        self.write("a/run.json", "{")
        self.expect(3, "a/run.json", "diff", "a", "a")

    def test_missing_and_cut_digests(self):
        shutil.copytree(self.folder / "a", self.folder / "b")
        path = self.folder / "b/digests.bin"
        path.write_bytes(path.read_bytes()[:16 + 2 * 48 + 20])
        found = self.diff("a", "b")
        self.assertEqual((found["common_steps"], found["first_difference"]), (1, None))
        self.assertEqual([each["name"] for each in found["outcome"]], ["steps", "loss"])
        path.unlink()
        found = self.diff("a", "b")
        self.assertEqual(found["outcome"][0], {"kind": "outcome", "name": "digests.bin", "a": "there", "b": "missing"})


class Watching(DiffTest):
    """Runs that are not finished."""

    def start(self, run):
        self.write("tiny.toml", (self.folder / "tiny.toml").read_text().replace("sequences = 8", "sequences = 64"))
        process = subprocess.Popen([PROGRAM, "train", "tiny.toml", "--run", run, "--set", "train.steps=100000"],
                                   cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        events = self.folder / run / "events.jsonl"
        while not events.exists() or events.read_text().count('"event":"step"') < 3:
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        return process

    def states(self, *arguments):
        return {run["name"]: run["state"] for run in json.loads(self.succeed("runs", *arguments, "--json"))}

    def test_a_running_run_can_be_read_and_a_killed_one_is_stopped(self):
        process = self.start("runs/r")
        self.assertEqual(self.states(), {"r": "running"})
        shutil.copytree(self.folder / "runs/r", self.folder / "copy", ignore=shutil.ignore_patterns("checkpoints"))
        found = self.diff("copy", "runs/r")
        self.assertEqual((found["differences"], found["first_difference"]), ([], None))
        self.assertGreaterEqual(found["common_steps"], 3)
        self.assertIn("step 1", self.succeed("show", "runs/r", "--plot"))
        for _ in range(30):  # looking never takes the lock from the run
            self.states()
        self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        self.assertEqual(self.states(), {"r": "stopped"})
        self.assertIn("runs/r: stopped after step", self.succeed("show", "runs/r"))

    def test_every_other_state(self):
        self.train("runs/done")
        self.command("train", "tiny.toml", "--run", "runs/bad", "--set", "model.initializer_range=1e18")
        process = self.start("runs/cut")
        process.send_signal(signal.SIGTERM)
        process.wait()
        (self.folder / "runs/torn").mkdir()
        self.write("runs/torn/run.json", "{")
        (self.folder / "runs/other").mkdir()
        self.assertEqual(self.states(), {"bad": "failed", "cut": "interrupted", "done": "completed", "torn": "unreadable"})


class Runs(DiffTest):
    def test_the_table(self):
        self.train("runs/a-2")
        self.train("runs/a-10", "--set", "train.seed=4", "--set", "data.held_out=0")
        lines = self.succeed("runs").splitlines()
        self.assertEqual(lines[0].split(), ["run", "state", "step", "loss", "validation", "started", "(UTC)", "size"])
        self.assertEqual([line.split()[0] for line in lines[1:]], ["a-2", "a-10"])
        self.assertEqual(len({len(line) for line in lines}), 1)
        last = self.digests("runs/a-2").splitlines()[-1].split("\t")
        row = lines[1].split()
        self.assertEqual(row[1:4], ["completed", "3", f"{float(last[1]):.4f}"])
        self.assertEqual(lines[2].split()[4], "-")
        runs = json.loads(self.succeed("runs", "runs", "--json", "--sort", "started"))
        self.assertEqual([run["name"] for run in runs], ["a-10", "a-2"])
        self.assertIsNone(runs[0]["validation"])
        size = sum(path.stat().st_size for path in (self.folder / "runs/a-2").rglob("*") if path.is_file())
        self.assertEqual(runs[1]["bytes"], size)

    def test_bad_input(self):
        self.expect(3, "runs: there is no such folder", "runs")
        (self.folder / "runs").mkdir()
        self.assertEqual(len(self.succeed("runs").splitlines()), 1)
        self.assertEqual(json.loads(self.succeed("runs", "--json")), [])
        self.expect(2, 'nearest is "loss"', "runs", "--sort", "los")


class Plot(DiffTest):
    def test_the_curve_is_as_wide_as_80_columns_where_there_is_no_terminal(self):
        self.train("a")
        lines = self.succeed("show", "a", "--plot").splitlines()
        self.assertEqual(len(lines), 17)
        self.assertEqual(max(len(line) for line in lines), 80)
        losses = [float(line.split("\t")[1]) for line in self.digests("a").splitlines()[1:]]
        self.assertEqual((lines[0].split()[0], lines[15].split()[0]), (f"{max(losses):.4f}", f"{min(losses):.4f}"))

    def test_the_svg_is_complete(self):
        self.train("a")
        self.assertEqual(self.succeed("show", "a", "--svg", "curve.svg"), "")
        root = xml.dom.minidom.parse(str(self.folder / "curve.svg")).documentElement
        self.assertEqual(root.tagName, "svg")
        self.assertEqual(len(root.getElementsByTagName("path")), 1)
        self.assertEqual(len(root.getElementsByTagName("circle")), 1)
        self.assertNotIn("href", root.toxml())

    def test_bad_input(self):
        self.expect(3, "no such run", "show", "absent", "--plot")
        self.train("a")
        self.expect(2, "not both", "show", "a", "--plot", "--json")
        self.expect(3, "absent/curve.svg", "show", "a", "--svg", "absent/curve.svg")
        self.write("a/events.jsonl", "")
        self.expect(4, "no finite loss yet", "show", "a", "--plot")
        self.expect(4, "no finite loss yet", "show", "a", "--svg", "curve.svg")
        self.assertFalse((self.folder / "curve.svg").exists())


if __name__ == "__main__":
    unittest.main()
