"""Golden files for tests/text, made by Hugging Face tokenizers: what byte-level BPE learns and how it encodes.

Usage: tokenizer.py BIBLE_TEXT [OUT]     OUT is tests/golden/tokenizer by default; BIBLE_TEXT from tools/bible_text.sh
Made with tokenizers 0.23.3.
"""
import hashlib, json, random, struct, sys
from pathlib import Path
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

# Every branch of the pattern, scripts with and without case, combining marks, emoji with joiners, digits that are not
# ASCII, every kind of white space, control characters, the ends of each UTF-8 length, noncharacters.
SAMPLES = [
    "",
    " ",
    "a",
    "Hello, world!",
    "I'm sure you're right; we've said they'll go, it's what he'd do, don't 'twas 'S 'RE",
    "Don’t and l’été: curly apostrophes are no contraction",
    "  two  spaces,   three    four     five\n\n\nlines\r\n\twith\t\ttabs \n trailing   ",
    "\n", "\n\n", " \n", "\n ", "   ", "\t \n\r\f\v", "a   b", "a \n b", "   leading",
    "1234567890 3.14159 1,000,000 0x1F ½ ² Ⅻ ٣٤٥ १२३ 万 一二三",
    "snake_case camelCase kebab-case path/to/file.cpp --flag=1 a+b=c; x->y::z",
    "Ångström naïve café e\u0301 a\u0308 ﬁ ß ẞ İ ı Ǆ",
    "Привет, мир! Καλημέρα κόσμε. שלום עולם مرحبا بالعالم नमस्ते दुनिया สวัสดีชาวโลก 你好，世界 こんにちは 안녕하세요",
    "😀 👍🏽 👩‍👩‍👧‍👦 🇩🇪 ❤️ ☃ ♪ → ∑ √2 € £ ¥",
    "\u00a0nbsp\u1680ogham\u2000en\u2003em\u200athin\u200bzero\u2028line\u2029para\u202fnarrow\u205fmath\u3000cjk\u180emong\ufeffbom\u0085nel",
    "\x00\x01\x1b[0m\x7f\x80\x9f",
    "\x7f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff\ufffe\ud7ff\ue000",
    "𝒜𝓁𝓅𝒽𝒶 𐍈 𠀀𠀁 \U0001d7d8\U0001d7ff",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa abababababababababababab " + "=" * 70 + " " * 67 + "x",
    "In the beginning God created the heaven and the earth. And the earth was without form, and void;",
    "<|endoftext|>In the beginning<|endoftext|><|end|> <|endoftext <|pad|><|pad|>x",
]


def mixed_text():
    """The samples, shuffled words of theirs, and runs of one character, so that merges meet overlaps and ties."""
    draw = random.Random(7)
    words = [w for s in SAMPLES for w in s.split(" ")]
    lines = list(SAMPLES)
    for _ in range(400):
        lines.append(" ".join(draw.choice(words) for _ in range(draw.randint(1, 12))))
    for _ in range(60):
        lines.append(draw.choice(["a", "ab", " ", "\n", "=", "é", "😀", "0"]) * draw.randint(1, 40) + draw.choice("xy 1!"))
    return "\n".join(lines)


def runs_text():
    """Runs of few characters: merges that overlap themselves, counts that tie."""
    draw = random.Random(11)
    return "\n".join(
        " ".join("".join(draw.choice("aab") for _ in range(draw.randint(1, 24))) + " " * draw.randint(0, 9) for _ in range(6))
        for _ in range(120)
    )


def train(text, vocab_size, specials):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def merges(tokenizer):
    return json.loads(tokenizer.to_str())["model"]["merges"]


def case(out, name, text, vocab_size, specials):
    tokenizer = train(text, vocab_size, specials)
    vocab = tokenizer.get_vocab()
    assert sorted(vocab.values()) == list(range(len(vocab))), name
    (out / f"{name}.txt").write_bytes(text.encode())
    tokenizer.save(str(out / f"{name}.tokenizer.json"), pretty=False)
    plain = Tokenizer.from_str(tokenizer.to_str())  # tokenizers always matches special tokens: here without them
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = []
    plain = Tokenizer.from_str(json.dumps(state))
    golden = {
        "text": f"{name}.txt",
        "vocab_size": vocab_size,
        "specials": specials,
        "tokens": [t for t, _ in sorted(vocab.items(), key=lambda item: item[1])],
        "merges": merges(tokenizer),
        "encodings": [
            {"text": s, "ids": plain.encode(s).ids, "ids_special": tokenizer.encode(s).ids, "decoded": tokenizer.decode(tokenizer.encode(s).ids)}
            for s in SAMPLES
        ],
        "whole": plain.encode(text).ids,
    }
    # Any ids, cut anywhere: decoding replaces what is no UTF-8.
    draw = random.Random(3)
    golden["decodings"] = []
    for _ in range(40):
        ids = [draw.randrange(len(vocab)) for _ in range(draw.randint(1, 12))]
        golden["decodings"].append({"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False)})
    (out / f"{name}.json").write_text(json.dumps(golden, ensure_ascii=True, separators=(",", ":")) + "\n")
    print(f"{name}: {len(text.encode())} bytes, {len(vocab)} tokens, {len(golden['merges'])} merges")


def classes(out):
    """What the pattern takes each code point for: L letter, N number, S space, O other. Runs of equal class."""
    split = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str

    def of(c):
        for kind, neighbour in (("L", "a"), ("N", "1"), ("O", "!")):
            if len(split(neighbour + c)) == 1:
                return kind
        return "S"

    lines, start, last = [], 0, of("\0")
    for code in range(1, 0x110000):
        kind = None if 0xD800 <= code <= 0xDFFF else of(chr(code))
        if kind != last:
            if last:
                lines.append(f"{start:x} {code - 1:x} {last}")
            start, last = code, kind
    lines.append(f"{start:x} 10ffff {last}")
    (out / "classes.txt").write_text("\n".join(lines) + "\n")


def bible(out, text):
    """The tokenizer of examples/bible.toml: too large to keep, so its digests."""
    tokenizer = train(text[: len(text) * 9 // 10], 2048, [])
    ids = tokenizer.encode(text).ids
    lines = "".join(f"{a} {b}\n" for a, b in merges(tokenizer))
    golden = {
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "train_bytes": len(text) * 9 // 10,
        "vocab_size": 2048,
        "merges_sha256": hashlib.sha256(lines.encode()).hexdigest(),
        "ids": len(ids),
        "ids_sha256": hashlib.sha256(struct.pack(f"<{len(ids)}i", *ids)).hexdigest(),
    }
    (out / "bible-2048.digests.json").write_text(json.dumps(golden, indent=1) + "\n")


def main():
    text = Path(sys.argv[1]).read_text(encoding="ascii")
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent.parent / "tokenizer"
    out.mkdir(parents=True, exist_ok=True)
    case(out, "mixed", mixed_text(), 700, ["<|endoftext|>", "<|pad|>", "<|end|>"])
    case(out, "runs", runs_text(), 420, ["<|endoftext|>"])
    case(out, "genesis", text[:40_000], 512, [])
    bible(out, text)
    classes(out)


if __name__ == "__main__":
    main()
