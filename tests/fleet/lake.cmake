# SPDX-License-Identifier: MIT
#
# What is tested on synthetic logs: history, compaction, metrics (label fleet-history), broken servers, links and disks
# (fleet-faults).
add_executable(fleet_synthetic synthetic.cpp)
target_link_libraries(fleet_synthetic PRIVATE rochound_trace_writer rochound_base)
set(code "")
foreach(build IN ITEMS old same new steady)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/history_${build}.co")
  set(flags "")
  if(build STREQUAL "same")
    set(flags -DROUNDS_ARE_THE_SAME -cuid=another)
  elseif(build STREQUAL "new")
    set(flags -DSLOWER)
  elseif(build STREQUAL "steady")
    set(flags -g)
  endif()
  add_custom_command(OUTPUT "${output}"
    COMMAND ${ROCHOUND_HIPCC} --genco --no-gpu-bundle-output --offload-arch=${target_${gpu}} -O3 ${flags} "${CMAKE_CURRENT_SOURCE_DIR}/history.hip"
            -o "${output}"
    DEPENDS history.hip COMMENT "hipcc history.hip, ${build}" VERBATIM)
  list(APPEND code "${output}")
endforeach()
add_custom_target(fleet_code ALL DEPENDS ${code})

rochound_fleet_cases(history fleet fleet-history "${program}")
add_library(fleet_skew MODULE skew.c)
set_target_properties(fleet_skew PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
rochound_fleet_cases(faults fleet fleet-faults "${program}")
find_program(ROCHOUND_VICTORIA victoria-metrics)
find_program(ROCHOUND_SLURMCTLD slurmctld)
if(ROCHOUND_VICTORIA)
  rochound_fleet_cases(metrics fleet fleet-history "${program}")
else()
  rochound_skipped_test(fleet.metrics fleet-history "there is no victoria-metrics: ./dev root --fleet brings it")
endif()
if(ROCHOUND_SLURMCTLD)
  rochound_fleet_cases(slurm fleet fleet-slurm "${program}")
else()
  rochound_skipped_test(fleet.slurm fleet-slurm "there is no slurmctld: ./dev root --fleet brings it")
endif()
rochound_fleet_cases(package fleet fleet-history "${program}")
rochound_fleet_cases(scale fleet fleet-scale "${program}")
set_tests_properties(fleet.exact_64 PROPERTIES LABELS fleet-exact TIMEOUT 5400)
