#include "tenon/cpu/instruction_set.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "tenon/base/error.h"
#include "tenon/cpu/cpu_features.h"

namespace tenon::cpu {

namespace {

constexpr int kNotChosen = -1;
std::atomic<int> chosen{kNotChosen};

InstructionSet require(InstructionSet set, std::string_view asked_by) {
    if (supported(set)) return set;
    throw Error(Code::usage, "cpu",
                std::string(asked_by) + " asks for " + std::string(name(set)) + ", which this processor (" +
                    cpu_features().model + ") or its operating system lacks; the best here is " +
                    std::string(name(best_instruction_set())));
}

InstructionSet choose() {
    const char* forced = std::getenv("TENON_CPU");
    if (forced == nullptr || *forced == '\0') return best_instruction_set();
    for (InstructionSet set : {InstructionSet::avx2, InstructionSet::avx512, InstructionSet::plain}) {
        if (name(set) == forced) return require(set, "TENON_CPU");
    }
    throw Error(Code::usage, "cpu", "TENON_CPU is \"" + std::string(forced) + "\"; it takes avx2, avx512 or plain");
}

}  // namespace

std::string_view name(InstructionSet set) {
    switch (set) {
        case InstructionSet::plain:
            return "plain";
        case InstructionSet::avx2:
            return "avx2";
        case InstructionSet::avx512:
            return "avx512";
    }
    return "plain";
}

bool supported(InstructionSet set) {
    switch (set) {
        case InstructionSet::plain:
            return true;
        case InstructionSet::avx2:
            return cpu_features().avx2_fma_f16c;
        case InstructionSet::avx512:
            return cpu_features().avx512;
    }
    return false;
}

InstructionSet best_instruction_set() {
    if (supported(InstructionSet::avx512)) return InstructionSet::avx512;
    return supported(InstructionSet::avx2) ? InstructionSet::avx2 : InstructionSet::plain;
}

InstructionSet instruction_set() {
    // Relaxed: the value depends on nothing else, and two threads that both choose choose alike.
    int set = chosen.load(std::memory_order_relaxed);
    if (set == kNotChosen) {
        set = static_cast<int>(choose());
        chosen.store(set, std::memory_order_relaxed);
    }
    return static_cast<InstructionSet>(set);
}

ForcedInstructionSet::ForcedInstructionSet(InstructionSet set) : before_(instruction_set()) {
    chosen.store(static_cast<int>(require(set, "the caller")), std::memory_order_relaxed);
}

ForcedInstructionSet::~ForcedInstructionSet() {
    chosen.store(static_cast<int>(before_), std::memory_order_relaxed);
}

}  // namespace tenon::cpu
