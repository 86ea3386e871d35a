// The recipe behind `tenon train` and `tenon resume`: a causal language model on a text, from its tokenizer to its
// validation, in a run folder.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/train/config.h"
#include "tenon/train/resume.h"

namespace tenon::train {

struct PretrainResult {
    std::string run_path;
    int signal = 0;  // the one that stopped it; 0: it came to its end
    int64_t steps_done = 0;
    double first_loss = 0;
    double last_loss = 0;
    double validation_nats = 0;   // per token
    double validation_bits = 0;   // per byte
    bool has_validation = false;  // a text without a held-out part has none
    double tokens_per_second = 0;
    double share_of_peak = 0;
};

// Begins a run in a new folder.
PretrainResult pretrain(const RunConfig& config, const std::string& run_path);
// Goes on from the newest good checkpoint, or from the start where there is none. Refused where the numbers to come
// would not be those of the run as it was, unless options allow it.
PretrainResult resume_pretrain(const std::string& run_path, const ResumeOptions& options = {});

}  // namespace tenon::train
