"""What Transformers itself writes as config.json for models of ours (tests/golden/export), and whether it loads exports.

Usage: export.py [FOLDER]                writes tests/golden/export; needs torch and transformers
       export.py --check PROGRAM         trains each model for a few steps with PROGRAM (build/tenon), exports it and loads
                                         the export: tokens and greedy continuations must be the program's
The formats are described in tests/golden/README.md.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, LlamaConfig

LLAMA = {
    "model_type": "llama", "vocab_size": 300, "hidden_size": 44, "intermediate_size": 68, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 32, "rms_norm_eps": 1e-5,
    "rope_theta": 5000.0, "tie_word_embeddings": False, "attention_dropout": 0.1,
}  # fmt: skip
GPT2 = {
    "model_type": "gpt2", "vocab_size": 300, "n_embd": 36, "n_layer": 2, "n_head": 3, "n_positions": 32, "n_inner": 100,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-4, "resid_pdrop": 0.1, "embd_pdrop": 0.05, "attn_pdrop": 0.0,
    "tie_word_embeddings": True,
}  # fmt: skip
MODELS = {
    "llama": LLAMA,
    "llama-tied": LLAMA | {"tie_word_embeddings": True, "num_key_value_heads": 2, "head_dim": 16, "attention_bias": True},
    "llama-bias": LLAMA | {"mlp_bias": True, "initializer_range": 0.05},
    "gpt2": GPT2,
    "gpt2-untied": GPT2 | {"tie_word_embeddings": False, "activation_function": "gelu"},
}
# Our vocabularies have no token that ends a text.
NO_TOKENS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def transformers_config(model):
    settings = {key: value for key, value in model.items() if key != "model_type"} | NO_TOKENS
    if model["model_type"] == "gpt2":
        return GPT2Config(**settings)
    settings["rope_parameters"] = {"rope_type": "default", "rope_theta": settings.pop("rope_theta")}
    return LlamaConfig(**settings)


def plain(config):
    return {key: value for key, value in config.to_dict().items() if key not in ("transformers_version", "dtype")}


def write_golden(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in MODELS.items():
        config = transformers_config(model)
        golden = {"model": model, "transformers": plain(config), "defaults": plain(type(config)())}
        (folder / f"{name}.json").write_text(json.dumps(golden, indent=2) + "\n")


def toml(model):
    return "[model]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in model.items())


REST = """
[data]
path = "text.txt"
[tokenizer]
path = "tokenizer.json"
[batch]
sequences = 8
[train]
steps = 40
[optim]
learning_rate = 1e-2
"""
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu".split()


def check(program):
    program = str(pathlib.Path(program).resolve())
    text = "\n".join(" ".join(WORDS[(i * i + j * (i % 5)) % len(WORDS)] for j in range(9)) + "." for i in range(800))
    for name, model in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            def tenon(*arguments):
                return subprocess.run([program, *arguments], cwd=folder, check=True, capture_output=True).stdout.decode()

            pathlib.Path(folder, "text.txt").write_text(text + "\n")
            pathlib.Path(folder, "model.toml").write_text(toml(model) + REST)
            # One of them has a token that ends a text.
            special = ["--special", "<|endoftext|>"] if name == "gpt2-untied" else []
            tenon("tokenizer", "train", "text.txt", "--vocab-size", "300", "--out", "tokenizer.json", *special)
            tenon("train", "model.toml", "--run", "run")
            tenon("ckpt", "export", "run", "exported")
            theirs, report = AutoModelForCausalLM.from_pretrained(f"{folder}/exported", output_loading_info=True)
            assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), report
            assert theirs.dtype == torch.float32
            tokenizer = AutoTokenizer.from_pretrained(f"{folder}/exported")
            probe = "alpha beta 12 naïve 🙂  theta\n <|endoftext|> x"
            line = tenon("tokenizer", "encode", "run/tokenizer.json", "--specials", "--text", probe)
            ours = [int(part) for part in line.split()]
            assert tokenizer(probe)["input_ids"] == ours, (name, tokenizer(probe)["input_ids"], ours)
            assert tokenizer.decode(ours) == probe
            end = 0 if special else None
            assert tokenizer.eos_token_id == theirs.config.eos_token_id == theirs.generation_config.eos_token_id == end
            prompt = "alpha beta"
            line = tenon("generate", "run", "--prompt", prompt, "--tokens", "12", "--temperature", "0")
            ids = torch.tensor([tokenizer(prompt)["input_ids"]])
            out = theirs.generate(ids, max_new_tokens=12, do_sample=False)
            assert tokenizer.decode(out[0]) + "\n" == line, (name, tokenizer.decode(out[0]), line)
            print(f"{name}: loads, encodes and continues as the program does: {line.strip()!r}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        check(sys.argv[2])
    else:
        write_golden(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "export"))
