// Fills ops/host.h's door for the CPU: elements in logical order, to and from the host's own memory.
#pragma once

namespace tenon::cpu {

void register_host_copies();

}  // namespace tenon::cpu
