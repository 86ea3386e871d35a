"""What PyTorch and Transformers make of small inputs: values, gradients, dtypes (tests/golden/ops).

Usage: ops_parity.py [FOLDER]      writes tests/golden/ops; needs torch, transformers and safetensors
The formats are described in tests/golden/README.md. Inputs are stored in the dtype the op is called with; outputs and
gradients of floating ops are computed in float64 from those inputs and stored as f32, so they are nearer to the truth than
PyTorch's own f32 results. Integer, bool and dtype results are PyTorch's as they are.
"""

import itertools
import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

GENERATOR = torch.Generator().manual_seed(30)
DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def normal(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(shape, generator=GENERATOR, dtype=torch.float64) * scale).to(dtype)


class Family:
    """One pair of files: cases in JSON, tensors under "<case>.<name>" in safetensors."""

    def __init__(self, name):
        self.name, self.cases, self.tensors = name, {}, {}

    def store(self, case, name, tensor):
        self.tensors[f"{case}.{name}"] = tensor.detach().clone().contiguous()
        return name

    def add(self, case, op, function, inputs, attributes=None):
        """function(**inputs) in float64; gradients of every floating input for a random incoming gradient."""
        assert case not in self.cases, case
        names = [self.store(case, name, tensor) for name, tensor in inputs.items()]
        wide = {}
        for name, tensor in inputs.items():
            wide[name] = tensor.double().requires_grad_() if tensor.is_floating_point() else tensor
        output = function(**wide)
        entry = {"op": op, "attributes": attributes or {}, "inputs": names, "output": "output", "gradients": []}
        if output.requires_grad:
            incoming = normal(*output.shape)
            leaves = {name: tensor for name, tensor in wide.items() if tensor.requires_grad}
            gradients = torch.autograd.grad(output, list(leaves.values()), incoming.double(), allow_unused=True)
            self.store(case, "incoming", incoming)
            for name, gradient in zip(leaves, gradients):
                if gradient is not None:
                    entry["gradients"].append(self.store(case, "d_" + name, gradient.float()))
        self.store(case, "output", output.float() if output.is_floating_point() else output)
        self.cases[case] = entry

    def save(self, folder):
        save_file(self.tensors, folder / f"{self.name}.safetensors")
        (folder / f"{self.name}.safetensors").chmod(0o644)
        lines = ",\n".join(f"  {json.dumps(case)}: {json.dumps(entry)}" for case, entry in self.cases.items())
        (folder / f"{self.name}.json").write_text('{"format": 1, "cases": {\n' + lines + "\n}}\n")


def softmax():
    family = Family("softmax")
    ops = {"softmax": torch.softmax, "log_softmax": torch.log_softmax}
    shapes = [((3, 5), -1), ((3, 5), 0), ((2, 3, 4), 1), ((1,), 0), ((4, 1), -1), ((2, 17), -1), ((2, 300), 1)]
    for (op, function), (shape, dim) in itertools.product(ops.items(), shapes):
        text = "x".join(map(str, shape))
        family.add(f"{op}-{text}-dim{dim}", op, lambda x, f=function, d=dim: f(x, d), {"x": normal(*shape, scale=3)}, {"dim": dim})
    for op, function in ops.items():
        large = torch.tensor([[1e4, 1e4 - 1, -1e4], [-3e38, 0, 3e38], [88.0, 89.0, 90.0]])
        family.add(f"{op}-large", op, lambda x, f=function: f(x, -1), {"x": large}, {"dim": -1})
        family.add(f"{op}-bf16", op, lambda x, f=function: f(x, -1), {"x": normal(3, 8, dtype=torch.bfloat16)}, {"dim": -1})
    masked = torch.tensor([[0.5, -math.inf, 1.0], [-math.inf, -math.inf, 2.0]])
    family.add("softmax-masked", "softmax", lambda x: torch.softmax(x, -1), {"x": masked}, {"dim": -1})
    for shape, dims, keepdim in [((3, 5), [-1], False), ((3, 5), [0], True), ((2, 3, 4), [0, 2], False), ((2, 3, 4), [0, 1, 2], True), ((2, 300), [1], False)]:
        name = f"logsumexp-{'x'.join(map(str, shape))}-dims{''.join(map(str, dims))}-{'keep' if keepdim else 'drop'}"
        family.add(name, "logsumexp", lambda x, d=dims, k=keepdim: torch.logsumexp(x, d, k), {"x": normal(*shape, scale=3)}, {"dims": dims, "keepdim": keepdim})
    return family


