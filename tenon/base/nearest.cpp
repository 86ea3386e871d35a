#include "tenon/base/nearest.h"

#include <algorithm>

namespace tenon::base {

int64_t edit_distance(std::string_view a, std::string_view b) {
    const size_t rows = a.size() + 1, columns = b.size() + 1;
    std::vector<int64_t> before(columns), last(columns), row(columns);
    for (size_t j = 0; j < columns; ++j) last[j] = static_cast<int64_t>(j);
    for (size_t i = 1; i < rows; ++i) {
        row[0] = static_cast<int64_t>(i);
        for (size_t j = 1; j < columns; ++j) {
            const int64_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[columns - 1];
}

std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
    if (word.size() > 256) return "";  // nobody typed that; the table of distances is quadratic
    std::string_view best;
    int64_t least = -1;
    for (std::string_view candidate : candidates) {
        if (candidate.size() > 256) continue;
        const int64_t allowed = std::max<int64_t>(1, static_cast<int64_t>(std::max(word.size(), candidate.size())) / 3);
        const int64_t distance = edit_distance(word, candidate);
        if (distance <= allowed && (least < 0 || distance < least)) {
            least = distance;
            best = candidate;
        }
    }
    return std::string(best);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
    return nearest(word, std::vector<std::string_view>(candidates.begin(), candidates.end()));
}

std::string nearest_hint(std::string_view word, const std::vector<std::string_view>& candidates) {
    const std::string best = nearest(word, candidates);
    if (!best.empty()) return "; nearest is \"" + best + "\"";
    if (candidates.empty()) return "";
    std::string text = "; known are ";
    constexpr size_t most = 12;
    for (size_t i = 0; i < candidates.size() && i < most; ++i) {
        text += (i > 0 ? ", \"" : "\"") + std::string(candidates[i]) + "\"";
    }
    if (candidates.size() > most) text += ", …";
    return text;
}

std::string nearest_hint(std::string_view word, const std::vector<std::string>& candidates) {
    return nearest_hint(word, std::vector<std::string_view>(candidates.begin(), candidates.end()));
}

}  // namespace tenon::base
