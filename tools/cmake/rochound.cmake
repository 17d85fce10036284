# SPDX-License-Identifier: MIT
#
# What every folder's CMakeLists.txt may call.
#
#   rochound_test(NAME SOURCES a.cpp... [LIBS lib...] LABELS label... [TIMEOUT seconds] [WHOLE] [OPTIMISED])
#       A GoogleTest binary bin/NAME. Its own sources are compiled with -O0, unless it is OPTIMISED: for tests that compute
#       much themselves. Each case is one ctest entry called NAME.Suite.Case; with WHOLE the
#       binary is one entry, which suits thousands of tiny cases (such a binary must not skip any).
#   rochound_skipped_test(NAME LABEL REASON)
#       A test that only says why it is none, and is counted as skipped.
#   rochound_test_older_releases(NAME...)
#       Gives these tests the label older-release, too: what .ci/run runs on ROCm 6 and 5, as far as they are defined
#       there. Call it in the folder that defines them. Their programs belong to the target older_release_programs.
#   rochound_hip_release(VARIABLE)
#       The major version of the HIP whose headers are installed.
#   rochound_compile_alone(FILE...)
#       Sources are compiled eight at a time (CMAKE_UNITY_BUILD), since that takes about half of the time. These are not:
#       they have local names that other files of their target have, too. Call it in the folder that has the target.
#   rochound_optimise_little(TARGET...)
#       Compiles these targets with -O1 where others have -O2: optimising takes 70% of the time of a compilation. For code
#       that reads a few files or prints an answer, not for code that goes through a trace or executes instructions.
#   rochound_libc_only(TARGET...)
#       What is loaded into other people's programs, or loads ROCm into its own: in a portable build (ROCHOUND_OLD_LIBC) it needs
#       no library but libc, with the C++ runtime inside.
#   rochound_fuzzer(NAME SOURCES a.cpp... [LIBS lib...] [PLAIN_SEEDS])
#       A libFuzzer binary bin/fuzz_NAME for `./dev fuzz`. In builds without ROCHOUND_FUZZ it has a main of our own, and
#       the test fuzz-seeds.NAME runs the seeds of corpus/NAME beside it, or inputs made by chance where there are none;
#       with sanitizers, too (label sanitized), unless they are PLAIN_SEEDS: where that is too much to compile.
#   rochound_bench(NAME SOURCES a.cpp... [LIBS lib...])
#       A binary bin/bench_NAME for `./dev bench NAME`; it must understand --json.

include(GoogleTest)

# What is enough to build for a run of the unit tests, or of the fuzzers.
add_custom_target(unit_tests)
add_custom_target(fuzzers)
# What .ci/run builds and runs with AddressSanitizer and UBSan, as docs/decisions/ci.md says: what is inside other people's
# programs, or reads bytes that others wrote. Unit tests with one of these labels get the label sanitized, too.
add_custom_target(sanitized_tests)
set(ROCHOUND_SANITIZED base trace store codeobj capture-bundle recorder-agent-unit recorder-calls probe-unit profile-unit
  replay-unit mcp-unit optimize-unit doctor-fault-unit fleet-unit)
# And with ThreadSanitizer: what the recorder's threads share. These get the label threaded.
add_custom_target(threaded_tests)
set(ROCHOUND_THREADED recorder-agent-unit recorder-calls)

function(rochound_test name)
  cmake_parse_arguments(arg "WHOLE;OPTIMISED" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT arg_SOURCES OR NOT arg_LABELS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rochound_test(${name}): needs SOURCES and LABELS, knows no '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest_main Threads::Threads)
  add_dependencies(unit_tests ${name})
  foreach(kind IN ITEMS sanitized threaded)
    string(TOUPPER ROCHOUND_${kind} chosen)
    foreach(label IN LISTS arg_LABELS)
      if(label IN_LIST ${chosen})
        add_dependencies(${kind}_tests ${name})
        list(APPEND arg_LABELS ${kind})
        break()
      endif()
    endforeach()
  endforeach()
  if(NOT arg_OPTIMISED)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES
      LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} FAIL_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  else()
    # A list inside gtest_discover_tests' PROPERTIES is split once more than elsewhere.
    string(REPLACE ";" "\\;" labels "${arg_LABELS}")
    gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()

function(rochound_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

function(rochound_optimise_little)
  if(NOT CMAKE_CXX_FLAGS_RELWITHDEBINFO MATCHES "-O2")
    return()
  endif()
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -O1)
  endforeach()
endfunction()

function(rochound_libc_only)
  if(ROCHOUND_OLD_LIBC)
    foreach(target IN LISTS ARGN)
      # LLVM names libraries that what we use of it does not need.
      target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections)
    endforeach()
  endif()
endfunction()

