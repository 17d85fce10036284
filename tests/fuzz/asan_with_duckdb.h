// SPDX-License-Identifier: MIT
//
// AddressSanitizer's settings for a fuzzer that uses DuckDB. Included by its one source file.
#pragma once

// DuckDB keeps what it once loaded, which is no finding of ours, and allocates so much that
// remembering where makes everything four times slower.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:malloc_context_size=0:max_malloc_fill_size=0:quarantine_size_mb=8";
}
