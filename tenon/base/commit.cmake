# Writes COMMIT_HEADER with the commit of SOURCE and the digest of the program's sources, only where they changed: a
# build after a commit or an edit says so without configuring again.
execute_process(COMMAND git -C ${SOURCE} rev-parse --verify --short=12 HEAD
  OUTPUT_VARIABLE commit RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed)
  set(commit "")
else()
  execute_process(COMMAND git -C ${SOURCE} diff --quiet HEAD RESULT_VARIABLE changed OUTPUT_QUIET ERROR_QUIET)
  if(changed)
    string(APPEND commit "+")
  endif()
endif()

# What the program is made of: names and contents, tracked or not, in an order that no machine changes.
set(names CMakeLists.txt)
foreach(folder tenon cli cmake tools/opgen)
  file(GLOB_RECURSE found RELATIVE ${SOURCE} ${SOURCE}/${folder}/*.h ${SOURCE}/${folder}/*.cpp ${SOURCE}/${folder}/*.cmake
       ${SOURCE}/${folder}/CMakeLists.txt)
  list(APPEND names ${found})
endforeach()
list(SORT names)
set(lines "")
foreach(name ${names})
  file(SHA256 ${SOURCE}/${name} digest)
  string(APPEND lines "${digest}  ${name}\n")
endforeach()
string(SHA256 sources "${lines}")

set(text "#define TENON_COMMIT \"${commit}\"\n#define TENON_SOURCES \"${sources}\"\n")
set(before "")
if(EXISTS ${COMMIT_HEADER})
  file(READ ${COMMIT_HEADER} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${COMMIT_HEADER} "${text}")
endif()