def norms():
    family = Family("norms")
    for shape in [(3, 8), (2, 3, 17), (1, 1), (2, 300)]:
        text, n = "x".join(map(str, shape)), shape[-1]
        weight, bias = 1 + normal(n, scale=0.3), normal(n, scale=0.3)
        for eps in (1e-5, 1e-6):
            family.add(f"layer_norm-{text}-{eps}", "layer_norm", lambda x, weight, bias, e=eps, n=n: F.layer_norm(x, (n,), weight, bias, e),
                       {"x": normal(*shape) + 2, "weight": weight, "bias": bias}, {"eps": eps})  # fmt: skip
            family.add(f"rms_norm-{text}-{eps}", "rms_norm", lambda x, weight, e=eps, n=n: F.rms_norm(x, (n,), weight, e),
                       {"x": normal(*shape) + 2, "weight": weight}, {"eps": eps})  # fmt: skip
    weight, bias = 1 + normal(16, scale=0.3), normal(16, scale=0.3)
    family.add("layer_norm-zeros", "layer_norm", lambda x, weight, bias: F.layer_norm(x, (16,), weight, bias, 1e-5),
               {"x": torch.zeros(2, 16), "weight": weight, "bias": bias}, {"eps": 1e-5})  # fmt: skip
    family.add("rms_norm-zeros", "rms_norm", lambda x, weight: F.rms_norm(x, (16,), weight, 1e-5),
               {"x": torch.zeros(2, 16), "weight": weight}, {"eps": 1e-5})  # fmt: skip
    return family


def rope():
    """Half-split rotation of x [batch, heads, positions, head_dim].

    The tables follow Transformers' formula and rounding points in f32 (exponent, power, reciprocal, angle, cos and sin), but
    each power, cos and sin is taken in float64 and rounded once, so that no libm's own error is in them.
    """
    family = Family("rope")
    for theta, start, length, width in [(10000.0, 0, 9, 8), (10000.0, 1000, 3, 16), (500000.0, 130000, 3, 64), (10000.0, 5, 1, 2)]:
        exponent = torch.arange(0, width, 2, dtype=torch.int64).float() / width
        frequency = 1.0 / (theta ** exponent.double()).float()
        angle = torch.outer(torch.arange(start, start + length).float(), frequency)
        cos, sin = (f(angle.double()).float() for f in (torch.cos, torch.sin))
        case = f"rope-theta{theta:.0f}-start{start}-width{width}"

        def rotate(x, cos=cos, sin=sin):
            table = lambda t: torch.cat([t, t], -1)[None].double()  # noqa: E731
            return apply_rotary_pos_emb(x, x, table(cos), table(sin))[0]

        family.add(case, "rope", rotate, {"x": normal(2, 3, length, width)}, {"theta": theta, "start": start})
        family.store(case, "cos", cos)
        family.store(case, "sin", sin)
    return family


