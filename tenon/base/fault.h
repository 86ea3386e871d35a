// TENON_FAULT(name): false, and nothing in the object file; in the faulty variants of the test programs
// (cmake/TenonFaults.cmake) true while the environment variable TENON_FAULT holds that name. See docs/faults.md.
//
//     if (TENON_FAULT(leaves_by_arrival)) leaf = arrived;
//
// For .cpp files of any folder, also those of one instruction set: it declares one C function and no code. In a header
// a fault would reach sources that are not built again.
#pragma once

#include "tenon/base/fault_list.h"

#define TENON_FAULT_NUMBER(name, rule, binary, tests) tenon_fault_##name,
enum TenonFault { TENON_FAULT_LIST(TENON_FAULT_NUMBER) };
#undef TENON_FAULT_NUMBER

#ifdef TENON_FAULTS
extern "C" bool tenon_fault_on(int fault);
#define TENON_FAULT(name) tenon_fault_on(tenon_fault_##name)
#else
// The name must be on the list in every build.
#define TENON_FAULT(name) ((void)tenon_fault_##name, false)
#endif
