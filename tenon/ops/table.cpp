#include "tenon/ops/table.h"

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/ops/families.h"

namespace tenon::ops {

Op& Table::op(std::string_view schema) {
    Op& entry = ops_.emplace_back(schema);
    if (!by_name_.emplace(entry.name(), &entry).second) {
        throw Error(Code::failed, entry.name(), "is in the op table twice");
    }
    return entry;
}

const Op& Table::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return *found->second;
    std::vector<std::string> names;
    names.reserve(by_name_.size());
    for (const Op& entry : ops_) names.emplace_back(entry.name());
    throw Error(Code::usage, "ops", "no op is named \"" + std::string(name) + "\"" + base::nearest_hint(name, names));
}

Table& table() {
    // Never destroyed: tensors of static lifetime may hold nodes that point into it.
    static Table* const the_table = [] {
        auto* made = new Table;
        register_families(*made);
        // The build prints kernels from this table (tools/opgen), so an entry that is not whole does not build.
        for (const Op& entry : made->all()) entry.check_complete();
        return made;
    }();
    return *the_table;
}

}  // namespace tenon::ops