def attention():
    """q [b, heads, queries, d], k and v [b, kv_heads, keys, d]; query i of the causal ones stands at position keys - queries + i."""
    family = Family("attention")

    def add(case, b, heads, kv_heads, queries, keys, d, causal, scale=None, starts=None):
        at = torch.arange(keys - queries, keys)[:, None]
        visible = (torch.arange(keys)[None] <= at) if causal else torch.ones(queries, keys, dtype=torch.bool)
        if starts is not None:
            document = sum((torch.arange(keys) >= s).int() for s in starts)
            visible = visible & (document[None] == document[keys - queries :, None])
        inputs = {"q": normal(b, heads, queries, d), "k": normal(b, kv_heads, keys, d), "v": normal(b, kv_heads, keys, d)}
        attributes = {"causal": causal, "scale": scale if scale is not None else 1 / math.sqrt(d)}
        if starts is not None:
            attributes["document_starts"] = starts
        family.add(case, "attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, visible, scale=attributes["scale"], enable_gqa=True), inputs, attributes)

    add("causal", 2, 4, 4, 7, 7, 8, True)
    add("causal-grouped", 2, 4, 2, 9, 9, 8, True)
    add("causal-one-kv-head", 1, 4, 1, 5, 5, 16, True)
    add("full", 1, 2, 1, 6, 11, 8, False)
    add("scaled", 1, 2, 2, 5, 5, 4, True, scale=0.3)
    add("cached", 1, 4, 2, 3, 10, 8, True)
    add("one-query", 2, 4, 2, 1, 20, 8, True)
    add("over-one-chunk", 1, 2, 1, 150, 150, 8, True)
    add("cached-over-two-chunks", 1, 2, 1, 4, 260, 8, True)
    add("odd-width", 1, 3, 1, 6, 6, 33, True)
    add("documents", 1, 2, 1, 12, 12, 8, True, starts=[0, 5, 6])
    return family


def cross_entropy():
    family = Family("cross_entropy")
    targets = torch.tensor([3, -100, 0, 6, -100, 2])
    for reduction in ("mean", "sum"):
        attributes = {"reduction": reduction, "ignore_index": -100}
        family.add(f"ignored-{reduction}", "cross_entropy", lambda logits, target, r=reduction: F.cross_entropy(logits, target, reduction=r),
                   {"logits": normal(6, 7, scale=2), "target": targets}, attributes)  # fmt: skip
        family.add(f"all-valid-{reduction}", "cross_entropy", lambda logits, target, r=reduction: F.cross_entropy(logits, target, reduction=r),
                   {"logits": normal(5, 130, scale=4), "target": torch.randint(130, (5,), generator=GENERATOR)}, attributes)  # fmt: skip
    family.add("other-ignore-index", "cross_entropy", lambda logits, target: F.cross_entropy(logits, target, ignore_index=1),
               {"logits": normal(4, 3), "target": torch.tensor([1, 0, 2, 1])}, {"reduction": "mean", "ignore_index": 1})  # fmt: skip
    for rows, width, vocabulary, divisor in [(20, 12, 33, 20.0), (6, 16, 40, 17.0)]:
        target = torch.randint(vocabulary, (rows,), generator=GENERATOR)
        target[1] = -100
        family.add(f"linear-{rows}", "linear_cross_entropy", lambda x, weight, target, n=divisor: F.cross_entropy(x @ weight.T, target, reduction="sum") / n,
                   {"x": normal(rows, width), "weight": normal(vocabulary, width, scale=0.4), "target": target}, {"ignore_index": -100, "divisor": divisor})  # fmt: skip
    return family


def elementwise():
    family = Family("elementwise")
    spread = torch.cat([torch.linspace(-8, 8, 65), torch.tensor([-90.0, -20.0, -1e-3, -1e-30, -0.0, 1e-30, 1e-3, 20.0, 88.0])])
    positive = torch.cat([torch.logspace(-30, 30, 41), torch.linspace(0.1, 4, 30)]).float()
    angles = torch.cat([torch.linspace(-10, 10, 41), torch.tensor([1e3, -1e4, 1e6, 1e-6])])
    unary = {
        "exp": (torch.exp, spread), "sigmoid": (torch.sigmoid, spread), "silu": (F.silu, spread), "tanh": (torch.tanh, spread),
        "erf": (torch.erf, spread), "relu": (torch.relu, spread), "abs": (torch.abs, spread), "sign": (torch.sign, spread),
        "square": (torch.square, spread), "neg": (torch.neg, spread), "sin": (torch.sin, angles), "cos": (torch.cos, angles),
        "log": (torch.log, positive), "sqrt": (torch.sqrt, positive), "rsqrt": (torch.rsqrt, positive[3:]), "reciprocal": (torch.reciprocal, positive),
    }  # fmt: skip
    for op, (function, x) in unary.items():
        family.add(op, op, lambda x, f=function: f(x), {"x": x})
    for approximate in ("none", "tanh"):
        family.add(f"gelu-{approximate}", "gelu", lambda x, a=approximate: F.gelu(x, approximate=a), {"x": spread}, {"approximate": approximate})
        family.add(f"gelu-{approximate}-bf16", "gelu", lambda x, a=approximate: F.gelu(x, approximate=a), {"x": spread.bfloat16()}, {"approximate": approximate})
    for exponent in (2, 3, 0.5, -1, -0.5, 1.7, 0):
        family.add(f"pow-{exponent}", "pow", lambda x, e=exponent: x**e, {"x": positive[10:31]}, {"exponent": exponent})
    for bounds in [(-1.0, 2.0), (None, 0.5), (0.25, None)]:
        family.add(f"clamp-{bounds[0]}-{bounds[1]}", "clamp", lambda x, b=bounds: x.clamp(*b), {"x": spread}, {"min": bounds[0], "max": bounds[1]})
    shapes = [((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((), (2, 3)), ((1,), (5,)), ((2, 1, 3, 1), (4, 1, 5)), ((0, 3), (1, 3)), ((0,), ()), ((2, 3), (2, 3))]
    binary = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum, "minimum": torch.minimum}
    for (op, function), (a, b) in itertools.product(binary.items(), shapes):
        text = "-".join("x".join(map(str, s)) or "0d" for s in (a, b))
        family.add(f"{op}-{text}", op, lambda a, b, f=function: f(a, b), {"a": normal(*a), "b": normal(*b).abs() + 0.5})
    ties = torch.tensor([1.0, 2.0, 2.0, -0.0])
    for op in ("maximum", "minimum"):
        family.add(f"{op}-ties", op, lambda a, b, f=binary[op]: f(a, b), {"a": ties, "b": torch.tensor([2.0, 2.0, 1.0, 1.0])})
    family.add("where", "where", torch.where, {"condition": torch.tensor([[True], [False]]), "input": normal(3), "other": normal(2, 3)})
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        family.add(op, op, lambda a, b, f=getattr(torch, op): f(a, b), {"a": torch.tensor([1.0, 2.0, math.nan, -0.0, math.inf]), "b": torch.tensor([1.0, 3.0, math.nan, 0.0, -math.inf])})
    return family


def indexing():
    family = Family("indexing")
    x = normal(3, 4, 5)
    for dim in (0, 1, -1):
        index = torch.tensor([2, 0, 2])
        family.add(f"index_select-dim{dim}", "index_select", lambda x, index, d=dim: torch.index_select(x, d, index), {"x": x, "index": index}, {"dim": dim})
        shape = [2, 3, 2]
        index = torch.randint(3, shape, generator=GENERATOR)
        family.add(f"gather-dim{dim}", "gather", lambda x, index, d=dim: torch.gather(x, d, index), {"x": x, "index": index}, {"dim": dim})
        family.add(f"stack-dim{dim}", "stack", lambda a, b, d=dim: torch.stack([a, b], d), {"a": normal(2, 3), "b": normal(2, 3)}, {"dim": dim})
        first, second = ([2, 2, 2] for _ in range(2))
        second[dim] = 3
        family.add(f"cat-dim{dim}", "cat", lambda a, b, d=dim: torch.cat([a, b], d), {"a": normal(*first), "b": normal(*second)}, {"dim": dim})
    family.add("cat-with-empty", "cat", lambda a, b: torch.cat([a, b], 0), {"a": normal(0, 3), "b": normal(2, 3)}, {"dim": 0})
    family.add("embedding-repeated", "embedding", lambda weight, index: F.embedding(index, weight), {"weight": normal(6, 4), "index": torch.tensor([[1, 5, 1], [0, 1, 5]])})
    mask = torch.tensor([[True, False, False, True, False]])
    family.add("masked_fill", "masked_fill", lambda x, mask: x.masked_fill(mask, -2.5), {"x": normal(4, 5), "mask": mask}, {"value": -2.5})
    family.add("one_hot", "one_hot", lambda x: F.one_hot(x, 5), {"x": torch.tensor([[0, 4], [2, 2]])}, {"classes": 5})
    for diagonal in (-2, -1, 0, 1, 7):
        family.add(f"tril-{diagonal}", "tril", lambda x, k=diagonal: torch.tril(x, k), {"x": normal(2, 4, 3)}, {"diagonal": diagonal})
    return family


def reductions():
    family = Family("reductions")
    functions = {
        "sum": lambda x, d, k: torch.sum(x, d, k), "mean": lambda x, d, k: torch.mean(x, d, k),
        "amax": lambda x, d, k: torch.amax(x, d, k),
    }  # fmt: skip
    for (op, function), dims, keepdim in itertools.product(functions.items(), ([0], [1], [-1], [0, 2], [0, 1, 2]), (False, True)):
        name = f"{op}-dims{''.join(map(str, dims))}-{'keep' if keepdim else 'drop'}"
        family.add(name, op, lambda x, f=function, d=dims, k=keepdim: f(x, d, k), {"x": normal(3, 4, 5)}, {"dims": dims, "keepdim": keepdim})
    ties = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    family.add("amax-ties", "amax", lambda x: torch.amax(x, [1]), {"x": ties}, {"dims": [1], "keepdim": False})
    family.add("amax-nan", "amax", lambda x: torch.amax(x, [1]), {"x": torch.tensor([[1.0, math.nan, 3.0]])}, {"dims": [1], "keepdim": False})
    for dim, keepdim in itertools.product((0, 1, -1), (False, True)):
        name = f"argmax-dim{dim}-{'keep' if keepdim else 'drop'}"
        family.add(name, "argmax", lambda x, d=dim, k=keepdim: torch.argmax(x, d, k), {"x": normal(3, 4, 5)}, {"dim": dim, "keepdim": keepdim})
    family.add("argmax-ties", "argmax", lambda x: torch.argmax(x, 1), {"x": ties}, {"dim": 1, "keepdim": False})
    family.add("argmax-nan", "argmax", lambda x: torch.argmax(x, 1), {"x": torch.tensor([[1.0, math.nan, 3.0, math.nan]])}, {"dim": 1, "keepdim": False})
    family.add("sum-empty", "sum", lambda x: torch.sum(x, [1]), {"x": normal(2, 0)}, {"dims": [1], "keepdim": False})
    family.add("sum-long", "sum", lambda x: torch.sum(x, [0]), {"x": normal(9001)}, {"dims": [0], "keepdim": False})
    for dtype in ("i32", "u8", "bool"):
        family.add(f"sum-{dtype}", "sum", lambda x: torch.sum(x, [0]), {"x": torch.tensor([1, 0, 1, 1]).to(DTYPES[dtype])}, {"dims": [0], "keepdim": False})
    return family


def matmul():
    family = Family("matmul")
    shapes = [
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)),
        ((2, 1, 2, 3), (4, 3, 5)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,)), ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((17, 33), (33, 19)), ((1, 64), (64, 20)),
    ]  # fmt: skip
    for a, b in shapes:
        text = "-".join("x".join(map(str, s)) for s in (a, b))
        family.add(f"matmul-{text}", "matmul", lambda a, b: torch.matmul(a, b), {"a": normal(*a), "b": normal(*b)})
    for dtype in ("bf16", "f16"):
        family.add(f"matmul-{dtype}", "matmul", lambda a, b: torch.matmul(a, b), {"a": normal(5, 40, dtype=DTYPES[dtype]), "b": normal(40, 6, dtype=DTYPES[dtype])})
    family.add("linear", "linear", lambda x, weight: F.linear(x, weight), {"x": normal(2, 3, 8), "weight": normal(5, 8)})
    family.add("linear-bias", "linear", lambda x, weight, bias: F.linear(x, weight, bias), {"x": normal(2, 3, 8), "weight": normal(5, 8), "bias": normal(5)})
    return family


