#include "tenon/train/run_record.h"

#include "tenon/base/process.h"
#include "tenon/cpu/thread_pool.h"
#include "tenon/run/environment.h"

namespace tenon::train {

using base::Json;

RunRecord::RunRecord(const RunConfig& config, Json inputs) : config_(config), inputs_(std::move(inputs)) {}

void RunRecord::begin() {
    started_ = base::utc_now();
}

void RunRecord::go_on(const Json& record) {
    started_ = record.at("host").at("started").string();
    if (const Json* resumes = record.find("resumes")) resumes_ = *resumes;
}

void RunRecord::add_resume(int64_t step, const std::vector<std::string>& allowed,
                           const std::vector<std::string>& sets) {
    resumes_.push(Json::object({{"time", base::utc_now()},
                                {"step", step},
                                {"allowed", Json(allowed)},
                                {"sets", Json(sets)},
                                {"threads", cpu::threads()},
                                {"build", base::build().identity}}));
}

Json RunRecord::origin() const {
    return Json::object({{"inputs", inputs_}, {"config", config_.values_json()}});
}

void RunRecord::write(const run::RunFolder& folder, const std::string& state, int64_t step,
                      const std::string& failure) const {
    Json host = run::machine_json();
    host.set("environment", run::environment_json());
    host.set("run", folder.path());
    host.set("started", started_);
    if (state != "running") host.set("ended", base::utc_now());
    Json outcome = Json::object({{"state", state}, {"step", step}});
    if (!failure.empty()) outcome.set("failure", failure);
    folder.write_record(Json::object({{"format", 1},
                                      {"recipe", "pretrain"},
                                      {"config", config_.values_json()},
                                      {"origins", config_.origins_json()},
                                      {"inputs", inputs_},
                                      {"contract", Json::object({{"leaves", config_.batch.integer("leaves")},
                                                                 {"k_blocks", config_.numerics.integer("k_blocks")},
                                                                 {"tier", config_.numerics.string("tier")}})},
                                      {"build", run::build_json()},
                                      {"providers", run::providers_json()},
                                      {"resumes", resumes_},
                                      {"outcome", std::move(outcome)},
                                      {"host", std::move(host)}}));
}

}  // namespace tenon::train
