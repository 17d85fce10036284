// SPDX-License-Identifier: MIT
#include "report/software_gpu.h"

namespace rochound::report {

bool OnSoftwareGpu(store::TraceDatabase& trace) {
  auto rows = trace.connection().Query(
      "SELECT 1 FROM rochound_fact WHERE name = 'library' AND value LIKE '%/librochound_softgpu%' "
      "LIMIT 1");
  if (!rows.ok()) return false;
  const auto any = rows.value().Next();
  return any.ok() && any.value();
}

}  // namespace rochound::report
