#!/usr/bin/env python3
"""Median seconds of a training step of a configuration's model in PyTorch, on random tokens.   Needs torch.

torch_step.py CONFIG.toml [--steps 20] [--threads 2]      for example: torch_step.py examples/bible.toml
Prints one number, as `tenon_bench --step-seconds` does: both draw their tokens at random, take two steps to warm up and
time the rest. The model is Llama as PyTorch users write it: fused attention, fused AdamW, the whole batch at once.
"""
import argparse
import statistics
import time
import tomllib

import torch
import torch.nn.functional as F
from torch import nn


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


def rotary_tables(length, head_dim, theta):
    frequencies = theta ** (-torch.arange(0, head_dim, 2) / head_dim)
    angles = torch.outer(torch.arange(length), frequencies)
    return torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()


def rotated(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, ffn, self.heads, self.kv_heads = c["hidden_size"], c["intermediate_size"], c["num_attention_heads"], c["num_key_value_heads"]
        self.head_dim = width // self.heads
        self.attention_norm, self.mlp_norm = (nn.RMSNorm(width, c["rms_norm_eps"]) for _ in range(2))
        self.q, self.o = linear(width, width), linear(width, width)
        self.k, self.v = (linear(width, self.kv_heads * self.head_dim) for _ in range(2))
        self.gate, self.up, self.down = linear(width, ffn), linear(width, ffn), linear(ffn, width)

    def split(self, x):  # [B, T, heads * D] -> [B, heads, T, D]
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def forward(self, h, cos, sin):
        x = self.attention_norm(h)
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        mixed = F.scaled_dot_product_attention(rotated(q, cos, sin), rotated(k, cos, sin), v, is_causal=True, enable_gqa=True)
        h = h + self.o(mixed.transpose(1, 2).flatten(2))
        x = self.mlp_norm(h)
        return h + self.down(F.silu(self.gate(x)) * self.up(x))


class Llama(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, vocabulary = c["hidden_size"], c["vocab_size"]
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["num_hidden_layers"]))
        self.norm = nn.RMSNorm(width, c["rms_norm_eps"])
        self.head = linear(width, vocabulary)
        for matrix in self.parameters():
            if matrix.dim() == 2:
                nn.init.normal_(matrix, std=0.02)
        if c.get("tie_word_embeddings"):
            self.head.weight = self.tokens.weight
        self.tables = rotary_tables(c["max_position_embeddings"], width // c["num_attention_heads"], c.get("rope_theta", 10000.0))

    def forward(self, inputs, targets):
        h = self.tokens(inputs)
        cos, sin = (table[: inputs.shape[1]] for table in self.tables)
        for block in self.blocks:
            h = block(h, cos, sin)
        return F.cross_entropy(self.head(self.norm(h)).flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    with open(a.config, "rb") as file:
        config = tomllib.load(file)
    if config["model"]["model_type"] != "llama":
        parser.error(f"{a.config} is no llama")
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    model, optim = Llama(config["model"]), config["optim"]
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": optim["weight_decay"]}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=optim["learning_rate"], betas=(optim["beta1"], optim["beta2"]), fused=True)
    length = config["batch"].get("length", config["model"]["max_position_embeddings"])
    seconds = []
    for _ in range(a.steps + 2):
        tokens = torch.randint(config["model"]["vocab_size"], (config["batch"]["sequences"], length + 1))
        inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        start = time.perf_counter()
        loss = model(inputs, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), optim["clip_norm"])
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    print(f"{statistics.median(seconds[2:]):.6f}")


if __name__ == "__main__":
    main()
