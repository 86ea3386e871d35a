// Cached = recomputed: prefill, prefill in chunks of any sizes and token by token give the same logits, bit for bit.
#include <gtest/gtest.h>

#include "tenon/base/toml.h"
#include "tenon/models/registry.h"
#include "tenon/ops/functions.h"
#include "tests/cpu/sweep.h"
#include "tests/train/tiny_models.h"

namespace tenon::tests {

namespace {

constexpr int64_t positions = 300;

std::string longer(std::string config) {
    for (const char* key : {"max_position_embeddings = 64", "n_positions = 64"}) {
        const size_t at = config.find(key);
        if (at == std::string::npos) continue;
        const std::string text(key);
        config.replace(at, text.size(), text.substr(0, text.size() - 2) + std::to_string(positions));
    }
    return config;
}

std::vector<uint64_t> logits_by_chunks(models::CausalLM& model, const Tensor& tokens,
                                       const std::vector<int64_t>& chunks) {
    models::KvCache cache = model.make_cache(tokens.size(0), positions);
    std::vector<Tensor> parts;
    int64_t at = 0;
    for (size_t i = 0; at < tokens.size(1); ++i) {
        const int64_t size = std::min(chunks[i % chunks.size()], tokens.size(1) - at);
        parts.push_back(model.logits(ops::narrow(tokens, 1, at, size), &cache));
        at += size;
    }
    return sweep::bits(ops::cat(parts, 1));
}

class Cache : public testing::TestWithParam<TinyModel> {};

TEST_P(Cache, GivesTheLogitsOfRecomputation) {
    prepare();
    const auto model =
        models::make_model(models::read_model_config(base::parse_toml(longer(GetParam().config), "test")));
    model->initialize(3);
    model->set_training(false);
    const ops::NoGrad guard;
    const Tensor tokens = ops::randint(0, 307, {2, positions});
    const std::vector<uint64_t> whole = sweep::bits(model->logits(tokens));
    const std::vector<std::vector<int64_t>> all_chunks = {{positions}, {1}, {128}, {5, 1, 130, 17, 64}, {127, 2}};
    for (const std::vector<int64_t>& chunks : all_chunks) {
        EXPECT_EQ(logits_by_chunks(*model, tokens, chunks), whole) << "first chunk " << chunks[0];
    }
}

INSTANTIATE_TEST_SUITE_P(Models, Cache, testing::ValuesIn(tiny_models()), [](const auto& each) {
    std::string name = each.param.name;
    for (char& c : name) c = c == '-' ? '_' : c;
    return name;
});

}  // namespace

}  // namespace tenon::tests