def promotion():
    """Result dtypes only: tensor with tensor, with a 0-d tensor, and with a Python number; "error" where PyTorch refuses."""
    ops = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum, "eq": torch.eq}

    def result(function, a, b):
        try:
            return NAMES[function(a, b).dtype]
        except RuntimeError:
            return "error"

    tensors = {name: torch.ones(2).to(dtype) for name, dtype in DTYPES.items()}
    scalars = {"int": 2, "float": 2.5, "bool": True}
    table = {"format": 1, "dtypes": list(DTYPES), "tensor_tensor": {}, "tensor_0d": {}, "tensor_number": {}, "where": {}, "unary": {}, "reduction": {}}
    for op, function in ops.items():
        table["tensor_tensor"][op] = {a: {b: result(function, tensors[a], tensors[b]) for b in DTYPES} for a in DTYPES}
        table["tensor_0d"][op] = {a: {b: result(function, tensors[a], tensors[b][0]) for b in DTYPES} for a in DTYPES}
        if op != "maximum":  # takes tensors only
            table["tensor_number"][op] = {a: {kind: result(function, tensors[a], value) for kind, value in scalars.items()} for a in DTYPES}
    condition = torch.tensor([True, False])
    table["where"] = {a: {b: result(lambda x, y: torch.where(condition, x, y), tensors[a], tensors[b]) for b in DTYPES} for a in DTYPES}
    one = lambda function: {a: result(lambda x, _: function(x), tensors[a], None) for a in DTYPES}  # noqa: E731
    for op in ("exp", "sqrt", "sigmoid", "tanh", "reciprocal", "rsqrt", "neg", "abs", "sign", "square", "relu"):
        table["unary"][op] = one(getattr(torch, op))
    table["unary"]["pow-int"] = one(lambda x: x**2)
    table["unary"]["pow-float"] = one(lambda x: x**0.5)
    for op in ("sum", "mean", "amax", "argmax"):
        table["reduction"][op] = one(lambda x, f=getattr(torch, op): f(x))
    return table


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "ops")
    folder.mkdir(parents=True, exist_ok=True)
    for make in (softmax, norms, rope, attention, cross_entropy, elementwise, indexing, reductions, matmul):
        family = make()
        family.save(folder)
        print(f"{family.name}: {len(family.cases)} cases, {len(family.tensors)} tensors")
    (folder / "promotion.json").write_text(json.dumps(promotion(), indent=1) + "\n")


if __name__ == "__main__":
    main()
