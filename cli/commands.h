// The commands of the program, one function each to add them.
#pragma once

#include "tenon/base/args.h"

namespace tenon::cli {

void add_train(base::CommandLine& line);
void add_resume(base::CommandLine& line);
void add_generate(base::CommandLine& line);
void add_show(base::CommandLine& line);
void add_diff(base::CommandLine& line);
void add_runs(base::CommandLine& line);
void add_tokenizer(base::CommandLine& line);
void add_ckpt(base::CommandLine& line);
void add_doctor(base::CommandLine& line);

}  // namespace tenon::cli
