"""tenon ckpt: what is listed, shown, compared, checked and exported; every damaged byte is found and named."""
import json
import math
import os
import pathlib
import shutil
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import CliTest

GOLDEN = pathlib.Path(__file__).parent.parent / "golden/export"


def read_tensors(path):
    """{name: (dtype, shape, first byte, end)} of a safetensors file, and the file."""
    data = pathlib.Path(path).read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], *(8 + length + at for at in entry["data_offsets"]))
            for name, entry in header.items()}, data


def write_tensors(path, tensors):
    """tensors: {name: (dtype, shape, bytes)}"""
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + body)


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


class CkptTest(CliTest):
    """A run "a" of 12 steps with checkpoints of steps 5, 10 and 12, made once."""

    made = None

    def setUp(self):
        super().setUp()
        if CkptTest.made is None:
            self.succeed("train", "tiny.toml", "--run", "a", "--set", "train.steps=12", "--set", "checkpoint.keep=9")
            holder = tempfile.TemporaryDirectory()
            unittest.addModuleCleanup(holder.cleanup)
            CkptTest.made = pathlib.Path(holder.name) / "a"
            shutil.copytree(self.folder / "a", CkptTest.made)
        else:
            shutil.copytree(CkptTest.made, self.folder / "a")
        self.checkpoints = self.folder / "a/checkpoints"
        self.newest = self.checkpoints / "step-12"

    def json(self, code, *arguments):
        done = self.command("ckpt", *arguments, "--json")
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return json.loads(done.stdout)

    def flip(self, path, at, mask=1):
        data = bytearray(path.read_bytes())
        data[at] ^= mask
        path.write_bytes(data)


class Listing(CkptTest):
    def test_every_folder_has_its_state(self):
        self.assertEqual([(each["step"], each["state"]) for each in self.json(0, "ls", "a")],
                         [(5, "committed"), (10, "committed"), (12, "committed")])
        newest = self.json(0, "ls", "a")[-1]
        files = list(self.newest.iterdir())
        self.assertEqual(newest["bytes"], sum(file.stat().st_size for file in files))
        self.assertEqual(newest["tensors"], sum(len(read_tensors(file)[0]) for file in files if file.suffix == ".safetensors"))
        (self.checkpoints / "step-5/COMMIT").unlink()
        (self.checkpoints / "step-10").rename(self.checkpoints / "damaged-step-10")
        (self.checkpoints / "unfinished-step-13").mkdir()
        (self.checkpoints / "notes").mkdir()
        os.truncate(self.newest / "model.safetensors", 5000)
        self.assertEqual([(each["step"], each["state"]) for each in self.json(0, "ls", "a")],
                         [(5, "unfinished"), (10, "set aside"), (12, "damaged"), (13, "unfinished")])
        text = self.succeed("ckpt", "ls", "a")
        self.assertIn("model.safetensors has 5000 bytes; the manifest says", text)
        self.assertEqual(len(text.splitlines()), 6)

    def test_bad_input(self):
        self.expect(3, "there is no such run folder", "ckpt", "ls", "absent")
        (self.folder / "empty").mkdir()
        self.expect(3, "is no run folder", "ckpt", "ls", "empty")
        self.expect(2, "", "ckpt", "ls")
        self.expect(2, "", "ckpt")
        self.expect(2, "", "ckpt", "lst", "a")
        shutil.rmtree(self.checkpoints)
        self.assertEqual(self.json(0, "ls", "a"), [])

    def test_help_has_an_example_for_every_verb(self):
        for verb in ("ls", "cat", "diff", "verify", "export"):
            text = self.succeed("ckpt", verb, "--help")
            self.assertIn(f"Usage: tenon ckpt {verb} [", text)
            self.assertIn(f"Example:\n  tenon ckpt {verb} ", text)


