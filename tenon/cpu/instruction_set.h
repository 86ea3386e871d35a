// Which instruction set this process computes with. Chosen once: TENON_CPU=avx2|avx512|plain, else the best that the
// processor and the system support. Results do not depend on it (docs/numerics.md); speed does.
#pragma once

#include <string_view>

namespace tenon::cpu {

enum class InstructionSet { plain, avx2, avx512 };

// The set in use. The first call reads TENON_CPU; an unknown name, or a set that the processor lacks, is a usage error.
InstructionSet instruction_set();
bool supported(InstructionSet set);
InstructionSet best_instruction_set();
std::string_view name(InstructionSet set);

// Switches the set while it lives, and back: for tests and benchmarks that compare sets within one process.
// Not for use while another thread computes. Throws where the processor lacks the set.
class ForcedInstructionSet {
public:
    explicit ForcedInstructionSet(InstructionSet set);
    ~ForcedInstructionSet();
    ForcedInstructionSet(const ForcedInstructionSet&) = delete;
    ForcedInstructionSet& operator=(const ForcedInstructionSet&) = delete;

private:
    InstructionSet before_;
};

// The one of three that belongs to the set in use: kernels, or tables of kernels.
template <class T>
T select(T avx2, T avx512, T plain) {
    switch (instruction_set()) {
        case InstructionSet::avx512:
            return avx512;
        case InstructionSet::avx2:
            return avx2;
        case InstructionSet::plain:
            return plain;
    }
    return plain;
}

// Declares a function that sets/*.cpp define in each set's namespace, at namespace tenon::cpu:
//     TENON_IN_EVERY_SET(void softmax_rows(const float* x, float* y, int64_t rows, int64_t n);)
// and picks one to call:
//     TENON_SELECT(softmax_rows)(x, y, rows, n);
#define TENON_IN_EVERY_SET(...) \
    namespace avx2 {            \
    __VA_ARGS__                 \
    }                           \
    namespace avx512 {          \
    __VA_ARGS__                 \
    }                           \
    namespace plain {           \
    __VA_ARGS__                 \
    }
#define TENON_SELECT(function) \
    ::tenon::cpu::select(&::tenon::cpu::avx2::function, &::tenon::cpu::avx512::function, &::tenon::cpu::plain::function)

}  // namespace tenon::cpu
