"""diff_long_test.py SOURCE BUILD COMPILER TYPE FLAGS: of 20 seeded single changes between two runs, tenon diff names at
least 19 first. The program is built again with another flag, and with another line in a source.

Run by ctest under the label `long`.
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import CliTest, PROGRAM, words

SOURCE, BUILD, COMPILER, TYPE, FLAGS = sys.argv[1:]
SEED = 20
FLAG = "-fno-unroll-loops"

# Keys of the configuration, and values that they may change to.
KEYS = {
    "model.hidden_size": (48, 52), "model.intermediate_size": (60, 72), "model.num_hidden_layers": (1, 3),
    "model.vocab_size": (290, 320), "model.attention_dropout": (0.0, 0.2), "model.tie_word_embeddings": ("false",),
    "model.rms_norm_eps": (1e-4,), "batch.sequences": (4, 16), "batch.length": (16, 24), "batch.leaves": (1, 2, 8),
    "data.held_out": (0.0, 0.2), "optim.learning_rate": (1e-3, 2e-3), "optim.beta1": (0.8,), "optim.beta2": (0.99,),
    "optim.eps": (1e-6,), "optim.weight_decay": (0.0, 0.2), "optim.clip_norm": (0.0, 0.25),
    "schedule.kind": ("wsd",), "schedule.warmup_steps": (0, 2), "schedule.final_share": (0.5,), "train.steps": (5, 7),
}  # fmt: skip


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"diff_long_test: failed: {command}\n{done.stdout.decode()[-2000:]}")


class Programs:
    """The program with a flag more, and that one with a line more in a source."""

    def __init__(self):
        folder = pathlib.Path(BUILD)
        shutil.rmtree(folder, ignore_errors=True)
        copy = folder / "source"
        for name in ("CMakeLists.txt", "tenon", "cli", "cmake", "tools", "docs", "tests/golden"):
            origin = pathlib.Path(SOURCE) / name
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if origin.is_dir() else shutil.copy)(origin, copy / name)
        build = folder / "build"
        run("cmake", "-S", copy, "-B", build, "-G", "Ninja", f"-DCMAKE_BUILD_TYPE={TYPE}", "-DTENON_TESTS=OFF",
            f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DCMAKE_CXX_FLAGS={FLAGS} {FLAG}")
        run("cmake", "--build", build, "--target", "tenon")
        self.flag = folder / "tenon-flag"
        shutil.copy(build / "tenon", self.flag)
        with open(copy / "tenon/optim/adamw.cpp", "a", encoding="utf-8") as file:
            file.write("namespace tenon::optim {\nint another_line = 1;\n}\n")
        run("cmake", "--build", build, "--target", "tenon")
        self.source = folder / "tenon-source"
        shutil.copy(build / "tenon", self.source)


class SingleChanges(CliTest):
    def train(self, name, *arguments, program=PROGRAM, environment=None):
        steps = () if any("train.steps" in each for each in arguments) else ("--set", "train.steps=6")
        command = [str(program), "train", "tiny.toml", "--run", name, *steps, *arguments]
        done = subprocess.run(command, cwd=self.folder, env={**os.environ, **(environment or {})}, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def cause(self, a, b):
        done = self.command("diff", a, b, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        return json.loads(done.stdout)["differences"][0]["name"]

    def changes(self):
        """(expected name, what to do with the name of the new run), twenty of them."""
        draw = random.Random(SEED)
        text = (self.folder / "text.txt").read_bytes()
        keys = draw.sample(sorted(KEYS), 9)
        for key in keys:
            yield key, ["--set", f"{key}={draw.choice(KEYS[key])}"], {}
        yield "train.seed", ["--set", f"train.seed={draw.randrange(4, 1 << 32)}"], {}
        for _ in range(3):
            at = draw.randrange(len(text))
            self.write("text.txt", text[:at] + bytes([draw.choice([each for each in b"abcxyz" if each != text[at]])]) + text[at + 1:])
            yield "text", [], {}
            self.write("text.txt", text)
        self.write("other.txt", words(300, seed=draw.randrange(1000)))
        self.succeed("tokenizer", "train", "other.txt", "--vocab-size", "300", "--out", "other.json")
        yield "tokenizer", ["--set", "tokenizer.path=other.json"], {}
        yield "TENON_CPU", [], {"environment": {"TENON_CPU": "plain"}}
        yield "LC_ALL", [], {"environment": {"LC_ALL": draw.choice(["de_DE.UTF-8", "tr_TR.UTF-8"])}}
        yield "threads", ["--threads", str(draw.choice([3, 5, 7]) + os.cpu_count())], {}
        yield "batch.leaf_order", ["--set", "batch.leaf_order=bit-reversed"], {}

    def test_the_cause_is_named_first(self):
        self.train("a")
        wrong, count = [], 0
        for name, arguments, options in self.changes():
            count += 1
            self.train(f"b{count}", *arguments, **options)
            if self.cause("a", f"b{count}") != name:
                wrong.append((name, self.cause("a", f"b{count}")))
        programs = Programs()
        self.train("flag", program=programs.flag)
        self.train("source", program=programs.source)
        for name, a, b in (("flags", "a", "flag"), ("sources", "flag", "source")):
            count += 1
            if self.cause(a, b) != name:
                wrong.append((name, self.cause(a, b)))
        self.assertEqual(count, 20)
        self.assertLessEqual(len(wrong), 1, wrong)
        print(f"{count - len(wrong)} of {count} named first {wrong or ''}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