# Links everything after this call to the libc in ROCHOUND_OLD_LIBC, and to archives where libraries are not brought along.
# Compiling is as ever, so that the compiler cache serves both builds.
function(rochound_link_old_libc)
  set(folder "${ROCHOUND_OLD_LIBC}/usr/lib/x86_64-linux-gnu")
  # gcc looks into its own system before --sysroot. Libraries that we link to may want a newer libc.
  add_link_options(--sysroot=${ROCHOUND_OLD_LIBC} -B${folder}/ -L${folder} -Wl,--allow-shlib-undefined)
  # Objects, not a library: the C++ runtime, which wants them, is the last that the linker reads.
  set(source "${CMAKE_SOURCE_DIR}/src/portable/newer_libc.c")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  foreach(kind IN ITEMS hidden exported)
    set(${kind} "${CMAKE_BINARY_DIR}/newer_libc.${kind}.o")
    set(definition "")
    if(kind STREQUAL "exported")
      set(definition -DROCHOUND_EXPORTED)
    endif()
    execute_process(COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -Wall -Wextra ${definition} -c "${source}" -o "${${kind}}"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  add_link_options("$<IF:$<BOOL:$<TARGET_PROPERTY:ROCHOUND_EXPORTS_NEWER_LIBC>>,${exported},${hidden}>")
  # As libraries of their own until glibc 2.34.
  link_libraries(-lpthread -ldl -lrt -lm)
  set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION_NONE "${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/librochound_fmt.a")
  add_dependencies(fmt::fmt rochound_fmt)
  find_package(ZLIB REQUIRED)
  foreach(pair IN ITEMS ZLIB::ZLIB=z zstd::libzstd_shared=zstd)  # of LLVM and of the report
    string(REPLACE "=" ";" pair ${pair})
    list(GET pair 0 target)
    list(GET pair 1 name)
    if(TARGET ${target})
      find_library(ROCHOUND_ARCHIVE_${name} lib${name}.a REQUIRED)
      get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${ROCHOUND_ARCHIVE_${name}}")
      foreach(configuration IN LISTS configurations)
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} "${ROCHOUND_ARCHIVE_${name}}")
      endforeach()
    endif()
  endforeach()
endfunction()

function(rochound_test_older_releases)
  foreach(name IN LISTS ARGN)
    if(TEST ${name})
      set_property(TEST ${name} APPEND PROPERTY LABELS older-release)
    endif()
  endforeach()
endfunction()

# The parts of an installed rochound as targets, for tests that run them: what .ci/run does on older releases of ROCm with the
# build for other distributions. Tests that link to our libraries cannot be built then.
function(rochound_use_product folder)
  if(NOT EXISTS "${folder}/bin/rochound")
    message(FATAL_ERROR "ROCHOUND_PRODUCT: there is no ${folder}/bin/rochound")
  endif()
  add_executable(rochound IMPORTED GLOBAL)
  set_target_properties(rochound PROPERTIES IMPORTED_LOCATION "${folder}/bin/rochound")
  foreach(name IN ITEMS rochound_agent rochound_softgpu rochound_softgpu_core)
    add_library(${name} SHARED IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${folder}/lib/lib${name}.so")
  endforeach()
endfunction()

function(rochound_skipped_test name label reason)
  add_test(NAME ${name} COMMAND sh -c "echo \"SKIP $0\"; exit 77" "${name}: ${reason}")
  set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77)
endfunction()

function(rochound_hip_release variable)
  file(STRINGS "${ROCHOUND_ROCM_INCLUDE}/hip/hip_version.h" release REGEX "#define HIP_VERSION_MAJOR +[0-9]+")
  string(REGEX REPLACE ".* " "" release "${release}")
  set(${variable} ${release} PARENT_SCOPE)
endfunction()

