#include "tests/train/tiny_models.h"

#include <limits>

#include "tenon/autograd/autograd.h"
#include "tenon/base/number.h"
#include "tenon/base/toml.h"
#include "tenon/cpu/register.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/models/registry.h"
#include "tests/train/token_source.h"

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
    static const TinyModel model{"llama-plain",
                                 "model_type = \"llama\"\nvocab_size = 131\nhidden_size = 44\nintermediate_size = 68\n"
                                 "num_hidden_layers = 2\nnum_attention_heads = 2\nnum_key_value_heads = 1\n"
                                 "max_position_embeddings = 32\nattention_dropout = 0.1\ntie_word_embeddings = true\n",
                                 8, 32};
    return model;
}

std::vector<run::DigestRecord> train_tiny(const TinyModel& tiny, const TinyRun& options) {
    prepare();
    cpu::set_threads(options.threads);
    const auto model = models::make_model(models::read_model_config(base::parse_toml(tiny.config, tiny.name)));
    train::TrainerOptions trainer_options;
    trainer_options.seed = 5;
    trainer_options.leaves = options.leaves;
    trainer_options.leaf_order = options.order;
    trainer_options.clip_norm = 0.5;
    trainer_options.adamw = {0.9, 0.95, 1e-8, 0.1};
    trainer_options.schedule = {optim::Schedule::Kind::cosine, 4e-3, 5, 60, 0.1, 0.2};
    train::Trainer trainer(
        *model, [&](const Tensor& x, const Tensor& y, double divisor) { return model->loss(x, y, divisor); },
        trainer_options);
    trainer.initialize();
    data::Loader loader(std::make_shared<TokenSource>(model->sizes().vocabulary, tiny.length, 97),
                        {.seed = 5, .batch = tiny.sequences});
    std::vector<run::DigestRecord> records = {
        {0, std::numeric_limits<float>::quiet_NaN(), {}, trainer.parameter_digest()}};
    const int64_t steps = options.steps > 0 ? options.steps : tiny.steps;
    for (int64_t s = 0; s < steps; ++s) {
        const train::StepReport report = trainer.step(loader.next());
        records.push_back({report.step, report.loss, report.gradients, report.parameters});
    }
    return records;
}

std::string to_text(const std::vector<run::DigestRecord>& records) {
    std::string text;
    for (const run::DigestRecord& record : records) {
        text += std::to_string(record.step) + "\t" + (record.step > 0 ? base::shortest(record.loss) : "-") + "\t" +
                run::to_hex(record.gradients) + "\t" + run::to_hex(record.parameters) + "\n";
    }
    return text;
}

void prepare() {
    cpu::register_kernels();
    autograd::register_autograd();
}

}  // namespace tenon::tests
