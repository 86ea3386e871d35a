#include "tenon/models/gpt2.h"

#include <cmath>
#include <string>
#include <vector>

#include "tenon/models/attention.h"
#include "tenon/nn/layers.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/operators.h"

namespace tenon::models {

namespace {

enum class Activation { gelu_tanh, gelu, relu, silu };

struct Gpt2Config {
    int64_t vocabulary, width, ffn, layers, heads, positions;
    double norm_eps, deviation, embedding_dropout, attention_dropout, residual_dropout;
    Activation activation;
    bool tied;

    CausalLMSizes sizes() const { return {vocabulary, width, layers, heads, heads, width / heads, positions}; }
    // Projections into the residual stream start smaller, by 1/√(2·layers).
    double residual_deviation() const { return deviation / std::sqrt(2.0 * static_cast<double>(layers)); }
};

Tensor activate(const Tensor& x, Activation activation) {
    switch (activation) {
        case Activation::gelu_tanh:
            return ops::gelu_tanh(x);
        case Activation::gelu:
            return ops::gelu(x);
        case Activation::relu:
            return ops::relu(x);
        case Activation::silu:
            return ops::silu(x);
    }
    return x;
}

class Gpt2Attention : public nn::Module {
public:
    explicit Gpt2Attention(const Gpt2Config& c)
        : config_(c),
          c_attn_(c.width, 3 * c.width, nn::normal(c.deviation)),
          c_proj_(c.width, c.width, nn::normal(c.residual_deviation())),
          resid_dropout_(c.residual_dropout) {
        add_module("c_attn", c_attn_);
        add_module("c_proj", c_proj_);
        add_module("resid_dropout", resid_dropout_);
    }

    Tensor forward(const Tensor& x, KvCache* cache, int64_t layer) const {
        const ModulePath path(name());
        const std::vector<Tensor> qkv = ops::split(c_attn_.forward(x), config_.width, 2);
        const double dropout = training() ? config_.attention_dropout : 0;
        const Tensor mixed = attend(split_heads(qkv[0], config_.heads), split_heads(qkv[1], config_.heads),
                                    split_heads(qkv[2], config_.heads), dropout, cache, layer);
        return resid_dropout_.forward(c_proj_.forward(merge_heads(mixed)));
    }

private:
    Gpt2Config config_;
    nn::Conv1D c_attn_, c_proj_;
    nn::Dropout resid_dropout_;
};

class Gpt2Mlp : public nn::Module {
public:
    explicit Gpt2Mlp(const Gpt2Config& c)
        : activation_(c.activation),
          c_fc_(c.width, c.ffn, nn::normal(c.deviation)),
          c_proj_(c.ffn, c.width, nn::normal(c.residual_deviation())),
          dropout_(c.residual_dropout) {
        add_module("c_fc", c_fc_);
        add_module("c_proj", c_proj_);
        add_module("dropout", dropout_);
    }

    Tensor forward(const Tensor& x) const {
        const ModulePath path(name());
        return dropout_.forward(c_proj_.forward(activate(c_fc_.forward(x), activation_)));
    }

private:
    Activation activation_;
    nn::Conv1D c_fc_, c_proj_;
    nn::Dropout dropout_;
};

class Gpt2Block : public nn::Module {
public:
    explicit Gpt2Block(const Gpt2Config& c)
        : ln_1_(c.width, c.norm_eps), attn_(c), ln_2_(c.width, c.norm_eps), mlp_(c) {
        add_module("ln_1", ln_1_);
        add_module("attn", attn_);
        add_module("ln_2", ln_2_);
        add_module("mlp", mlp_);
    }

    Tensor forward(const Tensor& x, KvCache* cache, int64_t layer) const {
        const ModulePath path(name());
        const Tensor h = x + attn_.forward(ln_1_.forward(x), cache, layer);
        return h + mlp_.forward(ln_2_.forward(h));
    }

private:
    nn::LayerNorm ln_1_;
    Gpt2Attention attn_;
    nn::LayerNorm ln_2_;
    Gpt2Mlp mlp_;
};

class Gpt2Transformer : public nn::Module {
public:
    explicit Gpt2Transformer(const Gpt2Config& c)
        : wte_(c.vocabulary, c.width, nn::normal(c.deviation)),
          wpe_(c.positions, c.width, nn::normal(c.deviation)),
          drop_(c.embedding_dropout),
          ln_f_(c.width, c.norm_eps) {
        add_module("wte", wte_);
        add_module("wpe", wpe_);
        add_module("drop", drop_);
        for (int64_t i = 0; i < c.layers; ++i) {
            blocks_.push_back(std::make_unique<Gpt2Block>(c));
            add_module("h." + std::to_string(i), *blocks_.back());
        }
        add_module("ln_f", ln_f_);
    }

    Tensor forward(const Tensor& tokens, KvCache* cache) const {
        const ModulePath path(name());
        const int64_t start = cache == nullptr ? 0 : cache->length;
        const Tensor positions = ops::narrow(wpe_.weight, 0, start, tokens.size(1));
        Tensor h = drop_.forward(wte_.forward(tokens) + positions);
        for (size_t i = 0; i < blocks_.size(); ++i) h = blocks_[i]->forward(h, cache, static_cast<int64_t>(i));
        return ln_f_.forward(h);
    }

