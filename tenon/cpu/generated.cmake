# What tenon-opgen prints from the scalar expressions, under ${PROJECT_BINARY_DIR}/generated.

set(generated ${PROJECT_BINARY_DIR}/generated/tenon/cpu)
file(MAKE_DIRECTORY ${generated}/sets)

# exp, log, … over the vector type, for every kernel that is compiled per instruction set.
add_custom_command(
  OUTPUT ${generated}/sets/functions.h
  COMMAND tenon-opgen-functions ${generated}/sets/functions.h
  DEPENDS tenon-opgen-functions
  COMMENT "Printing the elementary functions"
  VERBATIM)
add_custom_target(tenon_cpu_functions DEPENDS ${generated}/sets/functions.h)

# The kernel pack of the elementwise ops, from the op table's math.
set(pack_set ${generated}/sets/elementwise_pack.cpp)
set(pack ${generated}/elementwise_pack_f64.cpp ${generated}/elementwise_pack_i64.cpp)
add_custom_command(
  OUTPUT ${pack_set} ${pack}
  COMMAND tenon-opgen-kernels ${generated}
  DEPENDS tenon-opgen-kernels
  COMMENT "Printing the kernel pack"
  VERBATIM)
add_custom_target(tenon_cpu_pack DEPENDS ${pack_set} ${pack})
list(APPEND TENON_CPU_GENERATED_SET_SOURCES ${pack_set})
list(APPEND TENON_CPU_GENERATED_SOURCES ${pack})
