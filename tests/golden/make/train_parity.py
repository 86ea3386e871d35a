"""Fifty training steps of tiny models in PyTorch and Transformers: what ours must reproduce (tests/golden/train).

Usage: train_parity.py [FOLDER]      writes tests/golden/train; needs torch, transformers and safetensors
The formats are described in tests/golden/README.md. Weights are random and not Transformers' own initial values, so that
biases and norm weights matter; the tokens are a random Markov chain, so that there is something to learn.
Each run is done again in float64, which shows how far rounding alone can move it; the script prints that distance.
"""

import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

STEPS, SEQUENCES, LENGTH, VOCAB = 50, 4, 32, 128
PEAK, WARM_UP, FLOOR, DECAY, BETAS, EPS, CLIP = 4e-3, 5, 0.1, 0.1, (0.9, 0.95), 1e-8, 1.0

LLAMA = {
    "model_type": "llama", "vocab_size": VOCAB, "hidden_size": 48, "intermediate_size": 112, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": LENGTH, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "tie_word_embeddings": False, "attention_dropout": 0.0,
}  # fmt: skip
GPT2 = {
    "model_type": "gpt2", "vocab_size": VOCAB, "n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": LENGTH,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
    "tie_word_embeddings": True,
}  # fmt: skip
MODELS = {"llama": LLAMA, "llama-tied": LLAMA | {"tie_word_embeddings": True}, "gpt2": GPT2}


def build(config):
    settings = {key: value for key, value in config.items() if key != "model_type"}
    settings |= {"bos_token_id": 0, "eos_token_id": 0}
    if config["model_type"] == "gpt2":
        return GPT2LMHeadModel(GPT2Config(**settings))
    settings["rope_parameters"] = {"rope_type": "default", "rope_theta": settings.pop("rope_theta")}
    return LlamaForCausalLM(LlamaConfig(**settings))


def randomise(model, generator):
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.dim() >= 2:
                p.copy_(0.06 * noise)
            else:
                p.copy_(0.05 * noise + (0.0 if name.endswith("bias") else 1.0))


def markov_tokens(generator):
    """[STEPS, SEQUENCES, LENGTH + 1]: each token is followed by one of four, or now and then by any."""
    followers = torch.randint(VOCAB, (VOCAB, 4), generator=generator)
    tokens = torch.empty(STEPS, SEQUENCES, LENGTH + 1, dtype=torch.int64)
    now = torch.randint(VOCAB, (STEPS, SEQUENCES), generator=generator)
    for position in range(LENGTH + 1):
        tokens[:, :, position] = now
        choice = torch.randint(4, now.shape, generator=generator)
        anything = torch.randint(VOCAB, now.shape, generator=generator)
        now = torch.where(torch.rand(now.shape, generator=generator) < 0.1, anything, followers[now, choice])
    return tokens


def learning_rate(step):
    return PEAK * min(1, (step + 1) / WARM_UP) * (FLOOR + (1 - FLOOR) / 2 * (1 + math.cos(math.pi * step / STEPS)))


def train(model, tokens):
    """Runs all steps in place; the loss, the gradient norm before clipping and the learning rate of each."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=BETAS, eps=EPS)
    record = {"loss": [], "gradient_norm": [], "learning_rate": []}
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        logits = model(tokens[step, :, :-1], use_cache=False).logits
        loss = F.cross_entropy(logits.view(-1, VOCAB), tokens[step, :, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        record["loss"].append(loss.item())
        record["gradient_norm"].append(norm.item())
        record["learning_rate"].append(learning_rate(step))
    return record


def weights(model):
    """Without a tied head: named_parameters gives a shared parameter once, under its first name."""
    return {name: p.detach().clone().contiguous() for name, p in model.named_parameters()}


def relative(ours, theirs):
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "train")
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(20)
    tokens = markov_tokens(generator)
    save_file({"tokens": tokens}, folder / "batches.safetensors")
    for name, config in MODELS.items():
        own = folder / name
        own.mkdir(exist_ok=True)
        model = build(config)
        randomise(model, generator)
        model.train()
        initial = weights(model)
        with torch.no_grad():
            logits = model(tokens[0, :, :8], use_cache=False).logits.contiguous()
        exact = build(config).double()
        exact.load_state_dict({key: value.double() for key, value in model.state_dict().items()})
        record, exact_record = train(model, tokens), train(exact, tokens)

        save_file(initial, own / "initial.safetensors")
        save_file(weights(model), own / "final.safetensors")
        save_file({"logits": logits}, own / "logits.safetensors")
        (own / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        record["float64"] = {key: exact_record[key] for key in ("loss", "gradient_norm")}
        (own / "steps.json").write_text(json.dumps(record, indent=1) + "\n")

        final, exact_final = weights(model), weights(exact)
        distances = {key: ((final[key] - value).norm() / value.norm()).item() for key, value in exact_final.items()}
        worst = max(distances, key=distances.get)
        print(f"{name}: loss {record['loss'][0]:.4f} to {record['loss'][-1]:.4f}, gradient norm {record['gradient_norm'][0]:.3f} to "
              f"{record['gradient_norm'][-1]:.3f}; from float64: loss {relative(record['loss'], exact_record['loss']):.1e}, norm "
              f"{relative(record['gradient_norm'], exact_record['gradient_norm']):.1e}, weights {distances[worst]:.1e} ({worst})")  # fmt: skip

    for file in folder.glob("**/*.safetensors"):
        file.chmod(0o644)  # the writer leaves them to their owner alone


if __name__ == "__main__":
    main()
