// What run.json says of the build, the machine and the kernels.
#pragma once

#include "tenon/base/json.h"

namespace tenon::run {

// Compiler, flags, version, commit, sources: equal for equal binaries.
base::Json build_json();
// Host name, processor, instruction set, threads, memory, the system's library: facts that may differ between two equal
// runs.
base::Json machine_json();
// {"TENON_CPU": "avx2", …}: the variables that are set and that this program, its libraries or the loader read.
base::Json environment_json();
// [{"op", "device", "provider", "tier", "calls"}, …] of the providers that ran in this process.
base::Json providers_json();

}  // namespace tenon::run
