// GPT-2: learned positions, LayerNorm before each block, GELU, three dropouts, tied head. Radford et al. 2019.
#pragma once

#include "tenon/models/registry.h"

namespace tenon::models {

Family gpt2_family();

}  // namespace tenon::models
