# Faulty variants of the test programs (docs/faults.md). A file with TENON_FAULT( in it is compiled once more, with
# TENON_FAULTS defined; a variant is an ordinary test's own objects and archives with the faulty objects before the
# archives, so that the linker never reaches for the members that they replace. Nothing else is built again.

set(TENON_FAULT_LIST ${PROJECT_SOURCE_DIR}/tenon/base/fault_list.h)
# A new fault stands on the list: that is when to look for files anew.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TENON_FAULT_LIST})
# Sources of one instruction set are rebuilt for this one, and the variants run on it.
set(TENON_FAULT_SET avx2)

# tenon_files_with_faults(<variable> <folder>): its sources with fault points.
function(tenon_files_with_faults variable folder)
  file(GLOB sources ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  set(found)
  foreach(source ${sources})
    file(STRINGS ${source} lines REGEX "TENON_FAULT[(]" LIMIT_COUNT 1)
    if(lines)
      list(APPEND found ${source})
    endif()
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# tenon_fault_objects(<layer>): the object libraries <layer>_faults and, for kernels, <layer>_faults_set.
function(tenon_fault_objects layer)
  tenon_files_with_faults(sources tenon/${layer})
  if(sources)
    add_library(tenon_${layer}_faults OBJECT ${sources})
    target_link_libraries(tenon_${layer}_faults PRIVATE tenon_${layer})
    target_compile_definitions(tenon_${layer}_faults PRIVATE TENON_FAULTS)
    # clang-tidy reads each file once.
    set_target_properties(tenon_${layer}_faults PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
    set_property(GLOBAL APPEND PROPERTY TENON_FAULT_OBJECTS_${layer} $<TARGET_OBJECTS:tenon_${layer}_faults>)
  endif()
  tenon_files_with_faults(sources tenon/${layer}/sets)
  if(sources)
    get_property(flags GLOBAL PROPERTY TENON_CPU_FLAGS_${TENON_FAULT_SET})
    add_library(tenon_${layer}_faults_set OBJECT ${sources})
    target_link_libraries(tenon_${layer}_faults_set PRIVATE tenon_options)
    add_dependencies(tenon_${layer}_faults_set tenon_cpu_functions)
    target_compile_definitions(tenon_${layer}_faults_set PRIVATE
      TENON_FAULTS TENON_CPU_SET=${TENON_FAULT_SET} TENON_CPU_SET_${TENON_FAULT_SET}=1)
    target_compile_options(tenon_${layer}_faults_set PRIVATE ${flags} -O3 -fno-lto -fno-exceptions)
    set_property(GLOBAL APPEND PROPERTY TENON_FAULT_OBJECTS_${layer} $<TARGET_OBJECTS:tenon_${layer}_faults_set>)
  endif()
endfunction()

# tenon_layers_of(<variable> <target>): the layers that the target links, directly or not.
function(tenon_layers_of variable target)
  get_target_property(todo ${target} LINK_LIBRARIES)
  set(layers)
  while(todo)
    list(POP_FRONT todo library)
    string(REGEX MATCH "^tenon_([a-z]+)$" matched "${library}")
    if(matched AND NOT library STREQUAL tenon_options AND NOT CMAKE_MATCH_1 IN_LIST layers)
      list(APPEND layers ${CMAKE_MATCH_1})
      get_target_property(links ${library} LINK_LIBRARIES)
      if(links)
        list(APPEND todo ${links})
      endif()
    endif()
  endwhile()
  set(${variable} ${layers} PARENT_SCOPE)
endfunction()

# tenon_fault_program(<name> <target>): the target with faults, as faults/<name>.
function(tenon_fault_program name target)
  tenon_layers_of(layers ${target})
  set(objects $<TARGET_OBJECTS:${target}>)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "TARGET_OBJECTS")
  list(APPEND objects ${sources})
  foreach(layer ${layers})
    get_property(faults GLOBAL PROPERTY TENON_FAULT_OBJECTS_${layer})
    list(APPEND objects ${faults})
  endforeach()
  add_executable(${name}_with_faults ${PROJECT_SOURCE_DIR}/tests/faults/switch.cpp ${objects})
  target_compile_definitions(${name}_with_faults PRIVATE TENON_FAULTS)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  target_link_libraries(${name}_with_faults PRIVATE ${libraries})
  set_target_properties(${name}_with_faults PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/faults OUTPUT_NAME ${name})
endfunction()
