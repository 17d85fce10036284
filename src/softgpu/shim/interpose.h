// SPDX-License-Identifier: MIT
//
// How an interposed function is written down. shim.map lists the same names once more: what is not
// in it is not exported.
#pragma once

#include <stdarg.h>

#define ROCHOUND_INTERPOSE extern "C" __attribute__((visibility("default")))

// Reads the optional last argument of a variadic function into `variable`.
#define ROCHOUND_LAST_ARGUMENT(variable, last_named, type) \
  do {                                                     \
    va_list arguments;                                     \
    va_start(arguments, last_named);                       \
    variable = va_arg(arguments, type);                    \
    va_end(arguments);                                     \
  } while (false)
