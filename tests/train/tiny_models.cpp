#include "tests/train/tiny_models.h"

#include "tenon/autograd/autograd.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/models/self_check.h"
#include "tenon/train/self_check.h"

namespace tenon::tests {

namespace {

constexpr const char* llama_132 = R"(
model_type = "llama"
vocab_size = 307
hidden_size = 132
intermediate_size = 180
num_hidden_layers = 2
num_attention_heads = 6
num_key_value_heads = 3
max_position_embeddings = 64
attention_dropout = 0.1
)";

constexpr const char* gpt2_132 = R"(
model_type = "gpt2"
vocab_size = 307
n_embd = 132
n_layer = 2
n_head = 6
n_positions = 64
n_inner = 268
)";

}  // namespace

const std::vector<TinyModel>& tiny_models() {
    static const std::vector<TinyModel> models = {
        {"llama-gqa-untied", llama_132},
        {"llama-gqa-tied", std::string(llama_132) + "tie_word_embeddings = true\n"},
        {"gpt2-dropout", gpt2_132},
    };
    return models;
}

const TinyModel& long_model() {
    static const TinyModel model{"llama-long",
                                 "model_type = \"llama\"\nvocab_size = 131\nhidden_size = 60\nintermediate_size = 396\n"
                                 "num_hidden_layers = 2\nnum_attention_heads = 6\nnum_key_value_heads = 3\n"
                                 "max_position_embeddings = 320\nattention_dropout = 0.1\n",
                                 8, 320, 4};
    return model;
}

const TinyModel& plain_model() {
    static const TinyModel model{"llama-plain", std::string(models::self_check_model()), 8, 32};
    return model;
}

std::vector<run::DigestRecord> train_tiny(const TinyModel& tiny, const TinyRun& options) {
    prepare();
    cpu::set_threads(options.threads);
    train::GoldenRun run{tiny.config, tiny.sequences, tiny.length};
    run.leaves = options.leaves;
    run.leaf_order = options.order;
    run.steps = options.steps > 0 ? options.steps : tiny.steps;
    return train::golden_records(run);
}

void prepare() {
    cpu::register_kernels();
    autograd::register_autograd();
}

}  // namespace tenon::tests