    const Tensor& embedding() const { return wte_.weight; }

private:
    nn::Embedding wte_, wpe_;
    nn::Dropout drop_;
    std::vector<std::unique_ptr<Gpt2Block>> blocks_;
    nn::LayerNorm ln_f_;
};

class Gpt2 : public CausalLM {
public:
    explicit Gpt2(const Gpt2Config& c) : config_(c), transformer_(c) {
        add_module("transformer", transformer_);
        if (!c.tied) {
            lm_head_ = std::make_unique<nn::Linear>(c.width, c.vocabulary, false, nn::normal(c.deviation));
            add_module("lm_head", *lm_head_);
        }
    }

    Tensor hidden(const Tensor& tokens, KvCache* cache) override {
        check_positions(*this, tokens, cache);
        Tensor states = transformer_.forward(tokens, cache);
        if (cache != nullptr) cache->length += tokens.size(1);
        return states;
    }
    const Tensor& head() const override { return lm_head_ ? lm_head_->weight : transformer_.embedding(); }
    CausalLMSizes sizes() const override { return config_.sizes(); }

private:
    Gpt2Config config_;
    Gpt2Transformer transformer_;
    std::unique_ptr<nn::Linear> lm_head_;
};

std::vector<base::ConfigKey> gpt2_keys() {
    using Type = base::ConfigType;
    const auto dropout = [](std::string_view name, std::string_view doc) {
        return base::ConfigKey{
            .name = name, .type = Type::real, .fallback = 0.1, .doc = doc, .least = 0, .most = 0.999};
    };
    return {
        {.name = "model_type", .type = Type::string, .doc = "the architecture family", .required = true},
        {.name = "vocab_size", .fallback = 50257, .doc = "tokens in the vocabulary", .least = 1, .most = 1 << 24},
        {.name = "n_embd",
         .fallback = 768,
         .doc = "width of the residual stream",
         .least = 1,
         .most = 1 << 24,
         .alias = "hidden_size"},
        {.name = "n_layer", .fallback = 12, .doc = "blocks", .least = 1, .most = 10000, .alias = "num_hidden_layers"},
        {.name = "n_head", .fallback = 12, .doc = "heads", .least = 1, .most = 1 << 24, .alias = "num_attention_heads"},
        {.name = "n_positions",
         .fallback = 1024,
         .doc = "longest context",
         .least = 1,
         .most = 1 << 24,
         .alias = "max_position_embeddings"},
        {.name = "n_inner",
         .doc = "width of the feed-forward layer; 4 · n_embd by default",
         .least = 1,
         .most = 1 << 24,
         .alias = "intermediate_size"},
        {.name = "activation_function",
         .type = Type::string,
         .fallback = "gelu_new",
         .doc = "the feed-forward layer's activation",
         .choices = {"gelu_new", "gelu_pytorch_tanh", "gelu", "relu", "silu"}},
        dropout("resid_pdrop", "dropout on what enters the residual stream"),
        dropout("embd_pdrop", "dropout on embeddings"),
        dropout("attn_pdrop", "dropout on attention weights"),
        {.name = "layer_norm_epsilon", .type = Type::real, .fallback = 1e-5, .doc = "eps of the norms", .least = 0},
        {.name = "initializer_range",
         .type = Type::real,
         .fallback = 0.02,
         .doc = "standard deviation of initial weights",
         .least = 0},
        {.name = "tie_word_embeddings", .type = Type::boolean, .fallback = true, .doc = "head = embedding"},
    };
}

void resolve_gpt2(base::ConfigSection& config) {
    if (config.integer("n_embd") % config.integer("n_head") != 0) {
        config.fail("n_head", "must divide n_embd, which is " + std::to_string(config.integer("n_embd")));
    }
    if (!config.has("n_inner")) config.decide("n_inner", 4 * config.integer("n_embd"), "4 * n_embd");
}

Activation activation(const std::string& name) {
    if (name == "gelu") return Activation::gelu;
    if (name == "relu") return Activation::relu;
    if (name == "silu") return Activation::silu;
    return Activation::gelu_tanh;
}

Gpt2Config gpt2_config(const base::ConfigSection& c) {
    return {c.integer("vocab_size"),
            c.integer("n_embd"),
            c.integer("n_inner"),
            c.integer("n_layer"),
            c.integer("n_head"),
            c.integer("n_positions"),
            c.real("layer_norm_epsilon"),
            c.real("initializer_range"),
            c.real("embd_pdrop"),
            c.real("attn_pdrop"),
            c.real("resid_pdrop"),
            activation(c.string("activation_function")),
            c.boolean("tie_word_embeddings")};
}

CausalLMSizes gpt2_sizes(const base::ConfigSection& c) {
    return gpt2_config(c).sizes();
}

base::Json hugging_face_gpt2(const base::ConfigSection& /*config*/) {
    return base::Json::object({{"architectures", base::Json::array({"GPT2LMHeadModel"})}});
}

std::unique_ptr<CausalLM> make_gpt2(const base::ConfigSection& c) {
    return std::make_unique<Gpt2>(gpt2_config(c));
}

}  // namespace

Family gpt2_family() {
    return {"gpt2", gpt2_keys(), resolve_gpt2, gpt2_sizes, make_gpt2, hugging_face_gpt2};
}

}  // namespace tenon::models