function(rochound_fuzzer name)
  cmake_parse_arguments(arg "PLAIN_SEEDS" "" "SOURCES;LIBS" ${ARGN})
  add_executable(fuzz_${name} ${arg_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE ${arg_LIBS} Threads::Threads)
  add_dependencies(fuzzers fuzz_${name})
  if(ROCHOUND_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_compile_options(fuzz_${name} PRIVATE -O0)
  target_link_libraries(fuzz_${name} PRIVATE rochound_run_seeds)
  set(seeds "${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name}")
  if(NOT IS_DIRECTORY "${seeds}")
    set(seeds "")
  endif()
  add_test(NAME fuzz-seeds.${name} COMMAND fuzz_${name} ${seeds})
  set(labels fuzz-seeds)
  if(NOT arg_PLAIN_SEEDS)
    add_dependencies(sanitized_tests fuzz_${name})
    list(APPEND labels sanitized)
  endif()
  set_tests_properties(fuzz-seeds.${name} PROPERTIES LABELS "${labels}" TIMEOUT 120)
endfunction()

function(rochound_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(bench_${name} ${arg_SOURCES})
  target_link_libraries(bench_${name} PRIVATE ${arg_LIBS} Threads::Threads)
endfunction()

# Compiles everything with the sanitizers named, and sets ROCHOUND_SANITIZER_RUNTIME to the runtime library
# that has to be first in LD_PRELOAD when an instrumented library is preloaded into a plain program.
function(rochound_sanitize sanitizers)
  if(ROCHOUND_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      message(FATAL_ERROR "ROCHOUND_FUZZ needs clang: configure with -DCMAKE_CXX_COMPILER=clang++")
    endif()
    # As CI runs the seeds. Without what looks at types of other people's libraries.
    add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr,function -fno-sanitize-recover=all
      -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
    return()
  endif()
  if(NOT sanitizers)
    return()
  endif()
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
  if(sanitizers MATCHES "thread")
    set(runtime libtsan.so)
  else()
    set(runtime libasan.so)
  endif()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${runtime}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  get_filename_component(path "${path}" REALPATH)
  set(ROCHOUND_SANITIZER_RUNTIME "${path}" PARENT_SCOPE)
endfunction()

# Target rochound::llvm: include folder and the shared libLLVM, the very one that the compiler support library of
# the same ROCm uses, so that a process holds one LLVM; in a portable build, archives. Target rochound::llvm_of_compiler: for
# plugins of a compiler, which has LLVM.
function(rochound_find_llvm)
  # LLVM's own configuration reports optional libraries that it does not find and we do not need.
  set(CMAKE_MESSAGE_LOG_LEVEL NOTICE)
  if(ROCHOUND_LLVM_DIR)
    find_package(LLVM REQUIRED CONFIG PATHS "${ROCHOUND_LLVM_DIR}" NO_DEFAULT_PATH)
  else()
    # By folder, newest first: LLVM's own version check wants the minor number too, which differs by release.
    foreach(version RANGE 22 15 -1)
      if(NOT LLVM_FOUND)
        find_package(LLVM QUIET CONFIG PATHS "/usr/lib/llvm-${version}" NO_DEFAULT_PATH)
      endif()
    endforeach()
    if(NOT LLVM_FOUND)
      find_package(LLVM QUIET CONFIG)
    endif()
  endif()
  if(NOT LLVM_FOUND OR LLVM_VERSION_MAJOR LESS 15 OR LLVM_VERSION_MAJOR GREATER 22)
    message(FATAL_ERROR "No LLVM 15 to 22 found: install llvm-NN-dev or set ROCHOUND_LLVM_DIR")
  endif()
  unset(CMAKE_MESSAGE_LOG_LEVEL)
  message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
  separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  add_library(rochound_llvm_headers INTERFACE)
  target_include_directories(rochound_llvm_headers SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(rochound_llvm_headers INTERFACE ${definitions})
  add_library(rochound_llvm_of_compiler INTERFACE)
  target_link_libraries(rochound_llvm_of_compiler INTERFACE rochound_llvm_headers)
  if(TARGET LLVM)
    target_link_libraries(rochound_llvm_of_compiler INTERFACE LLVM)
  endif()
  add_library(rochound_llvm INTERFACE)
  target_link_libraries(rochound_llvm INTERFACE rochound_llvm_headers)
  if(TARGET LLVM AND NOT ROCHOUND_OLD_LIBC)
    target_link_libraries(rochound_llvm INTERFACE LLVM)
  else()
    llvm_map_components_to_libnames(libs AMDGPUDisassembler AMDGPUDesc AMDGPUInfo mc mcdisassembler support targetparser)
    target_link_libraries(rochound_llvm INTERFACE ${libs})
  endif()
  add_library(rochound::llvm ALIAS rochound_llvm)
  add_library(rochound::llvm_of_compiler ALIAS rochound_llvm_of_compiler)
  set(ROCHOUND_LLVM_VERSION_MAJOR ${LLVM_VERSION_MAJOR} PARENT_SCOPE)
endfunction()

# Target rochound::rocm_headers: <hsa/hsa.h> and <hip/hip_runtime.h>, no library. The include folder is needed
# only where ROCm is not under /usr.
function(rochound_find_rocm_headers)
  find_path(ROCHOUND_ROCM_INCLUDE hsa/hsa.h HINTS /opt/rocm/include)
  if(NOT ROCHOUND_ROCM_INCLUDE)
    message(FATAL_ERROR "No hsa/hsa.h found: install libhsa-runtime-dev or ROCm, or use ./dev root")
  endif()
  add_library(rochound_rocm_headers INTERFACE)
  if(NOT ROCHOUND_ROCM_INCLUDE STREQUAL "/usr/include")
    target_include_directories(rochound_rocm_headers SYSTEM INTERFACE "${ROCHOUND_ROCM_INCLUDE}")
  endif()
  add_library(rochound::rocm_headers ALIAS rochound_rocm_headers)
endfunction()
