"""Writes tests/golden/utf8.json: byte strings and what Python's UTF-8 decoder makes of them."""

import itertools
import json
import pathlib
import random

PIECES = [b"a", "ä".encode(), "€".encode(), "😀".encode(), b"\x80", b"\xbf", b"\xc0\x80", b"\xc1", b"\xc2", b"\xe0\x80", b"\xe0\xa0",
          b"\xe2\x82", b"\xed\x9f\xbf", b"\xed\xa0\x80", b"\xef\xbf\xbf", b"\xf0\x80\x80", b"\xf0\x9f\x98", b"\xf0\x90",
          b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5", b"\xff", b"\x00"]  # fmt: skip


def can_become_a_character(tail):
    """Whether some bytes behind the tail make one character of it. (Python's incremental decoder waits for surrogates, too.)"""
    for count in range(1, 4):
        for more in itertools.product((0x80, 0x90, 0xA0, 0xBF), repeat=count):
            try:
                if len((tail + bytes(more)).decode()) == 1:
                    return True
            except UnicodeDecodeError:
                pass
    return False


def case(data):
    try:
        data.decode()
        first_invalid = -1
    except UnicodeDecodeError as error:
        first_invalid = error.start
    waiting = next((k for k in (3, 2, 1) if k <= len(data) and can_become_a_character(data[-k:])), 0)
    return {
        "bytes": data.hex(),
        "first_invalid": first_invalid,
        "replaced": data.decode(errors="replace"),
        "complete_prefix": len(data) - waiting,
    }


def main():
    draw = random.Random(1)
    cases = [case(piece) for piece in PIECES]
    cases += [case(b"".join(draw.choices(PIECES, k=draw.randint(1, 6)))) for _ in range(400)]
    cases += [case(bytes(draw.choices(range(0x70, 0x100), k=draw.randint(1, 8)))) for _ in range(200)]
    path = pathlib.Path(__file__).resolve().parent.parent / "utf8.json"
    path.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=True) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main()
