// Which planted fault is on: the environment variable TENON_FAULT, read once. Linked into the faulty programs only.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/base/fault.h"

namespace {

struct Fault {
    const char *name, *rule;
};

#define TENON_FAULT_ROW(name, rule, binary, tests) {#name, rule},
const Fault faults[] = {TENON_FAULT_LIST(TENON_FAULT_ROW)};
#undef TENON_FAULT_ROW

int fault_asked_for() {
    const char* name = std::getenv("TENON_FAULT");
    if (name == nullptr || *name == '\0') return -1;
    int number = 0;
    for (const Fault& fault : faults) {
        if (std::strcmp(fault.name, name) == 0) return number;
        ++number;
    }
    std::fprintf(stderr, "[fault] TENON_FAULT is \"%s\"; it takes one of\n", name);
    for (const Fault& fault : faults) std::fprintf(stderr, "  %-28s %s.\n", fault.name, fault.rule);
    std::exit(2);
}

}  // namespace

extern "C" bool tenon_fault_on(int fault) {
    static const int on = fault_asked_for();
    return fault == on;
}
