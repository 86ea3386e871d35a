# How every folder becomes one target.

add_library(tenon_options INTERFACE)
target_include_directories(tenon_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_compile_options(tenon_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # NUMERICS: contraction is off (GCC fuses even intrinsics without this), sqrt is an instruction.
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

# tenon_layer(<folder> LINKS <folders above> LIBRARIES <private external libraries>)
# Sources are the folder's *.cpp. The target is tenon_<folder>, alias tenon::<folder>.
function(tenon_layer folder)
  cmake_parse_arguments(ARG "" "" "LINKS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(tenon_${folder} STATIC ${sources})
  add_library(tenon::${folder} ALIAS tenon_${folder})
  target_link_libraries(tenon_${folder} PUBLIC tenon_options PRIVATE ${ARG_LIBRARIES})
  foreach(link ${ARG_LINKS})
    target_link_libraries(tenon_${folder} PUBLIC tenon_${link})
  endforeach()
endfunction()

# tenon_tests(<folder> LINKS <layers> LIBRARIES <external>): one GoogleTest binary from tests/<folder>/*_test.cpp.
function(tenon_tests folder)
  cmake_parse_arguments(ARG "" "" "LINKS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${folder}_test ${sources})
  target_link_libraries(${folder}_test PRIVATE tenon_options GTest::gtest GTest::gtest_main ${ARG_LIBRARIES})
  foreach(link ${ARG_LINKS})
    target_link_libraries(${folder}_test PRIVATE tenon_${link})
  endforeach()
  target_compile_definitions(${folder}_test PRIVATE TENON_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")
  add_test(NAME ${folder} COMMAND ${folder}_test WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()
