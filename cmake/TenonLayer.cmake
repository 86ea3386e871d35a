# How every folder becomes one target.

add_library(tenon_options INTERFACE)
target_include_directories(tenon_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_compile_options(tenon_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # GCC 12 warns falsely of every "text" + std::string (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # docs/numerics.md, Orders: contraction is off (GCC fuses even intrinsics without this), sqrt is an instruction.
  -ffp-contract=off -fno-math-errno
  # Two builds in different folders give the same bytes.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
if(TENON_WERROR)
  target_compile_options(tenon_options INTERFACE -Werror)
endif()
if(TENON_SANITIZE)
  string(REPLACE ";" "," sanitizers "${TENON_SANITIZE}")
  target_compile_options(tenon_options INTERFACE -fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tenon_options INTERFACE -fsanitize=${sanitizers})
endif()

# The layer table: what each folder may include (checked before it compiles) and link (checked here).
set(TENON_LAYER_TABLE ${PROJECT_SOURCE_DIR}/docs/layers.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TENON_LAYER_TABLE})
file(STRINGS ${TENON_LAYER_TABLE} tenon_layer_rows REGEX "^[|] `")
list(TRANSFORM tenon_layer_rows REPLACE "^[|] `([^`]*)`.*" "\\1" OUTPUT_VARIABLE TENON_LAYER_ORDER)
add_executable(check_layers ${PROJECT_SOURCE_DIR}/tools/check_layers.cpp)

# tenon_check_layer(<target> <folder>): the target waits for the stamp that says its folder keeps the table.
function(tenon_check_layer target folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.h ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  string(REPLACE "/" "_" name ${folder})
  set(stamp ${PROJECT_BINARY_DIR}/layers/${name}.stamp)
  add_custom_command(OUTPUT ${stamp}
    COMMAND check_layers ${PROJECT_SOURCE_DIR} ${folder}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/layers
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS check_layers ${TENON_LAYER_TABLE} ${files}
    COMMENT "Layers: ${folder}" VERBATIM)
  add_custom_target(layers_${name} DEPENDS ${stamp})
  add_dependencies(${target} layers_${name})
endfunction()

# tenon_layer(<folder> LINKS <folders above> LIBRARIES <private external libraries>)
# Sources are the folder's *.cpp. The target is tenon_<folder>, alias tenon::<folder>.
function(tenon_layer folder)
  cmake_parse_arguments(ARG "" "" "LINKS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(tenon_${folder} STATIC ${sources})
  add_library(tenon::${folder} ALIAS tenon_${folder})
  target_link_libraries(tenon_${folder} PUBLIC tenon_options PRIVATE ${ARG_LIBRARIES})
  foreach(link ${ARG_LINKS})
    list(FIND TENON_LAYER_ORDER tenon/${link} above)
    list(FIND TENON_LAYER_ORDER tenon/${folder} own)
    if(above LESS 0 OR NOT above LESS own)
      message(FATAL_ERROR "tenon/${folder} may not link tenon/${link}: docs/layers.md has it below, or not at all")
    endif()
    target_link_libraries(tenon_${folder} PUBLIC tenon_${link})
  endforeach()
  tenon_check_layer(tenon_${folder} tenon/${folder})
  set_property(GLOBAL APPEND PROPERTY TENON_LIBRARIES tenon_${folder})
endfunction()

# A test has no time limit; ctest's own is a day here, in seconds.
set(TENON_LONG 86400)

# tenon_tests(<folder> LINKS <layers> LIBRARIES <external>): one GoogleTest binary from tests/<folder>/*_test.cpp, and
# one more, labelled `long` and left to `make test-long`, from *_long_test.cpp.
function(tenon_tests folder)
  cmake_parse_arguments(ARG "" "" "LINKS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cpp)
  set(long_sources ${sources})
  list(FILTER long_sources INCLUDE REGEX "_long_test[.]cpp$")
  list(FILTER sources EXCLUDE REGEX "_long_test[.]cpp$")
  tenon_test_binary(${folder} "${sources}" "${ARG_LINKS}" "${ARG_LIBRARIES}")
  tenon_test_binary(${folder}_long "${long_sources}" "${ARG_LINKS}" "${ARG_LIBRARIES}")
  if(long_sources)
    set_tests_properties(${folder}_long PROPERTIES LABELS long TIMEOUT ${TENON_LONG})
  endif()
endfunction()

function(tenon_test_binary name sources layers libraries)
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE tenon_options GTest::gtest GTest::gtest_main ${libraries})
  foreach(layer ${layers})
    target_link_libraries(${name}_test PRIVATE tenon_${layer})
  endforeach()
  target_compile_definitions(${name}_test PRIVATE TENON_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")
  add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  # The results feed tools/check_skips.py.
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/test-results/")
  set_property(GLOBAL APPEND PROPERTY TENON_TESTS_ADDED ${name})
endfunction()
