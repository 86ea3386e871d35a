"""Runs the program as a user does. TENON names it; every test works in a folder of its own."""
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TENON"]

# Three layers of everything at odd sizes, with dropout and clipping, in a second or two.
CONFIG = """
[model]
model_type = "llama"
vocab_size = 300
hidden_size = 44
intermediate_size = 68
num_hidden_layers = 2
num_attention_heads = 2
num_key_value_heads = 1
max_position_embeddings = 32
attention_dropout = 0.1
tie_word_embeddings = true

[data]
path = "text.txt"

[batch]
sequences = 8
leaves = 4

[optim]
learning_rate = 4e-3
clip_norm = 0.5

[schedule]
warmup_steps = 5

[train]
steps = 30
seed = 3

[checkpoint]
every = 5
"""


def words(count, seed=1):
    """Text with some structure, the same every time."""
    draw = random.Random(seed)
    vocabulary = ["".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randint(2, 7))) for _ in range(60)]
    lines = []
    for _ in range(count):
        lines.append(" ".join(draw.choice(vocabulary) for _ in range(10)) + ".")
    return "\n".join(lines) + "\n"


class CliTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.write("text.txt", words(600))
        self.write("tiny.toml", CONFIG)

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def command(self, *arguments, **options):
        environment = dict(os.environ, **options.pop("environment", {}))
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, env=environment, capture_output=True, **options)

    def succeed(self, *arguments, **options):
        done = self.command(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done.stdout.decode()

    def expect(self, code, message, *arguments, **options):
        done = self.command(*arguments, **options)
        text = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, code, text)
        self.assertIn(message, text)

    def digests(self, run):
        return self.succeed("show", run, "--digests")
