#!/usr/bin/env python3
"""Digest sums by docs/numerics.md's text, in Python's own integers. Prints the rows of tests/cpu/digest_test.cpp."""
import hashlib
import struct

MASK32, MASK64 = 2**32 - 1, 2**64 - 1


def digest(name, words, first=0):
    n0, n1 = struct.unpack("<II", hashlib.sha256(name.encode()).digest()[:8])
    sums = [0, 0]
    for i, word in enumerate(words, first):
        k = (n0 + (i & MASK32) + (i >> 32) * 0x9E3779B9) & MASK32
        k = k * 0x85EBCA6B & MASK32
        k ^= k >> 15
        k = k * 0xC2B2AE35 & MASK32
        k1 = k ^ k >> 16
        k2 = (k1 * 0x27D4EB2F & MASK32) ^ n1
        sums = [(s + word * (key | 1)) & MASK64 for s, key in zip(sums, (k1, k2))]
    return sums


def as_words(code, values):
    raw = b"".join(struct.pack("<" + code, value) for value in values)
    if len(raw) // len(values) >= 4:
        return struct.unpack(f"<{len(raw) // 4}I", raw)
    return struct.unpack(f"<{len(values)}" + {1: "B", 2: "H"}[len(raw) // len(values)], raw)


numbers = [1, -2, 3.5, 0, -0.0, 100]
for label, code, values in [("f32", "f", numbers), ("f64", "d", numbers), ("f16", "e", numbers),
                            ("i64", "q", [1, -2, 2**40]), ("i32", "i", [1, -2, 7]), ("u8", "B", [1, 255, 7])]:
    first = 5 * (2 if struct.calcsize(code) == 8 else 1)
    print(label, *(f"0x{s:016x}" for s in digest("model.embed_tokens.weight", as_words(code, values), first)))
