#include "tenon/io/checkpoint_writer.h"

#include <chrono>

#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/log.h"
#include "tenon/base/process.h"
#include "tenon/ops/functions.h"

namespace tenon::io {

namespace {

// The tensors' values in `copies`, whose memory is used again where it fits.
void copy_values(const NamedTensors& tensors, NamedTensors& copies) {
    const ops::NoGrad guard;
    copies.resize(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        const auto& [name, tensor] = tensors[i];
        auto& [copy_name, copy] = copies[i];
        copy_name = name;
        if (!copy.defined() || copy.shape() != tensor.shape() || copy.dtype() != tensor.dtype()) {
            copy = Tensor(tensor.shape(), tensor.dtype(), Device::cpu);
        }
        ops::assign(copy, tensor);
    }
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string folder, int64_t keep) : folder_(std::move(folder)), keep_(keep) {}

CheckpointWriter::~CheckpointWriter() {
    try {
        wait();
    } catch (const std::exception& error) {
        base::log_error(error.what());
    }
}

void CheckpointWriter::reserve(const CheckpointContent& content) {
    copy_values(content.model, model_);
    copy_values(content.optimizer, optimizer_);
}

void CheckpointWriter::begin(CheckpointContent content, std::vector<std::string> logs) {
    if (writing_.valid()) throw Error(Code::usage, "checkpoint", "another checkpoint is still being written");
    reserve(content);
    content.model = model_;
    content.optimizer = optimizer_;
    writing_ = std::async(std::launch::async, [this, content = std::move(content), logs = std::move(logs)] {
        return write(content, logs);
    });
}

std::optional<WrittenCheckpoint> CheckpointWriter::poll() {
    if (!writing_.valid() || writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        return std::nullopt;
    }
    return writing_.get();
}

std::optional<WrittenCheckpoint> CheckpointWriter::wait() {
    if (!writing_.valid()) return std::nullopt;
    return writing_.get();
}

WrittenCheckpoint CheckpointWriter::write(const CheckpointContent& content,
                                          const std::vector<std::string>& logs) const {
    const auto start = base::Clock::now();
    // What resuming cuts the logs back to must outlive the machine before the checkpoint counts; so must their names.
    for (const std::string& log : logs) {
        base::sync_file(log);
        base::sync_directory(base::parent_path(log));
    }
    WrittenCheckpoint written{content.step, write_checkpoint(folder_, content), 0};
    prune_checkpoints(folder_, keep_);
    written.seconds = base::seconds_since(start);
    return written;
}

}  // namespace tenon::io
