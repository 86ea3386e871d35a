// tenon doctor: what this machine is and what Tenon makes of it.
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "tenon/base/error.h"
#include "tenon/base/json.h"
#include "tenon/base/number.h"
#include "tenon/base/process.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/peak.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/models/self_check.h"
#include "tenon/ops/table.h"
#include "tenon/run/environment.h"
#include "tenon/text/pieces.h"
#include "tenon/train/self_check.h"

namespace tenon::cli {

namespace {

using base::Json;

// The lowest tier among the providers that would run: what this machine keeps.
ops::Tier kept_tier() {
    ops::Tier lowest = ops::Tier::d4;
    for (const ops::Op& op : ops::table().all()) {
        const auto& providers = op.providers(Device::cpu).list();
        if (!providers.empty()) lowest = std::min(lowest, providers.front().tier);
    }
    return lowest;
}

std::vector<cpu::InstructionSet> supported_sets() {
    std::vector<cpu::InstructionSet> sets;
    for (const auto set : {cpu::InstructionSet::avx512, cpu::InstructionSet::avx2, cpu::InstructionSet::plain}) {
        if (cpu::supported(set)) sets.push_back(set);
    }
    return sets;
}

Json facts() {
    Json sets = Json::array();
    for (const auto set : supported_sets()) sets.push(cpu::name(set));
    Json all = Json::object({{"build", run::build_json()}, {"machine", run::machine_json()}});
    all.set("instruction_sets", std::move(sets));
    all.set("memory_available_bytes", base::memory_available());
    all.set("f32_peak_flops", cpu::measure_peak_flops(cpu::threads(), 0.3));
    // Libraries that are found at run time would stand here; the CPU path needs none.
    all.set("libraries", Json::object({{"pattern engine", text::pattern_engine()}}));
    all.set("tier", ops::name_of(kept_tier()));
    return all;
}

void print(const Json& all) {
    const Json& machine = all.at("machine");
    const Json& build = all.at("build");
    std::printf("tenon            %s, %s, %s\n", build.at("version").string().c_str(),
                build.at("compiler").string().c_str(), build.at("type").string().c_str());
    std::printf("processor        %s, %lld allowed, %lld threads\n", machine.at("processor").string().c_str(),
                static_cast<long long>(machine.at("processors").integer()),
                static_cast<long long>(machine.at("threads").integer()));
    std::printf("instruction set  %s (this processor runs %s; TENON_CPU= forces one)\n",
                machine.at("instruction_set").string().c_str(), all.at("instruction_sets").dump().c_str());
    std::printf("f32 peak         %sFLOP/s\n", base::human_count(all.at("f32_peak_flops").real()).c_str());
    std::printf("memory           %s, %s available\n", base::human_bytes(machine.at("memory_bytes").integer()).c_str(),
                base::human_bytes(all.at("memory_available_bytes").integer()).c_str());
    for (const auto& [name, version] : all.at("libraries").object_value()) {
        std::printf("%-16s %s\n", name.c_str(), version.string().c_str());
    }
    std::printf("tier             %s: the same bits on every processor (docs/numerics.md)\n",
                all.at("tier").string().c_str());
}

// Five golden steps under every instruction set of this machine, on one thread and on as many as are configured.
Json check_golden_steps() {
    Json checks = Json::array();
    const int threads = cpu::threads();
    for (const auto set : supported_sets()) {
        const cpu::ForcedInstructionSet forced(set);
        for (const int n : {1, threads}) {
            cpu::set_threads(n);
            const std::string digests =
                run::to_text(train::golden_records({.model = std::string(models::self_check_model())}));
            const std::string difference = train::first_difference(train::self_check_digests(), digests);
            checks.push(
                Json::object({{"instruction_set", cpu::name(set)}, {"threads", n}, {"difference", difference}}));
            if (threads == 1) break;
        }
    }
    cpu::set_threads(threads);
    return checks;
}

// Prints them; the exit code says whether all gave the bits that every machine gives.
int report(const Json& checks) {
    bool same = true;
    for (const Json& check : checks.array_value()) {
        const std::string& difference = check.at("difference").string();
        same = same && difference.empty();
        std::printf("golden steps     %s, threads %lld: %s\n", check.at("instruction_set").string().c_str(),
                    static_cast<long long>(check.at("threads").integer()),
                    difference.empty() ? "same" : difference.c_str());
    }
    std::printf("tier kept        %s\n", same ? ops::name_of(kept_tier()).data() : "none: these bits are wrong");
    return same ? 0 : exit_code(Code::failed);
}

}  // namespace

void add_doctor(base::CommandLine& line) {
    struct Arguments {
        bool json = false;
        bool self_check = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    line.add("doctor", "What this machine is, and the tier it keeps.", "tenon doctor --self-check")
        .flag("--json", &arguments->json, "print JSON")
        .flag("--self-check", &arguments->self_check, "train five golden steps and compare their digests")
        .action([arguments] {
            cpu::register_kernels();
            Json all = facts();
            if (arguments->self_check) all.set("golden_steps", check_golden_steps());
            if (arguments->json) {
                std::printf("%s\n", all.pretty().c_str());
            } else {
                print(all);
            }
            return arguments->self_check && !arguments->json ? report(all.at("golden_steps")) : 0;
        });
}

}  // namespace tenon::cli
