#!/usr/bin/env python3
"""The training step of a configuration here and in PyTorch, in turns: tenon, torch, tenon, torch, ...

peer_step.py --python PYTHON [--bench build/benchmarks/tenon_bench] [--config examples/bible.toml] [--steps 20]
             [--rounds 5] [--threads 2]
PYTHON is one that has torch, for example ~/peer/bin/python. Each turn is a process of its own that takes two steps to
warm up and gives the median of the rest; the ratio is torch's median over tenon's, and above 1 tenon is faster.
"""
import argparse
import os
import statistics
import subprocess
import sys


def seconds_of(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"peer_step: failed with exit code {result.returncode}: {' '.join(command)}")
    return float(result.stdout)


def spread(values, unit=""):
    return f"{statistics.median(values):.3f}{unit} ({min(values):.3f} to {max(values):.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--bench", default="build/benchmarks/tenon_bench")
    parser.add_argument("--config", default="examples/bible.toml")
    for option, default in (("steps", 20), ("rounds", 5), ("threads", 2)):
        parser.add_argument(f"--{option}", type=int, default=default)
    a = parser.parse_args()
    threads = ["--threads", str(a.threads)]
    torch_step = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_step.py")
    ours = [a.bench, "--config", a.config, "--step-seconds", str(a.steps), *threads]
    theirs = [a.python, torch_step, a.config, "--steps", str(a.steps), *threads]
    tenon, torch = [], []
    for turn in range(a.rounds):
        tenon.append(seconds_of(ours))
        torch.append(seconds_of(theirs))
        load = os.getloadavg()[0]
        print(f"round {turn + 1}  tenon {tenon[-1]:.3f} s  torch {torch[-1]:.3f} s  load {load:.1f}", flush=True)
    ratios = [theirs_s / ours_s for ours_s, theirs_s in zip(tenon, torch)]
    apart = max(tenon) < min(torch) or max(torch) < min(tenon)
    print(f"step of {a.config}, {a.threads} threads, medians of {a.rounds} rounds of {a.steps} steps (least to greatest):")
    print(f"tenon {spread(tenon, ' s')}   torch {spread(torch, ' s')}   torch / tenon {spread(ratios)}"
          + ("" if apart else "   no difference: the intervals overlap"))


if __name__ == "__main__":
    main()
