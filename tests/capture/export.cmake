# SPDX-License-Identifier: MIT
#
# replay-export.NAME.GPU, label replay-export: a captured launch as a project of its own, built by hipcc and run.
file(STRINGS "${ROCHOUND_ROCM_INCLUDE}/hsa/hsa_ext_amd.h" virtual_memory REGEX "hsa_amd_vmem_address_reserve")
if(NOT virtual_memory)
  rochound_skipped_test(replay-export replay-export "this ROCm cannot put memory at chosen addresses (no hsa_amd_vmem_*)")
  return()
endif()

# export_case(PROGRAM LEVEL GPU KERNEL [CAPTURE options] [CMAKE])
function(export_case program level gpu kernel)
  cmake_parse_arguments(arg "CMAKE" "CAPTURE" "" ${ARGN})
  get_property(folder GLOBAL PROPERTY rochound_programs_folder)
  set(cmake "")
  if(arg_CMAKE)
    set(cmake --cmake ${CMAKE_COMMAND})
  endif()
  string(REPLACE "," "+" gpu_name "${gpu}")
  set(test replay-export.${program}.${gpu_name})
  add_test(NAME ${test} COMMAND ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/export.py"
    --rochound $<TARGET_FILE:rochound> --hipcc ${ROCHOUND_HIPCC} --gpu ${gpu} --kernel ${kernel}
    "--capture=${arg_CAPTURE}" ${cmake} -- "${folder}/${level}/${program}")
  set_tests_properties(${test} PROPERTIES LABELS replay-export TIMEOUT 600)
endfunction()

export_case(vector_add O3 mi300x VectorAdd CMAKE)
export_case(vector_add O3 rx6800xt VectorAdd)
export_case(dynamic_lds O3 mi300x ReverseInPool CAPTURE "--nth 4")
export_case(device_globals O3 mi300x Evaluate)
export_case(pointer_chase O3 mi300x Chase)
export_case(struct_of_pointers O3 mi300x ApplyViews)
export_case(managed_memory O3 mi300x Rotate)
export_case(host_register O3 mi300x Reverse)
export_case(virtual_memory O3 mi300x Ramp)
export_case(two_gpus O3 mi300x,mi300x Fill)
export_case(scratch_calls O0 mi300x Recursion)
export_case(large_kernarg O3 mi300x Pick)
export_case(graph_small O3 mi300x Accumulate)
export_case(cooperative_sync O3 mi300x Phases)
export_case(cooperative_sync O3 rx6800xt Phases)

# What is said about results, in one wording: replay, compare, profile --replay and an exported project.
add_test(NAME replay-export.proofs.mi300x COMMAND ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/proofs.py"
  --rochound $<TARGET_FILE:rochound> --hipcc ${ROCHOUND_HIPCC} --gpu mi300x --target gfx942)
set_tests_properties(replay-export.proofs.mi300x PROPERTIES LABELS replay-export TIMEOUT 600)
add_test(NAME replay-detects.other_inputs COMMAND ${Python3_EXECUTABLE} -B "${CMAKE_CURRENT_SOURCE_DIR}/other_inputs.py"
  --rochound $<TARGET_FILE:rochound> --hipcc ${ROCHOUND_HIPCC} --gpu mi300x --target gfx942)
set_tests_properties(replay-detects.other_inputs PROPERTIES LABELS replay-detects TIMEOUT 600)
