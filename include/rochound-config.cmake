# SPDX-License-Identifier: MIT
#
# find_package(rochound) gives the target rochound::rochound: the headers, and dlopen, by which they find the recorder.
if(NOT TARGET rochound::rochound)
  get_filename_component(rochound_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(rochound::rochound INTERFACE IMPORTED)
  set_target_properties(rochound::rochound PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${rochound_prefix}/include" INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
  unset(rochound_prefix)
endif()
