#include "tenon/run/event_log.h"

#include "tenon/base/fault.h"

namespace tenon::run {

EventLog::EventLog(const std::string& path, int64_t length) : file_(path) {
    if (length >= 0 && !TENON_FAULT(events_not_cut)) file_.truncate(length);
}

void EventLog::append(const base::Json& event) {
    file_.append(event.dump() + "\n");
    file_.flush();
}

std::vector<base::Json> read_events(const std::string& path) {
    const std::string text = base::read_file(path);
    std::vector<base::Json> events;
    int64_t line = 1;
    for (size_t at = 0; at < text.size(); ++line) {
        const size_t end = text.find('\n', at);
        if (end == std::string::npos) break;
        events.push_back(
            base::parse_json(std::string_view(text).substr(at, end - at), path + ":" + std::to_string(line)));
        at = end + 1;
    }
    return events;
}

}  // namespace tenon::run
