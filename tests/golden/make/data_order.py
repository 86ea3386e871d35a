"""Golden file for tests/data: the order of samples, from the definition in tenon/data/order.h.

Usage: data_order.py [OUT]     OUT is tests/golden/data/order.txt by default
Each line: seed, samples, place, then the samples at place, place + 1, ... Needs only Python.
"""
import hashlib, struct, sys
from pathlib import Path

MASK = 0xFFFFFFFF


def philox(key, counter):
    k0, k1 = key & MASK, key >> 32
    c0, c1, c2, c3 = counter
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & MASK, (a >> 32) ^ c3 ^ k1, a & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


# Known answers of the Random123 distribution.
assert philox(0, (0, 0, 0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
assert philox(0x299F31D0A4093822, (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)) == (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def at(seed, samples, place):
    key = int.from_bytes(hashlib.sha256(struct.pack("<Q", seed) + b"data.order").digest()[:8], "little")
    epoch, value = divmod(place, samples)
    if samples == 1:
        return 0
    half = 0
    while 4**half < samples:
        half += 1
    while True:
        left, right = value >> half, value % 2**half
        for r in range(8):
            left, right = right, left ^ philox(key, (right, r, epoch & MASK, epoch >> 32))[0] % 2**half
        value = left << half | right
        if value < samples:
            return value


def main():
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "data" / "order.txt"
    out.parent.mkdir(parents=True, exist_ok=True)
    cases = [(0, 1, 5), (0, 2, 0), (1, 3, 0), (7, 10, 0), (7, 10, 10), (8, 10, 0), (42, 4096, 0), (42, 4097, 4090)]
    cases += [(2**64 - 1, 14563, 10**6), (3, 10**9, 5 * 2**32 * 10**9), (3, 2**40 + 1, 123), (3, 2**62, 2**63 - 20)]
    lines = []
    for seed, samples, place in cases:
        lines.append(" ".join(map(str, [seed, samples, place] + [at(seed, samples, place + i) for i in range(12)])))
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
