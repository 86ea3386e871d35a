#include "tenon/core/random.h"

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/base/little_endian.h"
#include "tenon/base/sha256.h"

namespace tenon {

namespace {

struct PassState {
    uint64_t seed;
    uint32_t step;
    uint32_t leaf;
    std::map<std::string, int64_t> ordinals;
};

thread_local PassState* open_pass = nullptr;
thread_local std::string module_path;

std::mutex generator_mutex;
GeneratorState generator;

}  // namespace

std::array<uint32_t, 4> philox(uint64_t key, std::array<uint32_t, 4> counter) noexcept {
    auto k0 = static_cast<uint32_t>(key);
    auto k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
        const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
        counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
                   static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    return counter;
}

uint64_t stream_key(uint64_t seed, std::string_view stream) {
    std::string message;
    base::append_little_endian(message, seed);
    message += stream;
    return base::little_endian_at<uint64_t>(base::sha256(message), 0);
}

uint32_t random_word(const Draw& draw, int64_t i) noexcept {
    const auto block = static_cast<uint64_t>(i) / 4;
    const auto words =
        philox(draw.key, {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), draw.step, draw.leaf});
    return words[static_cast<uint64_t>(i) % 4];
}

uint64_t dropout_threshold(double p) {
    if (!(p >= 0 && p <= 1)) {
        throw Error(Code::usage, "dropout", "p is " + std::to_string(p) + "; a probability lies in [0, 1]");
    }
    return static_cast<uint64_t>(std::floor(p * 0x1p32 + (TENON_FAULT(dropout_threshold_cut) ? 0 : 0.5)));
}

Pass::Pass(uint64_t seed, uint32_t step, uint32_t leaf) {
    if (open_pass != nullptr) throw Error(Code::failed, "pass", "a pass is open already on this thread");
    open_pass = new PassState{seed, step, leaf, {}};
}

Pass::~Pass() {
    delete open_pass;
    open_pass = nullptr;
}

ModulePath::ModulePath(std::string_view name) : length_before_(module_path.size()) {
    if (!module_path.empty() && !name.empty()) module_path += '.';
    module_path += name;
}

ModulePath::~ModulePath() {
    module_path.resize(length_before_);
}

const std::string& ModulePath::current() {
    return module_path;
}

Draw next_draw(std::string_view op) {
    if (open_pass != nullptr && !TENON_FAULT(dropout_unkeyed)) {
        std::string stream = module_path + "/" + std::string(op);
        const int64_t ordinal = open_pass->ordinals[stream]++;
        stream += "/" + std::to_string(ordinal);
        return {stream_key(open_pass->seed, stream), TENON_FAULT(draw_ignores_step) ? 0 : open_pass->step,
                TENON_FAULT(draw_ignores_leaf) ? 0 : open_pass->leaf};
    }
    const std::lock_guard lock(generator_mutex);
    const uint64_t ordinal = generator.ordinal++;
    return {stream_key(generator.seed, "default"), static_cast<uint32_t>(ordinal),
            static_cast<uint32_t>(ordinal >> 32)};
}

GeneratorState generator_state() {
    const std::lock_guard lock(generator_mutex);
    return generator;
}

void set_generator_state(GeneratorState state) {
    const std::lock_guard lock(generator_mutex);
    generator = state;
}

}  // namespace tenon
