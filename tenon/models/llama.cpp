#include "tenon/models/llama.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/models/attention.h"
#include "tenon/nn/layers.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/operators.h"

namespace tenon::models {

namespace {

struct LlamaConfig {
    int64_t vocabulary, width, ffn, layers, heads, kv_heads, head_dim, max_positions;
    double norm_eps, rope_theta, deviation, attention_dropout;
    bool tied, attention_bias, mlp_bias;

    CausalLMSizes sizes() const { return {vocabulary, width, layers, heads, kv_heads, head_dim, max_positions}; }
};

// cos and sin of the positions that a call covers, one row a position.
using RotaryTables = std::pair<Tensor, Tensor>;

class LlamaAttention : public nn::Module {
public:
    explicit LlamaAttention(const LlamaConfig& c)
        : config_(c),
          q_proj_(c.width, c.heads * c.head_dim, c.attention_bias, nn::normal(c.deviation)),
          k_proj_(c.width, c.kv_heads * c.head_dim, c.attention_bias, nn::normal(c.deviation)),
          v_proj_(c.width, c.kv_heads * c.head_dim, c.attention_bias, nn::normal(c.deviation)),
          o_proj_(c.heads * c.head_dim, c.width, c.attention_bias, nn::normal(c.deviation)) {
        add_module("q_proj", q_proj_);
        add_module("k_proj", k_proj_);
        add_module("v_proj", v_proj_);
        add_module("o_proj", o_proj_);
    }

    Tensor forward(const Tensor& x, const RotaryTables& rotary, KvCache* cache, int64_t layer) const {
        const ModulePath path(name());
        const Tensor q = split_heads(q_proj_.forward(x), config_.heads);
        const Tensor k = split_heads(k_proj_.forward(x), config_.kv_heads);
        const Tensor v = split_heads(v_proj_.forward(x), config_.kv_heads);
        const double dropout = training() ? config_.attention_dropout : 0;
        const Tensor mixed = attend(ops::rope(q, rotary.first, rotary.second),
                                    ops::rope(k, rotary.first, rotary.second), v, dropout, cache, layer);
        return o_proj_.forward(merge_heads(mixed));
    }

private:
    LlamaConfig config_;
    nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
};

class LlamaMlp : public nn::Module {
public:
    explicit LlamaMlp(const LlamaConfig& c)
        : gate_proj_(c.width, c.ffn, c.mlp_bias, nn::normal(c.deviation)),
          up_proj_(c.width, c.ffn, c.mlp_bias, nn::normal(c.deviation)),
          down_proj_(c.ffn, c.width, c.mlp_bias, nn::normal(c.deviation)) {
        add_module("gate_proj", gate_proj_);
        add_module("up_proj", up_proj_);
        add_module("down_proj", down_proj_);
    }

    Tensor forward(const Tensor& x) const {
        const ModulePath path(name());
        return down_proj_.forward(ops::silu(gate_proj_.forward(x)) * up_proj_.forward(x));
    }

private:
    nn::Linear gate_proj_, up_proj_, down_proj_;
};

class LlamaBlock : public nn::Module {
public:
    explicit LlamaBlock(const LlamaConfig& c)
        : self_attn_(c), mlp_(c), input_norm_(c.width, c.norm_eps), post_attention_norm_(c.width, c.norm_eps) {
        add_module("self_attn", self_attn_);
        add_module("mlp", mlp_);
        add_module("input_layernorm", input_norm_);
        add_module("post_attention_layernorm", post_attention_norm_);
    }

    Tensor forward(const Tensor& x, const RotaryTables& rotary, KvCache* cache, int64_t layer) const {
        const ModulePath path(name());
        const Tensor h = x + self_attn_.forward(input_norm_.forward(x), rotary, cache, layer);
        return h + mlp_.forward(post_attention_norm_.forward(h));
    }

private:
    LlamaAttention self_attn_;
    LlamaMlp mlp_;
    nn::RMSNorm input_norm_, post_attention_norm_;
};

class LlamaModel : public nn::Module {
public:
    explicit LlamaModel(const LlamaConfig& c)
        : config_(c), embed_tokens_(c.vocabulary, c.width, nn::normal(c.deviation)), norm_(c.width, c.norm_eps) {
        add_module("embed_tokens", embed_tokens_);
        for (int64_t i = 0; i < c.layers; ++i) {
            blocks_.push_back(std::make_unique<LlamaBlock>(c));
            add_module("layers." + std::to_string(i), *blocks_.back());
        }
        add_module("norm", norm_);
    }

    Tensor forward(const Tensor& tokens, KvCache* cache) const {
        const ModulePath path(name());
        const RotaryTables rotary = tables(cache == nullptr ? 0 : cache->length, tokens.size(1), tokens.device());
        Tensor h = embed_tokens_.forward(tokens);
        for (size_t i = 0; i < blocks_.size(); ++i) {
            h = blocks_[i]->forward(h, rotary, cache, static_cast<int64_t>(i));
        }
        return norm_.forward(h);
    }

    const Tensor& embedding() const { return embed_tokens_.weight; }

private:
    // Built on first use, on the model's device.
    RotaryTables tables(int64_t start, int64_t length, Device device) const {
        const ops::NoGrad guard;
        if (!rotary_.first.defined()) {
            std::tie(rotary_.first, rotary_.second) =
                ops::rope_tables(config_.max_positions, config_.head_dim, config_.rope_theta, device);
        }
        return {ops::narrow(rotary_.first, 0, start, length), ops::narrow(rotary_.second, 0, start, length)};
    }

