#include "tenon/models/self_check.h"

namespace tenon::models {

std::string_view self_check_model() {
    return R"(
model_type = "llama"
vocab_size = 131
hidden_size = 44
intermediate_size = 68
num_hidden_layers = 2
num_attention_heads = 2
num_key_value_heads = 1
max_position_embeddings = 32
attention_dropout = 0.1
tie_word_embeddings = true
)";
}

}  // namespace tenon::models
