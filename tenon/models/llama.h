// Llama: RMSNorm, rotary positions, grouped-query attention, SwiGLU. Touvron et al. 2023, arXiv:2302.13971 and
// arXiv:2307.09288.
#pragma once

#include "tenon/models/registry.h"

namespace tenon::models {

Family llama_family();

}  // namespace tenon::models
