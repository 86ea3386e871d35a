#include "tenon/scalar/range_reduction.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace tenon::scalar {
namespace {

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): __extension__ takes no alias

// 2/pi = 0.a2f9836e…, 1280 bits (computed with mpmath at 1400 bits): enough for 2^1024 times a 53-bit integer.
constexpr uint64_t kTwoOverPi[20] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
                                     0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
                                     0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
                                     0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
                                     0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};
// pi/2 = 1.921fb54442d18469898cc517…, as 2^127 * (pi/2 / 2) in two words.
constexpr uint64_t kHalfPiHigh = 0xc90fdaa22168c234, kHalfPiLow = 0xc4c6628b80dc1cd1;

// 64 bits of 2/pi from bit `first` on (bit 0 has weight 1/2); bits before the point are 0.
uint64_t window(int first) noexcept {
    if (first <= -64) return 0;
    if (first < 0) return kTwoOverPi[0] >> -first;
    const int word = first / 64, shift = first % 64;
    uint64_t bits = kTwoOverPi[word] << shift;
    if (shift != 0) bits |= kTwoOverPi[word + 1] >> (64 - shift);
    return bits;
}

// A fraction of one turn by 4: the quarter turns modulo 4, and what is left as 128 bits of a quarter turn, rounded to
// the nearest quarter, so that its magnitude is at most 1/2.
struct Fraction {
    int turns;
    bool negative;
    Wide magnitude;  // times 2^-128 quarter turns
};

// mantissa * 2^exponent * 2/pi, modulo 4. exponent >= -60.
Fraction multiply(uint64_t mantissa, int exponent) noexcept {
    // Bits of 2/pi of weight above 2^(2 - exponent) give multiples of 4 and are left out. The window's 192 bits start
    // at weight 2^(1 - exponent), so the product's top two kept bits are the quarter turns.
    const int first = exponent - 2;
    const uint64_t a = window(first), b = window(first + 64), c = window(first + 128);
    // 256-bit product of a 192-bit window and a 64-bit mantissa; the word above the window overflows into multiples
    // of 4.
    const Wide low = static_cast<Wide>(mantissa) * c;
    const Wide middle = static_cast<Wide>(mantissa) * b + static_cast<uint64_t>(low >> 64);
    const uint64_t word1 = static_cast<uint64_t>(middle);
    const uint64_t word0 = mantissa * a + static_cast<uint64_t>(middle >> 64);
    const uint64_t word2 = static_cast<uint64_t>(low);
    // word0's top two bits: quarter turns; the 190 bits after them: the fraction of a quarter.
    Fraction result;
    result.turns = static_cast<int>(word0 >> 62);
    Wide fraction = (static_cast<Wide>(word0) << 66) | (static_cast<Wide>(word1) << 2) | (word2 >> 62);
    result.negative = (fraction >> 127) != 0;
    if (result.negative) {
        fraction = -fraction;
        result.turns = (result.turns + 1) & 3;
    }
    result.magnitude = fraction;
    return result;
}

double scaled(double x, int exponent) noexcept {  // x * 2^exponent, exponent in [-1000, 0]
    return x * std::bit_cast<double>(static_cast<uint64_t>(1023 + exponent) << 52);
}

}  // namespace

Reduced reduce_quarter_turns(double x) noexcept {
    const uint64_t bits = std::bit_cast<uint64_t>(x);
    const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023 - 52;
    const uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
    Fraction f = multiply(mantissa, exponent);
    Reduced result;
    result.turns = f.turns;
    if (f.magnitude == 0) return result;
    // Bring the top bit to the front, multiply by pi/2 keeping 128 bits, and cut into 53-bit pieces.
    const uint64_t top = static_cast<uint64_t>(f.magnitude >> 64);
    const int zeros = top != 0 ? std::countl_zero(top) : 64 + std::countl_zero(static_cast<uint64_t>(f.magnitude));
    const Wide m = f.magnitude << zeros;
    const uint64_t mh = static_cast<uint64_t>(m >> 64), ml = static_cast<uint64_t>(m);
    const Wide cross = (static_cast<Wide>(mh) * kHalfPiLow >> 64) + (static_cast<Wide>(ml) * kHalfPiHigh >> 64);
    const Wide product = static_cast<Wide>(mh) * kHalfPiHigh + cross;  // times 2^(-127 - zeros)
    const uint64_t high = static_cast<uint64_t>(product >> 75), rest = static_cast<uint64_t>((product << 53) >> 64);
    result.remainder = scaled(static_cast<double>(high), 75 - 127 - zeros);
    result.low = scaled(static_cast<double>(rest), 11 - 127 - zeros);
    if (f.negative) {
        result.remainder = -result.remainder;
        result.low = -result.low;
    }
    // The cross terms cut off keep this below 2^-100 relative. Negative x mirrors everything.
    if (x < 0) {
        result.turns = (4 - result.turns) & 3;
        result.remainder = -result.remainder;
        result.low = -result.low;
    }
    return result;
}

float quarter_turns(float x) noexcept {
    if (!(x - x == 0)) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(reduce_quarter_turns(x).turns);
}

float quarter_turn_remainder(float x) noexcept {
    if (!(x - x == 0)) return std::numeric_limits<float>::quiet_NaN();
    // remainder is cut, not rounded, to 53 bits, and low is what was cut: the sum rounds to nearest in f64, then to
    // f32.
    const Reduced reduced = reduce_quarter_turns(x);
    return static_cast<float>(reduced.remainder + reduced.low);
}

}  // namespace tenon::scalar
