// Prompt in, text out piece by piece.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/models/causal_lm.h"
#include "tenon/serve/sampling.h"
#include "tenon/text/tokenizer.h"

namespace tenon::serve {

class Generator {
public:
    Generator(std::unique_ptr<models::CausalLM> model, text::Tokenizer tokenizer);
    // The newest good checkpoint of a run.
    static Generator from_run(const std::string& run_path);

    // Continues the prompt by up to `tokens` tokens; `emit` gets each piece of text as it becomes whole characters and
    // returns false to stop. An empty prompt begins from a newline. Past the model's context the older half of it is
    // dropped and the rest is read anew.
    void generate(std::string_view prompt, int64_t tokens, const SamplingOptions& options,
                  const std::function<bool(std::string_view)>& emit);

    // Whether the text has outgrown the context.
    bool forgot() const { return forgot_; }

private:
    // The logits after the last of `tokens`, which follow what the cache holds.
    std::vector<float> next_logits(const std::vector<text::Token>& tokens, models::KvCache& cache);

    std::unique_ptr<models::CausalLM> model_;
    text::Tokenizer tokenizer_;
    bool forgot_ = false;
};

}  // namespace tenon::serve
