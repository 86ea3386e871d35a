// The families of the op table: register_<family>(Table&) of each tenon/ops/<family>.cpp, in the order of their names.
// The body is generated from the folder's text, so that a new family is a new file and nothing else.
#pragma once

namespace tenon::ops {

class Table;
void register_families(Table& table);

}  // namespace tenon::ops
