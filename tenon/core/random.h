// Keyed, counter-based randomness: a number depends on (seed, stream, step, leaf, index) and on nothing else.
// Philox4x32-10: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

// The ten rounds over one counter block.
std::array<uint32_t, 4> philox(uint64_t key, std::array<uint32_t, 4> counter) noexcept;

// First eight bytes, little-endian, of SHA-256(seed as 8 bytes little-endian ‖ stream name).
uint64_t stream_key(uint64_t seed, std::string_view stream);

// Where a random op's numbers come from: element i takes word i mod 4 of the block at counter
// (⌊i/4⌋ low, ⌊i/4⌋ high, step, leaf).
struct Draw {
    uint64_t key = 0;
    uint32_t step = 0;
    uint32_t leaf = 0;
};
uint32_t random_word(const Draw& draw, int64_t i) noexcept;

// 24 bits in [0, 1); a normal pair by Box and Muller is made in cpu, from the same words.
constexpr float uniform_from(uint32_t word) noexcept {
    return static_cast<float>(word >> 8) * 0x1p-24F;
}
// An element is kept when its word is at least this: round(p·2³²), and never at p = 1.
uint64_t dropout_threshold(double p);

// One forward and backward over one leaf of one step. Opened by the trainer only; inside it a stream is
// (module path, op, ordinal of that op in the pass), so no draw depends on what ran before.
class Pass {
public:
    Pass(uint64_t seed, uint32_t step, uint32_t leaf);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
};

// Names the module whose forward runs: "layers.0.self_attn". Nested scopes join with dots.
class ModulePath {
public:
    explicit ModulePath(std::string_view name);
    ~ModulePath();
    ModulePath(const ModulePath&) = delete;
    ModulePath& operator=(const ModulePath&) = delete;
    static const std::string& current();

private:
    size_t length_before_;
};

// The draw for the next call of `op` on this thread: from the pass where one is open, else from the generator.
Draw next_draw(std::string_view op);

// The generator outside a pass: its seed and how many draws it has given. Part of a checkpoint.
struct GeneratorState {
    uint64_t seed = 0;
    uint64_t ordinal = 0;
};
GeneratorState generator_state();
void set_generator_state(GeneratorState state);

}  // namespace tenon
