// Digests of tensors: two sums modulo 2^64 over 32-bit words of (word times an odd key of its index and the tensor's
// name). Any single changed element changes both; the digests of the parts of a cut tensor add up to the whole's; the
// order of the elements' visit does not matter. They find faults, not attackers.
#include "tenon/base/error.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/table.h"

namespace tenon::ops {

void register_digest(Table& table) {
    table.op("digest(x, n0: int, n1: int, offset: int = 0)")
        .doc(
            "The two sums of x as i64[2], keyed by a name's words n0 and n1 (ops/digest_key.h). Element j of x is "
            "element offset + j of the tensor that the name means. NaNs count as one; +0 and -0 differ.")
        .rule([](const Call& call, Results& results) {
            if (call.integer(2) < 0) {
                throw Error(Code::usage, "digest", "offset is " + std::to_string(call.integer(2)) + "; at least 0");
            }
            results.add({2}, DType::i64);
        })
        .no_derivative("its result is an integer")
        .cost([](const Call& call, const Results&) {
            const Tensor& x = call.input(0);
            const int64_t bytes = x.numel() * size_of(x.dtype());
            return Cost{0, static_cast<double>(bytes), x.is_contiguous() ? 0 : bytes};
        })
        .sample({normal({3, 5})}, {{"n0", 1}, {"n1", 2}})
        .sample({normal({})}, {{"n0", 1}, {"n1", 2}, {"offset", 7}})
        .sample({integers({0, 2}, 0, 5)}, {{"n0", 1}, {"n1", 2}})
        .error({normal({2})}, {{"n0", 1}, {"n1", 2}, {"offset", -1}}, "offset is -1");
}

}  // namespace tenon::ops
