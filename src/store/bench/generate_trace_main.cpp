// SPDX-License-Identifier: MIT
//
// rochound_generate_trace EVENTS FILE.rpd [KERNEL NAME]...: a trace for tests of what reads traces.
#include <cstdio>
#include <cstdlib>

#include "store/bench/generate_trace.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: rochound_generate_trace EVENTS FILE.rpd [KERNEL NAME]...\n");
    return 2;
  }
  rochound::store::GeneratorOptions options;
  options.events = strtoull(argv[1], nullptr, 10);
  options.extra_names.assign(argv + 3, argv + argc);
  const auto events = rochound::store::GenerateRpd(argv[2], options);
  if (!events.ok()) {
    fprintf(stderr, "%s\n", events.error().message.c_str());
    return 1;
  }
  printf("%llu events\n", static_cast<unsigned long long>(events.value()));
  return 0;
}
