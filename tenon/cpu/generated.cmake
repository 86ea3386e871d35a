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