class Showing(CkptTest):
    def test_what_is_shown_of_each_tensor_is_what_the_files_hold(self):
        shown = {each["name"]: each for each in self.json(0, "cat", "a")}
        recorded = {each["name"]: each["sha256"] for each in json.loads((self.newest / "manifest.json").read_text())["tensors"]}
        count = 0
        for file in ("model.safetensors", "optimizer.safetensors"):
            tensors, data = read_tensors(self.newest / file)
            for name, (_, shape, begin, end) in tensors.items():
                values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
                self.assertEqual(shown[name], {"name": name, "file": file, "dtype": "f32", "shape": shape, "sha256": recorded[name],
                                               "least": min(values), "most": max(values), "not_finite": 0})
                count += 1
        self.assertEqual(len(shown), count)
        lines = self.succeed("ckpt", "cat", str(self.newest)).splitlines()
        self.assertEqual([line.split()[0] for line in lines], list(shown))

    def test_values_of_one_tensor(self):
        name = "model.layers.0.mlp.up_proj.weight"
        tensors, data = read_tensors(self.newest / "model.safetensors")
        _, shape, begin, end = tensors[name]
        values = list(struct.unpack(f"<{(end - begin) // 4}f", data[begin:end]))
        self.assertEqual(self.json(0, "cat", "a", name, "--all")["values"], values)
        self.assertEqual(self.json(0, "cat", "a", name)["values"], values[:10])
        lines = self.succeed("ckpt", "cat", "a", name, "--first", "50").splitlines()[1:]
        self.assertIn(f"{len(values) - 50} more", lines.pop())
        for number, line in enumerate(lines):
            index, value = line.split("\t")
            self.assertEqual(json.loads(index), [number // shape[1], number % shape[1]])
            self.assertEqual(struct.pack("<f", float(value)), struct.pack("<f", values[number]))
        self.assertEqual(len(lines), 50)

    def test_any_safetensors_file(self):
        write_tensors(self.folder / "x.safetensors", {
            "f": ("F32", [2, 2], floats(1.5, math.nan, -2, math.inf)), "e": ("F32", [0, 3], b""), "s": ("F32", [], floats(7)),
            "i": ("I64", [2], struct.pack("<2q", -5, 1 << 40)), "h": ("BF16", [2], struct.pack("<2H", 0x3FC0, 0xC000))})
        shown = {each["name"]: each for each in self.json(0, "cat", "x.safetensors")}
        self.assertEqual({name: (each["dtype"], each["least"], each["most"], each["not_finite"]) for name, each in shown.items()},
                         {"f": ("f32", -2, 1.5, 2), "e": ("f32", 0, 0, 0), "s": ("f32", 7, 7, 0),
                          "i": ("i64", -5, 1 << 40, 0), "h": ("bf16", -2, 1.5, 0)})
        self.assertIn("[]\t7\n", self.succeed("ckpt", "cat", "x.safetensors", "s"))
        self.assertIn("[1]\t1099511627776\n", self.succeed("ckpt", "cat", "x.safetensors", "i"))

    def test_bad_input(self):
        self.expect(2, 'nearest is "model.norm.weight"', "ckpt", "cat", "a", "model.nrm.weight")
        self.expect(2, "not both", "ckpt", "cat", "a", "model.norm.weight", "--all", "--first", "3")
        self.expect(2, "give its name", "ckpt", "cat", "a", "--all")
        self.expect(2, "at least 0", "ckpt", "cat", "a", "model.norm.weight", "--first", "-1")
        self.expect(3, "no such file or folder", "ckpt", "cat", "absent")
        self.expect(3, "text.txt", "ckpt", "cat", "text.txt")
        (self.folder / "empty").mkdir()
        self.expect(3, "has no .safetensors file", "ckpt", "cat", "empty")

    def test_what_is_shown_of_a_damaged_checkpoint_says_so(self):
        tensors, _ = read_tensors(self.newest / "model.safetensors")
        self.flip(self.newest / "model.safetensors", tensors["model.norm.weight"][2])
        self.expect(3, '"model.norm.weight" does not have the SHA-256', "ckpt", "cat", "a")
        self.expect(3, '"model.norm.weight" does not have the SHA-256', "ckpt", "cat", "a", "model.norm.weight")
        self.succeed("ckpt", "cat", "a", "model.embed_tokens.weight")
        (self.newest / "COMMIT").unlink()
        self.expect(3, "has no COMMIT", "ckpt", "cat", str(self.newest))


class Comparing(CkptTest):
    def test_equal_ones_print_nothing(self):
        self.assertEqual(self.succeed("ckpt", "diff", "a", str(self.newest)), "")
        shutil.copy(self.newest / "model.safetensors", self.folder / "m.safetensors")
        self.assertEqual(self.succeed("ckpt", "diff", "m.safetensors", str(self.newest / "model.safetensors")), "")

    def test_sets_then_values(self):
        same = ("F32", [2], floats(1, 2))
        write_tensors(self.folder / "x.safetensors", {
            "gone": same, "shape": ("F32", [2, 3], floats(*range(6))), "dtype": ("F32", [1], floats(1)), "same": same,
            "values": ("F32", [2, 3], floats(1, 2, 3, 4, 5, 6)), "zero": ("F32", [1], floats(0.0)),
            "odd": ("F32", [2], floats(1, math.nan))})
        write_tensors(self.folder / "y.safetensors", {
            "shape": ("F32", [3, 2], floats(*range(6))), "dtype": ("I32", [1], struct.pack("<i", 1)), "same": same,
            "values": ("F32", [2, 3], floats(1, 2, 3.5, 4, 4, 6)), "zero": ("F32", [1], floats(-0.0)),
            "odd": ("F32", [2], floats(1, 3)), "new": same})
        done = self.command("ckpt", "diff", "x.safetensors", "y.safetensors")
        self.assertEqual((done.returncode, done.stdout.decode().splitlines()), (1, [
            "only in A: gone f32[2]",
            "only in B: new f32[2]",
            "shape is f32[2, 3] in A and f32[3, 2] in B",
            "dtype is f32[1] in A and i32[1] in B",
            "values f32[2, 3]: first at [0, 2]: 3 and 3.5; 2 of 6 differ, by at most 1, relatively 0.2",
            "zero f32[1]: first at [0]: 0 and -0; 1 of 1 differ, by at most 0, relatively 0",
            "odd f32[2]: first at [1]: nan and 3; 1 of 2 differ, by at most inf, relatively inf"]))
        found = self.json(1, "diff", "x.safetensors", "y.safetensors")
        self.assertEqual((found["only_a"], found["only_b"]), (["gone"], ["new"]))
        self.assertEqual(found["differing"][0], {"name": "values", "first": [0, 2], "a": 3, "b": 3.5, "differing": 2,
                                                 "elements": 6, "absolute": 1, "relative": 0.2})

    def test_two_checkpoints_of_a_run(self):
        found = {each["name"]: each for each in self.json(1, "diff", str(self.checkpoints / "step-10"), "a")["differing"]}
        for file in ("model.safetensors", "optimizer.safetensors"):
            old, old_data = read_tensors(self.checkpoints / "step-10" / file)
            new, new_data = read_tensors(self.newest / file)
            for name, (_, shape, begin, end) in old.items():
                a = struct.unpack(f"<{(end - begin) // 4}f", old_data[begin:end])
                b = struct.unpack(f"<{(end - begin) // 4}f", new_data[new[name][2]:new[name][3]])
                pairs = [(i, x, y) for i, (x, y) in enumerate(zip(a, b)) if x != y]
                each = found.pop(name)
                self.assertEqual((each["a"], each["b"], each["differing"], each["elements"]),
                                 (*pairs[0][1:], len(pairs), len(a)))
                self.assertEqual(each["absolute"], max(abs(x - y) for _, x, y in pairs))
                self.assertEqual(each["relative"], max(abs(x - y) / max(abs(x), abs(y)) for _, x, y in pairs))
                self.assertEqual(each["first"], [pairs[0][0]] if len(shape) == 1 else list(divmod(pairs[0][0], shape[1])))
        self.assertEqual(found, {})

    def test_damage_and_bad_input(self):
        tensors, _ = read_tensors(self.newest / "model.safetensors")
        shutil.copytree(self.newest, self.folder / "good")
        self.flip(self.newest / "model.safetensors", tensors["model.norm.weight"][2] + 4)
        done = self.command("ckpt", "diff", "a", "good")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"does not have the SHA-256", done.stderr)
        self.assertIn(b"model.norm.weight f32[44]: first at [1]: ", done.stdout)
        self.expect(3, "no such file or folder", "ckpt", "diff", "a", "absent")
        self.expect(2, "", "ckpt", "diff", "a")
        shutil.rmtree(self.checkpoints)
        self.expect(3, "has no checkpoint yet", "ckpt", "diff", "a", "good")


class Verifying(CkptTest):
    def positions(self, size):
        return sorted({0, 1, 7, 8, size // 3, size // 2, 2 * size // 3, size - 9, size - 2, size - 1})

    def test_a_flipped_byte_in_any_file_of_a_checkpoint_is_found(self):
        for name in ("model.safetensors", "optimizer.safetensors", "manifest.json", "COMMIT"):
            path = self.newest / name
            good = path.read_bytes()
            tensors = read_tensors(path)[0] if name.endswith("tensors") else {}
            for at in self.positions(len(good)):
                with self.subTest(name, at=at):
                    self.flip(path, at, 1 << at % 8)
                    tensor = next((key for key, (_, _, begin, end) in tensors.items() if begin <= at < end), None)
                    for target, checkpoints in (("a", "checkpoints"), (str(self.newest), None)):
                        report = self.json(3, "verify", target)
                        report = report[checkpoints][-1] if checkpoints else report
                        self.assertEqual(report["state"], "damaged")
                        self.assertEqual([(each["file"], each["tensor"]) for each in report["damage"]], [(name, tensor)])
                    path.write_bytes(good)
        self.succeed("ckpt", "verify", "a")

    def test_what_is_good_is_said(self):
        lines = self.succeed("ckpt", "verify", "a").splitlines()
        for step in (5, 10, 12):
            self.assertIn(f"a/checkpoints/step-{step}: good: 60 tensors", lines[[5, 10, 12].index(step)])
        self.assertEqual(lines[-1], "newest good checkpoint: a/checkpoints/step-12")
        self.assertTrue(all(": good: " in line for line in lines[:-1]))
        tensors, _ = read_tensors(self.newest / "model.safetensors")
        self.flip(self.newest / "model.safetensors", tensors["model.norm.weight"][2])
        self.expect(3, "", "ckpt", "verify", "a")
        text = self.command("ckpt", "verify", "a").stdout.decode()
        self.assertIn("a/checkpoints/step-12: damaged: 59 of 60 tensors are good\n"
                      '  model.safetensors: tensor "model.norm.weight": its bytes do not have', text)
        self.assertIn("a/checkpoints/step-10: good", text)
        self.assertTrue(text.endswith("newest good checkpoint: a/checkpoints/step-10\n"))

    def test_files_that_are_cut_missing_or_of_another_checkpoint(self):
        for name in ("model.safetensors", "optimizer.safetensors", "manifest.json", "COMMIT"):
            path = self.newest / name
            good = path.read_bytes()
            cases = {"cut": good[:-1], "cut in half": good[:len(good) // 2], "longer": good + b"\0", "empty": b"",
                     "of step 10": (self.checkpoints / "step-10" / name).read_bytes()}
            for case, data in cases.items():
                with self.subTest(name, case=case):
                    path.write_bytes(data)
                    self.assertEqual(self.json(3, "verify", "a")["checkpoints"][-1]["state"], "damaged")
                    self.assertEqual(self.json(3, "verify", str(self.newest))["damage"][0]["file"],
                                     "manifest.json" if (name, case) == ("COMMIT", "of step 10") else name)
            path.unlink()
            with self.subTest(name, case="missing"):
                report = self.json(0 if name == "COMMIT" else 3, "verify", "a")
                self.assertEqual(report["newest_good"], "a/checkpoints/step-10")
                self.assertEqual(report["checkpoints"][-1]["state"], "unfinished" if name == "COMMIT" else "damaged")
                self.json(3, "verify", str(self.newest))
            path.write_bytes(good)
        shutil.rmtree(self.newest)
        shutil.copytree(self.checkpoints / "step-10", self.newest)
        self.assertIn("is of step 10", self.json(3, "verify", "a")["checkpoints"][-1]["damage"][0]["what"])

    def test_what_verify_calls_good_loads_and_nothing_else(self):
        """generate reads as resume does: it skips what verify calls damaged."""
        self.flip(self.newest / "optimizer.safetensors", -1)
        self.assertIn(b"step-12", self.command("generate", "a", "--prompt", "x", "--tokens", "1").stderr)
        self.assertEqual(self.json(3, "verify", "a")["newest_good"], "a/checkpoints/step-10")

    def test_the_files_beside_the_checkpoints(self):
        def bad():
            return [each["file"] for each in self.json(3, "verify", "a")["files"] if not each["good"]]

        for name in ("tokenizer.json", "run.json"):
            path = self.folder / "a" / name
            good = path.read_bytes()
            for at in self.positions(len(good)):
                with self.subTest(name, at=at):
                    self.flip(path, at)
                    self.assertEqual(bad(), [f"a/{name}"])
                    path.write_bytes(good)
            path.unlink()
            self.assertEqual(bad(), [f"a/{name}"])
            path.write_bytes(good)
        record = self.folder / "a/run.json"
        good = record.read_text()
        for old, new in (('"clip_norm": 0.5', '"clip_norm": 0.25'), ('"seed": 3', '"seed": 2')):
            self.assertIn(old, good)
            record.write_text(good.replace(old, new))
            self.assertEqual(bad(), ["a/run.json"])
        record.write_text(good)
        for name in ("digests.bin", "events.jsonl"):
            path = self.folder / "a" / name
            data = path.read_bytes()
            path.write_bytes(data[:len(data) // 2])
            self.assertEqual(bad(), [f"a/{name}"])
            path.write_bytes(data)
        self.succeed("ckpt", "verify", "a")

    def test_a_resumed_run_with_what_was_allowed_is_good(self):
        text = (self.folder / "text.txt").read_text()
        self.write("text.txt", "z" + text[1:])
        self.succeed("resume", "a", "--allow", "data", "--set", "train.steps=14")
        self.succeed("ckpt", "verify", "a")
        shutil.rmtree(self.checkpoints / "step-14")
        self.succeed("ckpt", "verify", "a")

    def test_bad_input(self):
        self.expect(3, "there is no such folder", "ckpt", "verify", "absent")
        self.expect(2, "", "ckpt", "verify")
        (self.folder / "empty").mkdir()
        self.expect(3, "", "ckpt", "verify", "empty")
        shutil.rmtree(self.checkpoints)
        self.expect(3, "has no checkpoint yet", "ckpt", "verify", "a")


class Exporting(CkptTest):
    def config(self, folder):
        return json.loads((self.folder / folder / "config.json").read_text())

    def test_the_files_are_those_of_the_run(self):
        found = self.json(0, "export", "a", "out/x")
        self.assertEqual((found["step"], sorted(found["files"])),
                         (12, ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]))
        self.assertEqual(sorted(path.name for path in (self.folder / "out/x").iterdir()), sorted(found["files"]))
        self.assertEqual([path.name for path in (self.folder / "out").iterdir()], ["x"])
        for name, source in (("model.safetensors", self.newest), ("tokenizer.json", self.folder / "a")):
            self.assertEqual((self.folder / "out/x" / name).read_bytes(), (source / name).read_bytes())
        self.succeed("ckpt", "export", "a", "five/", "--step", "5")
        self.assertEqual((self.folder / "five/model.safetensors").read_bytes(), (self.checkpoints / "step-5/model.safetensors").read_bytes())

    def test_config_json_says_what_transformers_itself_would(self):
        """What Transformers takes for granted may be left out (tests/golden/make/export.py)."""
        goldens = sorted(GOLDEN.glob("*.json"))
        self.assertEqual(len(goldens), 5)
        for path in goldens:
            golden = json.loads(path.read_text())
            model = "[model]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in golden["model"].items())
            self.write("model.toml", model + '[data]\npath = "text.txt"\n[batch]\nsequences = 8\n[train]\nsteps = 1\n')
            self.succeed("train", "model.toml", "--run", path.stem)
            self.succeed("ckpt", "export", path.stem, path.stem + "-out")
            ours = self.config(path.stem + "-out")
            self.assertEqual(ours.pop("torch_dtype"), "float32")
            self.assertEqual([name.lower().startswith(golden["model"]["model_type"]) for name in ours.pop("architectures")], [True])
            for key, value in golden["transformers"].items():
                if key != "architectures":
                    self.assertEqual(ours.get(key, golden["defaults"][key]), value, (path.stem, key))
            for key in set(ours) - set(golden["transformers"]):
                self.assertEqual(key, "rope_theta")
                self.assertEqual(ours[key], golden["transformers"]["rope_parameters"][key])

    def test_a_token_that_ends_a_text_is_named(self):
        self.succeed("tokenizer", "train", "text.txt", "--vocab-size", "300", "--special", "<pad>", "--special", "<|endoftext|>", "--out", "t.json")
        for run, sets, end in (("b", ["--set", "tokenizer.path='t.json'"], 1), ("c", [], None)):
            self.succeed("train", "tiny.toml", "--run", run, "--set", "train.steps=1", *sets)
            self.succeed("ckpt", "export", run, run + "-out")
            generation = json.loads((self.folder / (run + "-out") / "generation_config.json").read_text())
            tokens = json.loads((self.folder / (run + "-out") / "tokenizer_config.json").read_text())
            self.assertEqual((self.config(run + "-out")["eos_token_id"], generation["eos_token_id"]), (end, end))
            self.assertEqual(tokens.get("eos_token"), None if end is None else "<|endoftext|>")
            self.assertEqual((tokens["model_max_length"], tokens["tokenizer_class"]), (32, "PreTrainedTokenizerFast"))

    def test_damaged_checkpoints_are_passed_over_by_name_or_refused(self):
        tensors, _ = read_tensors(self.newest / "model.safetensors")
        self.flip(self.newest / "model.safetensors", tensors["model.norm.weight"][2])
        self.expect(3, 'fails its checksum at tensor "model.norm.weight"', "ckpt", "export", "a", "x", "--step", "12")
        self.assertFalse((self.folder / "x").exists())
        done = self.command("ckpt", "export", "a", "x")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"step-12", done.stderr)
        self.assertIn(b"step 10", done.stdout)

    def test_bad_input(self):
        self.expect(3, "there is no such run folder", "ckpt", "export", "absent", "x")
        self.expect(3, "no checkpoint of step 7; there are those of 5, 10, 12", "ckpt", "export", "a", "x", "--step", "7")
        self.expect(2, "", "ckpt", "export", "a", "x", "--step", "last")
        self.expect(2, "empty name", "ckpt", "export", "a", "")
        (self.folder / "there").mkdir()
        self.write("file", "mine")
        for path in ("there", "file", "a"):
            self.expect(2, "exists already", "ckpt", "export", "a", path)
        self.assertEqual((self.folder / "file").read_text(), "mine")
        self.flip(self.folder / "a/tokenizer.json", len((self.folder / "a/tokenizer.json").read_bytes()) // 2)
        done = self.command("ckpt", "export", "a", "x")
        self.assertIn(done.returncode, (3, 4), done.stderr)
        shutil.rmtree(self.checkpoints)
        self.expect(3, "has no checkpoint yet", "ckpt", "export", "a", "x")
        self.assertFalse((self.folder / "x").exists())
        self.assertFalse((self.folder / "x.unfinished").exists())


if __name__ == "__main__":
    unittest.main()