    LlamaConfig config_;
    nn::Embedding embed_tokens_;
    std::vector<std::unique_ptr<LlamaBlock>> blocks_;
    nn::RMSNorm norm_;
    mutable RotaryTables rotary_;
};

class Llama : public CausalLM {
public:
    explicit Llama(const LlamaConfig& c) : config_(c), model_(c) {
        add_module("model", model_);
        if (!c.tied) {
            lm_head_ = std::make_unique<nn::Linear>(c.width, c.vocabulary, false, nn::normal(c.deviation));
            add_module("lm_head", *lm_head_);
        }
    }

    Tensor hidden(const Tensor& tokens, KvCache* cache) override {
        check_positions(*this, tokens, cache);
        Tensor states = model_.forward(tokens, cache);
        if (cache != nullptr) cache->length += tokens.size(1);
        return states;
    }
    const Tensor& head() const override { return lm_head_ ? lm_head_->weight : model_.embedding(); }
    CausalLMSizes sizes() const override { return config_.sizes(); }

private:
    LlamaConfig config_;
    LlamaModel model_;
    std::unique_ptr<nn::Linear> lm_head_;
};

std::vector<base::ConfigKey> llama_keys() {
    using Type = base::ConfigType;
    return {
        {.name = "model_type", .type = Type::string, .doc = "the architecture family", .required = true},
        {.name = "vocab_size", .fallback = 32000, .doc = "tokens in the vocabulary", .least = 1, .most = 1 << 24},
        {.name = "hidden_size", .fallback = 4096, .doc = "width of the residual stream", .least = 1, .most = 1 << 24},
        {.name = "intermediate_size",
         .fallback = 11008,
         .doc = "width of the feed-forward layer",
         .least = 1,
         .most = 1 << 24},
        {.name = "num_hidden_layers", .fallback = 32, .doc = "blocks", .least = 1, .most = 10000},
        {.name = "num_attention_heads", .fallback = 32, .doc = "query heads", .least = 1, .most = 1 << 24},
        {.name = "num_key_value_heads",
         .doc = "key and value heads; num_attention_heads by default",
         .least = 1,
         .most = 1 << 24},
        {.name = "head_dim",
         .doc = "width of a head; hidden_size / num_attention_heads by default",
         .least = 1,
         .most = 1 << 24},
        {.name = "hidden_act",
         .type = Type::string,
         .fallback = "silu",
         .doc = "the gate's activation",
         .choices = {"silu"}},
        {.name = "max_position_embeddings", .fallback = 2048, .doc = "longest context", .least = 1, .most = 1 << 24},
        {.name = "initializer_range",
         .type = Type::real,
         .fallback = 0.02,
         .doc = "standard deviation of initial weights",
         .least = 0},
        {.name = "rms_norm_eps", .type = Type::real, .fallback = 1e-6, .doc = "eps of the norms", .least = 0},
        {.name = "rope_theta", .type = Type::real, .fallback = 10000.0, .doc = "base of the rotary angles", .least = 1},
        {.name = "tie_word_embeddings", .type = Type::boolean, .fallback = false, .doc = "head = embedding"},
        {.name = "attention_bias", .type = Type::boolean, .fallback = false, .doc = "biases in q, k, v, o"},
        {.name = "mlp_bias", .type = Type::boolean, .fallback = false, .doc = "biases in the feed-forward layer"},
        {.name = "attention_dropout",
         .type = Type::real,
         .fallback = 0.0,
         .doc = "dropout on attention weights in training",
         .least = 0,
         .most = 0.999},
    };
}

void resolve_llama(base::ConfigSection& config) {
    const int64_t heads = config.integer("num_attention_heads");
    if (!config.has("num_key_value_heads")) config.decide("num_key_value_heads", heads, "num_attention_heads");
    if (heads % config.integer("num_key_value_heads") != 0) {
        config.fail("num_key_value_heads", "must divide num_attention_heads, which is " + std::to_string(heads));
    }
    if (!config.has("head_dim")) {
        if (config.integer("hidden_size") % heads != 0) {
            config.fail("num_attention_heads", "must divide hidden_size, which is " +
                                                   std::to_string(config.integer("hidden_size")) +
                                                   "; or give head_dim");
        }
        config.decide("head_dim", config.integer("hidden_size") / heads, "hidden_size / num_attention_heads");
    }
    if (config.integer("head_dim") % 2 != 0) {
        config.fail("head_dim",
                    "is " + std::to_string(config.integer("head_dim")) + "; rotary positions need an even one");
    }
}

LlamaConfig llama_config(const base::ConfigSection& c) {
    return {c.integer("vocab_size"),
            c.integer("hidden_size"),
            c.integer("intermediate_size"),
            c.integer("num_hidden_layers"),
            c.integer("num_attention_heads"),
            c.integer("num_key_value_heads"),
            c.integer("head_dim"),
            c.integer("max_position_embeddings"),
            c.real("rms_norm_eps"),
            c.real("rope_theta"),
            c.real("initializer_range"),
            c.real("attention_dropout"),
            c.boolean("tie_word_embeddings"),
            c.boolean("attention_bias"),
            c.boolean("mlp_bias")};
}

CausalLMSizes llama_sizes(const base::ConfigSection& c) {
    return llama_config(c).sizes();
}

// Transformers 5 reads the rotary base here, older ones under its own key.
base::Json hugging_face_llama(const base::ConfigSection& c) {
    return base::Json::object(
        {{"architectures", base::Json::array({"LlamaForCausalLM"})},
         {"rope_parameters", base::Json::object({{"rope_type", "default"}, {"rope_theta", c.real("rope_theta")}})}});
}

std::unique_ptr<CausalLM> make_llama(const base::ConfigSection& c) {
    return std::make_unique<Llama>(llama_config(c));
}

}  // namespace

Family llama_family() {
    return {"llama", llama_keys(), resolve_llama, llama_sizes, make_llama, hugging_face_llama};
}

}  // namespace tenon::models
