// events.jsonl: metrics and events, one JSON object a line. An unfinished last line is ignored by readers.
#pragma once

#include <string>
#include <vector>

#include "tenon/base/files.h"
#include "tenon/base/json.h"

namespace tenon::run {

class EventLog {
public:
    // Opens or creates; with a length, cuts back to it first.
    explicit EventLog(const std::string& path, int64_t length = -1);
    void append(const base::Json& event);
    void sync() { file_.sync(); }
    int64_t size() const { return file_.size(); }

private:
    base::AppendFile file_;
};

std::vector<base::Json> read_events(const std::string& path);

}  // namespace tenon::run
