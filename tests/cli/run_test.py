"""A run from its configuration to its text; interrupted, killed, resumed; and what the user sees when input is bad."""
import hashlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import CliTest, PROGRAM


def sets_of_this_machine():
    facts = json.loads(subprocess.run([PROGRAM, "doctor", "--json"], capture_output=True, check=True).stdout)
    return facts["instruction_sets"]


class Training(CliTest):
    def test_a_run_prints_its_losses_text_and_path(self):
        out = self.succeed("train", "tiny.toml")
        for part in ("training loss", "nats/token", "bits/byte", "of the f32 peak", "runs/tiny-1"):
            self.assertIn(part, out)
        self.assertIn("runs/tiny-2", self.succeed("train", "tiny.toml", "--set", "train.steps=2"))

    def test_the_same_bits_for_threads_leaf_orders_sets_and_processes(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--threads", "1")
        expected = self.digests("a")
        self.assertEqual(len(expected.splitlines()), 31)
        variants = [(["--threads", "3"], {}), (["--threads", "2", "--set", "batch.leaf_order=descending"], {}),
                    (["--set", "batch.leaf_order=bit-reversed"], {})]
        variants += [([], {"TENON_CPU": name}) for name in sets_of_this_machine() if name != "plain"]
        for number, (arguments, environment) in enumerate(variants):
            run = f"v{number}"
            self.succeed("train", "tiny.toml", "--run", run, *arguments, environment=environment)
            self.assertEqual(self.digests(run), expected, (arguments, environment))

    def test_runs_that_start_together_take_different_folders(self):
        command = [PROGRAM, "train", "tiny.toml", "--set", "train.steps=2"]
        started = [subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(3)]
        for process in started:
            self.assertEqual((process.communicate()[1].count(b"error"), process.returncode), (0, 0))
        self.assertEqual(sorted(path.name for path in (self.folder / "runs").iterdir()), ["tiny-1", "tiny-2", "tiny-3"])
        self.command("train", "tiny.toml", "--set", "data.path='absent.txt'")
        self.assertEqual(len(list((self.folder / "runs").iterdir())), 3)

    def test_another_seed_gives_other_bits(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=2")
        self.succeed("train", "tiny.toml", "--run", "b", "--set", "train.steps=2", "--set", "train.seed=4")
        self.assertNotEqual(self.digests("a"), self.digests("b"))

    def test_two_runs_differ_only_under_host(self):
        records = []
        for run in ("a", "b"):
            self.succeed("train", "tiny.toml", "--run", run, "--set", "train.steps=3")
            record = json.loads((self.folder / run / "run.json").read_text())
            del record["host"]
            records.append(record)
        self.assertEqual(*records)
        for key in ("config", "origins", "inputs", "contract", "build", "providers", "outcome"):
            self.assertIn(key, records[0])

    def test_events_name_the_samples_of_each_step(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=3")
        steps = [e for e in map(json.loads, (self.folder / "a/events.jsonl").read_text().splitlines()) if e["event"] == "step"]
        self.assertEqual([e["step"] for e in steps], [1, 2, 3])
        seen = [s for e in steps for s in e["samples"]]
        self.assertEqual(len(seen), 24)
        self.assertEqual(len(set(seen)), 24)

    def test_record_0_is_the_start(self):
        """At a rate of 0 the parameters stay what record 0 says that they are."""
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=2", "--set", "optim.learning_rate=0")
        records = [line.split("\t") for line in self.digests("a").splitlines()]
        self.assertEqual([record[0] for record in records], ["0", "1", "2"])
        self.assertEqual({record[3] for record in records}, {records[2][3]})
        self.assertNotEqual(records[0][3].strip("0"), "")

    def test_the_self_check_covers_every_set_of_this_machine(self):
        text = self.succeed("doctor", "--self-check")
        for name in sets_of_this_machine():
            self.assertIn(f"{name}, threads 1: same", text)
        self.assertIn("tier kept        D4", text)

    def test_generation_is_keyed_by_its_seed(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=3")
        one = self.succeed("generate", "a", "--prompt", "abc", "--tokens", "50", "--seed", "1")
        self.assertTrue(one.startswith("abc"))
        self.assertEqual(one, self.succeed("generate", "a", "--prompt", "abc", "--tokens", "50", "--seed", "1", "--threads", "1"))
        self.assertNotEqual(one, self.succeed("generate", "a", "--prompt", "abc", "--tokens", "50", "--seed", "2"))


class Interruption(CliTest):
    def start(self, run, *arguments):
        process = subprocess.Popen([PROGRAM, "train", "tiny.toml", "--run", run, *arguments], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def events(self, run, kind):
        lines = (self.folder / run / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]

    def resumes(self, run):
        return json.loads((self.folder / run / "run.json").read_text())["resumes"]

    def everything(self, run):
        files = (path for path in (self.folder / run).rglob("*") if path.is_file() and path.name != "lock")
        return {path: path.read_bytes() for path in files}

    def wait_for_step(self, run, step):
        events = self.folder / run / "events.jsonl"
        while True:
            if events.exists() and events.read_text().count('"event":"step"') >= step:
                return
            time.sleep(0.005)

    def slow_down(self):
        """Steps long enough to be interrupted."""
        config = (self.folder / "tiny.toml").read_text().replace("sequences = 8", "sequences = 64")
        self.write("tiny.toml", config)
        self.write("text.txt", __import__("harness").words(2500))

    def unbroken(self):
        self.succeed("train", "tiny.toml", "--run", "whole")
        return self.digests("whole"), self.samples("whole")

    def samples(self, run):
        lines = (self.folder / run / "events.jsonl").read_text().splitlines()
        return [e["samples"] for e in map(json.loads, lines) if e["event"] == "step"]

    def test_signals_finish_the_step_and_resume_continues_exactly(self):
        self.slow_down()
        expected = self.unbroken()
        for number, (sent, code) in enumerate([(signal.SIGINT, 130), (signal.SIGTERM, 143)]):
            run = f"s{number}"
            process = self.start(run)
            self.wait_for_step(run, 7)
            process.send_signal(sent)
            process.wait()
            self.assertEqual(process.returncode, code, process.stderr.read().decode())
            process.stderr.close()
            self.assertLess(len(self.digests(run).splitlines()), 31)
            self.succeed("resume", run, "--threads", "1")
            self.assertEqual((self.digests(run), self.samples(run)), expected)

    def test_a_killed_run_continues_exactly(self):
        self.slow_down()
        expected = self.unbroken()
        for number, step in enumerate([1, 6, 13]):
            run = f"k{number}"
            process = self.start(run)
            self.wait_for_step(run, step)
            process.kill()
            process.wait()
            process.stderr.close()
            self.succeed("resume", run, "--threads", str(1 + number))
            self.assertEqual((self.digests(run), self.samples(run)), expected, f"killed after step {step}")

    def test_a_finished_run_stays_as_it_is(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=6")
        before = self.digests("a")
        self.succeed("resume", "a")
        self.assertEqual(self.digests("a"), before)

    def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=12")
        before = self.digests("a")
        for damaged in ([12], [12, 10]):
            for step in damaged:
                path = self.folder / f"a/checkpoints/step-{step}/model.safetensors"
                path.write_bytes(path.read_bytes()[:-1] + b"\x55")
            done = self.command("resume", "a")
            text = done.stderr.decode()
            self.assertEqual(done.returncode, 0, text)
            for step in damaged:
                self.assertIn(f"step-{step}: model.safetensors fails its checksum", text)
            self.assertEqual(self.digests("a"), before)
            self.assertTrue((self.folder / "a/checkpoints/damaged-step-12").exists())

    def test_a_step_that_is_not_finite_is_not_applied(self):
        done = self.command("train", "tiny.toml", "--run", "a", "--set", "model.initializer_range=1e18")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"step 1 was not applied: its loss is", done.stderr)
        outcome = json.loads((self.folder / "a/run.json").read_text())["outcome"]
        self.assertEqual((outcome["state"], outcome["step"]), ("failed", 0))

    def test_closed_descriptors_do_not_become_files_of_the_run(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=4")
        for number, closed in enumerate(["<&- >&- 2>&-", "<&- 2>&-", "2>&-", ">&-"]):
            run = f"c{number}"
            command = f'"{PROGRAM}" train tiny.toml --run {run} --set train.steps=4 {closed}'
            subprocess.run(command, shell=True, cwd=self.folder, capture_output=True, check=False)
            self.assertEqual(self.digests(run), self.digests("a"), closed)
            for line in (self.folder / run / "events.jsonl").read_text().splitlines():
                json.loads(line)
        command = f'"{PROGRAM}" show a --digests >&-'
        lost = subprocess.run(command, shell=True, cwd=self.folder, capture_output=True, check=False)
        self.assertEqual(lost.returncode, 3)

    def test_a_newer_format_is_refused_and_nothing_moves(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=2")
        folder = self.folder / "a/checkpoints/step-2"
        text = (folder / "manifest.json").read_text().replace('"format": 1', '"format": 9')
        (folder / "manifest.json").write_text(text)
        (folder / "COMMIT").write_text(hashlib.sha256(text.encode()).hexdigest() + "\n")
        before = self.digests("a")
        done = self.command("resume", "a")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(b"newer", done.stderr)
        self.assertEqual(([path.name for path in folder.parent.iterdir()], self.digests("a")), (["step-2"], before))

    def test_a_run_without_checkpoints_begins_again_and_says_so(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=4")
        before = self.digests("a")
        shutil.rmtree(self.folder / "a/checkpoints")
        done = self.command("resume", "a")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"begins again at step 0", done.stderr)
        self.assertEqual(self.digests("a"), before)

    def test_origins_survive_a_resume(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=4")
        before = json.loads((self.folder / "a/run.json").read_text())["origins"]
        self.succeed("resume", "a")
        self.assertEqual(json.loads((self.folder / "a/run.json").read_text())["origins"], before)
        self.assertEqual(before["train"]["steps"], "--set")

    def test_a_run_that_fails_says_so_in_its_record(self):
        def small_files_only():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # a checkpoint is larger

        done = self.command("train", "tiny.toml", "--run", "a", preexec_fn=small_files_only)
        self.assertEqual(done.returncode, 3, done.stderr)
        outcome = json.loads((self.folder / "a/run.json").read_text())["outcome"]
        # Written while training goes on; the next one, at step 10, waits for it at the latest.
        self.assertEqual(outcome["state"], "failed")
        self.assertIn(outcome["step"], range(5, 11))
        self.assertEqual(list((self.folder / "a/checkpoints").glob("step-*")), [])
        self.assertIn("File too large", outcome["failure"])
        self.succeed("resume", "a")
        self.assertEqual(json.loads((self.folder / "a/run.json").read_text())["outcome"], {"state": "completed", "step": 30})

    def test_a_second_signal_ends_the_process_at_once(self):
        """While the first one's step lasts: it takes minutes."""
        config = (self.folder / "tiny.toml").read_text().replace("sequences = 8", "sequences = 65536")
        self.write("tiny.toml", config.replace("leaves = 4", "leaves = 4096"))
        for first, second in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT)):
            run = f"r{first}"
            process = self.start(run)
            while b" threads" not in process.stderr.readline():
                pass
            time.sleep(1.5)  # the machine's peak is measured first
            process.send_signal(first)
            time.sleep(0.2)
            self.assertIsNone(process.poll(), "the first signal lets the step go on")
            process.send_signal(second)
            process.wait(timeout=10)
            process.stderr.close()
            self.assertEqual(process.returncode, -second)
            self.assertEqual(self.digests(run).count("\n"), 1)
            self.assertEqual(list((self.folder / run / "checkpoints").iterdir()), [])

    def test_usr1_writes_a_checkpoint_and_training_goes_on(self):
        self.slow_down()
        expected = self.unbroken()
        process = self.start("a", "--set", "checkpoint.every=0", "--set", "checkpoint.keep=9")
        self.wait_for_step("a", 4)
        process.send_signal(signal.SIGUSR1)
        process.wait()
        self.assertEqual(process.returncode, 0, process.stderr.read().decode())
        process.stderr.close()
        self.assertEqual((self.digests("a"), self.samples("a")), expected)
        steps = [event["step"] for event in self.events("a", "checkpoint")]
        self.assertEqual((len(steps), steps[-1]), (2, 30))
        self.assertIn(steps[0], range(4, 29))
        shutil.rmtree(self.folder / "a/checkpoints/step-30")
        self.succeed("resume", "a")
        self.assertEqual((self.digests("a"), self.samples("a")), expected)

    def test_checkpoints_and_resumes_say_what_they_took(self):
        self.succeed("train", "tiny.toml", "--run", "a")
        events = self.events("a", "checkpoint")
        self.assertEqual([event["step"] for event in events], [5, 10, 15, 20, 25, 30])
        for event in events:
            self.assertGreater(event["seconds"]["write"], 0)
        folder = self.folder / "a/checkpoints/step-30"
        self.assertEqual(events[-1]["bytes"], sum(path.stat().st_size for path in folder.iterdir() if path.name != "COMMIT"))
        blocked = sum(event["seconds"]["blocked"] for event in events[:-1])
        self.assertAlmostEqual(blocked, sum(event["seconds"]["checkpoint"] for event in self.events("a", "step")))
        shutil.rmtree(folder)
        self.succeed("resume", "a")
        self.assertEqual([event["step"] for event in self.events("a", "step")], list(range(1, 31)))
        event, = self.events("a", "resume")
        self.assertEqual(event["step"], 25)
        self.assertGreater(event["seconds"]["restore"], 0)
        self.assertGreater(event["seconds"]["repeat"], 0)

    def test_what_has_changed_is_refused_unless_it_is_allowed(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=2")
        text = (self.folder / "text.txt").read_text()
        record = (self.folder / "a/run.json").read_text()
        tokenizer = json.loads((self.folder / "a/tokenizer.json").read_text())
        del tokenizer["model"]["merges"][-1]
        tokenizer["model"]["vocab"].popitem()
        changed = {"data": ("text.txt", ("z" if text[0] != "z" else "y") + text[1:], "the text is not what"),
                   "tokenizer": ("a/tokenizer.json", json.dumps(tokenizer), "the tokenizer is not what"),
                   "config": ("a/run.json", record.replace('"clip_norm": 0.5', '"clip_norm": 0.25'),
                              "optim.clip_norm was 0.5 and is 0.25")}
        before = self.everything("a")
        for name, (path, content, message) in changed.items():
            with self.subTest(name):
                old = (self.folder / path).read_bytes()
                self.write(path, content)
                self.expect(4, message, "resume", "a")
                self.expect(4, f"--allow {name} it goes on", "resume", "a", "--allow", "numerics")
                self.write(path, old)
        self.assertEqual(self.everything("a"), before)
        for name, (path, content, _) in changed.items():
            self.write(path, content if name != "config" else
                       (self.folder / path).read_text().replace('"clip_norm": 0.5', '"clip_norm": 0.25'))
            self.succeed("resume", "a", "--allow", name, "--set", f"train.steps={3 + len(self.resumes('a')) // 2}")
            self.assertEqual(self.resumes("a")[-1]["allowed"], [name])
            # Killed before its next checkpoint: what was allowed is so still.
            shutil.rmtree(self.folder / f"a/checkpoints/step-{self.resumes('a')[-1]['step'] + 1}")
            self.succeed("resume", "a")
        self.assertEqual([entry["step"] for entry in self.resumes("a")], [2, 2, 3, 3, 4, 4])
        self.assertEqual(len(self.digests("a").splitlines()), 6)
        self.succeed("resume", "a")  # what was allowed once is so from then on

    def test_other_numerics_are_refused(self):
        """As if the program that began the run had other ones: its record of step 1 is another."""
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=2")
        path = self.folder / "a/digests.bin"
        good = path.read_bytes()
        for at, message in ((16 + 32, "of the first parameters was"), (16 + 48 + 16, "of the gradients of step 1 was"),
                            (16 + 48 + 32, "of the parameters after step 1 was")):
            path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
            self.expect(4, message, "resume", "a")
        self.succeed("resume", "a", "--allow", "numerics")
        self.assertEqual(self.resumes("a")[-1]["allowed"], ["numerics"])
        self.succeed("resume", "a")

    def test_only_what_changes_no_past_number_can_be_set(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=4", "--set", "schedule.kind=constant")
        self.succeed("train", "tiny.toml", "--run", "b", "--set", "train.steps=7", "--set", "schedule.kind=constant")
        self.expect(4, "optim.beta2 was 0.95 and is 0.9", "resume", "a", "--set", "optim.beta2=0.9")
        self.expect(4, "train.steps is 3 and step 4 is done", "resume", "a", "--set", "train.steps=3")
        self.expect(2, 'nearest is "every"', "resume", "a", "--set", "checkpoint.evry=9")
        self.expect(2, 'nearest is "config"', "resume", "a", "--allow", "confg")
        self.expect(2, "has no effect", "resume", "a", "--allow", "data")
        self.assertEqual(self.resumes("a"), [])
        os.rename(self.folder / "text.txt", self.folder / "moved.txt")
        sets = ["train.steps=7", "train.log_every=3", "checkpoint.every=1", "checkpoint.keep=4", "data.path=moved.txt"]
        self.succeed("resume", "a", "--threads", "1", *(part for each in sets for part in ("--set", each)))
        self.assertEqual(self.digests("a"), self.digests("b"))
        self.assertEqual(sorted(path.name for path in (self.folder / "a/checkpoints").iterdir()),
                         ["step-4", "step-5", "step-6", "step-7"])
        record = json.loads((self.folder / "a/run.json").read_text())
        self.assertEqual(record["config"]["train"]["steps"], 7)
        self.assertEqual(record["origins"]["train"]["log_every"], "--set")
        entry, = record["resumes"]
        self.assertEqual((entry["step"], entry["allowed"], entry["sets"], entry["threads"]), (4, [], sets, 1))
        self.assertEqual(entry["build"], record["build"]["identity"])


class Resumption(CliTest):
    """A run whose newest checkpoints are gone or damaged, as after a crash."""

    def setUp(self):
        super().setUp()
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=12", "--set", "checkpoint.keep=9")
        self.expected = self.record()
        self.checkpoints = self.folder / "a/checkpoints"
        self.assertEqual(sorted(path.name for path in self.checkpoints.iterdir()), ["step-10", "step-12", "step-5"])

    def record(self):
        lines = (self.folder / "a/events.jsonl").read_text().splitlines()
        steps = [event for event in map(json.loads, lines) if event["event"] == "step"]
        return self.digests("a"), [(event["step"], event["samples"]) for event in steps]

    def resume_from(self, step):
        done = self.command("resume", "a")
        message = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, 0, message)
        self.assertIn(f"after step {step}", message)
        self.assertEqual(self.record(), self.expected)
        return message

    def test_what_the_last_checkpoints_lack_is_computed_again(self):
        for name in ("step-10", "step-12"):
            (self.checkpoints / name / "COMMIT").unlink()
        self.resume_from(5)

    def test_a_damaged_checkpoint_is_left_for_the_one_before(self):
        file = self.checkpoints / "step-12/model.safetensors"
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
        self.assertIn("fails its checksum", self.resume_from(10))


class BadInput(CliTest):
    def train(self, code, message, **changes):
        config = (self.folder / "tiny.toml").read_text()
        for old, new in changes.get("replace", []):
            self.assertIn(old, config)
            config = config.replace(old, new)
        self.write("bad.toml", config)
        self.expect(code, message, "train", "bad.toml", "--run", "never")
        self.assertFalse((self.folder / "never" / "run.json").exists())

    def test_configurations(self):
        for code, message, old, new in [
            (2, 'nearest is "learning_rate"', "learning_rate", "learning_rat"),
            (2, "bad.toml:29", "steps = 30", 'steps = "many"'),
            (2, "learning_rate", "learning_rate = 4e-3", 'learning_rate = "fast"'),
            (2, "num_attention_heads", "num_attention_heads = 2", "num_attention_heads = 3"),
            (2, "num_key_value_heads", "num_attention_heads = 2\nnum_key_value_heads = 1",
             "num_attention_heads = 2\nnum_key_value_heads = 3"),
            (2, "power of two", "leaves = 4", "leaves = 3"),
            (2, "batch.leaves", "leaves = 4", "leaves = 16"),
            (2, "at least 1", "steps = 30", "steps = 0"),
            (2, 'nearest is "llama"', '"llama"', '"lama"'),
            (2, "needs the key", 'path = "text.txt"', ""),
            (2, "bad.toml:3", "[model]\nmodel_type", "[model]\nmodel_type = \nx"),
            (3, "absent.txt", '"text.txt"', '"absent.txt"'),
            (2, "must be finite", "clip_norm = 0.5", "clip_norm = inf"),
            (2, "must be finite", "learning_rate = 4e-3", "learning_rate = nan"),
            (2, "at most 4294967295", "steps = 30", "steps = 4294967296"),
            (2, "at most 10000", "num_hidden_layers = 2", "num_hidden_layers = 1000000000"),
            (2, "at most 16777216", "hidden_size = 44", "hidden_size = 4000000000000000000"),
            (2, "has no effect", "warmup_steps = 5", "warmup_steps = 5\ndecay_share = 0.5"),
            (2, "tokenizer.path gives one", "[data]", '[tokenizer]\nvocab_size = 280\npath = "t.json"\n\n[data]'),
            (2, "tensor parallelism", "[checkpoint]", "[numerics]\nk_blocks = 2\n\n[checkpoint]"),
        ]:
            with self.subTest(new=new):
                self.train(code, message, replace=[(old, new)])

    def test_texts(self):
        for code, message, text in [(3, "empty", b""), (3, "UTF-8", b"abc \xff\xfe def" * 400), (3, "allows a vocabulary", b"a b c\n" * 3)]:
            with self.subTest(text=text[:12]):
                self.write("text.txt", text)
                self.train(code, message)
        for path in ("/dev/zero", "."):
            self.expect(3, "is no regular file", "train", "tiny.toml", "--run", "never", "--set", f"data.path='{path}'")

    def test_commands(self):
        self.expect(2, "bogus", "train", "tiny.toml", "--bogus")
        self.expect(3, "absent.toml", "train", "absent.toml")
        self.expect(3, "no such run", "resume", "absent")
        self.expect(3, "no such run", "show", "absent")
        self.expect(2, "", "generate", "a")
        self.expect(2, "TENON_CPU", "doctor", environment={"TENON_CPU": "sse9"})
        self.expect(2, "", "frobnicate")
        self.expect(2, "1 to 4096", "train", "tiny.toml", "--threads", "4294967297")
        self.expect(2, "empty name", "train", "tiny.toml", "--run", "")
        self.expect(2, "is no folder", "train", "tiny.toml", "--run", "text.txt")

    def test_what_a_run_is_asked_for_must_make_sense(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=2")
        self.expect(2, "not both", "show", "a", "--json", "--digests")
        self.expect(2, "the seed", "generate", "a", "--prompt", "x", "--seed", "-1")
        done = self.command("generate", "a", "--prompt", "seen", "--temperature", "-1")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"forgotten", self.command("generate", "a", "--prompt", "x", "--tokens", "80").stderr)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "show", "a"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        other = json.loads((self.folder / "a/tokenizer.json").read_text())
        other["model"]["merges"].pop()
        other["model"]["vocab"].popitem()
        self.write("a/tokenizer.json", json.dumps(other))
        self.expect(4, "is not the tokenizer", "generate", "a", "--prompt", "x")

    def test_a_folder_that_holds_other_things_is_not_written_to(self):
        for path in ("a/events.jsonl", "b/notes.txt"):
            (self.folder / path).parent.mkdir()
            self.write(path, "mine")
            self.expect(2, "a new or an empty folder", "train", "tiny.toml", "--run", path.split("/")[0])
            self.assertEqual((self.folder / path).read_text(), "mine")
        (self.folder / "empty").mkdir()
        self.succeed("train", "tiny.toml", "--run", "empty", "--set", "train.steps=1")

    def test_a_damaged_record_is_named(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=2")
        record = json.loads((self.folder / "a/run.json").read_text())
        for key in ("config", "origins", "inputs", "contract", "outcome", "host"):
            self.write("a/run.json", json.dumps({k: v for k, v in record.items() if k != key}))
            for command in ("show", "resume"):
                self.expect(3, "a/run.json: $", command, "a")

    def test_a_folder_with_a_run_is_not_overwritten(self):
        self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=2")
        before = self.digests("a")
        self.expect(2, "holds a run already", "train", "tiny.toml", "--run", "a")
        self.assertEqual(self.digests("a"), before)

    def test_help_has_an_example_for_every_command(self):
        for command in (["train"], ["resume"], ["generate"], ["show"], ["runs"], ["diff"], ["doctor"], ["tokenizer", "train"],
                        ["tokenizer", "encode"], ["tokenizer", "decode"]):
            text = self.succeed(*command, "--help")
            self.assertIn("Usage: tenon " + " ".join(command) + " [", text)
            self.assertIn("Example:\n  tenon " + " ".join(command), text)


class Tokenizer(CliTest):
    def test_encode_and_decode_round_trip(self):
        self.succeed("tokenizer", "train", "text.txt", "--vocab-size", "300", "--out", "t.json")
        text = "some words, naïve 🙂 text"
        ids = self.succeed("tokenizer", "encode", "t.json", "--text", text)
        self.assertEqual(self.succeed("tokenizer", "decode", "t.json", "--ids", ids), text)


if __name__ == "__main__":
    unittest.main()
