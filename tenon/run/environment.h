// What run.json says of the build, the machine and the kernels.
#pragma once

#include "tenon/base/json.h"

namespace tenon::run {

// Compiler, flags, version, commit: equal for equal binaries.
base::Json build_json();
// Host name, processor, instruction set, threads, memory: facts that may differ between two equal runs.
base::Json machine_json();
// [{"op", "device", "provider", "tier", "calls"}, …] of the providers that ran in this process.
base::Json providers_json();

}  // namespace tenon::run
