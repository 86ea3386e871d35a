#include "tenon/run/environment.h"

#include "tenon/base/process.h"
#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/ops/dispatch.h"

namespace tenon::run {

using base::Json;

Json build_json() {
    const base::Build& build = base::build();
    return Json::object({{"version", build.version},
                         {"commit", build.commit},
                         {"compiler", build.compiler},
                         {"flags", build.flags},
                         {"type", build.type},
                         {"identity", build.identity}});
}

Json machine_json() {
    return Json::object({{"name", base::host_name()},
                         {"kernel", base::kernel_name()},
                         {"processor", base::processor_name()},
                         {"instruction_set", cpu::name(cpu::instruction_set())},
                         {"processors", base::processors_allowed()},
                         {"threads", cpu::threads()},
                         {"memory_bytes", base::memory_total()}});
}

Json providers_json() {
    Json list = Json::array();
    for (const ops::ProviderUse& use : ops::provider_uses()) {
        list.push(Json::object({{"op", use.op},
                                {"device", use.device},
                                {"provider", use.provider},
                                {"tier", ops::name_of(use.tier)},
                                {"calls", static_cast<int64_t>(use.calls)}}));
    }
    return list;
}

}  // namespace tenon::run
