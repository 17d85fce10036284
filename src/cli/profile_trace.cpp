// SPDX-License-Identifier: MIT
#include "cli/profile_trace.h"

#include "analysis/dag.h"
#include "base/pattern.h"
#include "profile/dag_file.h"
#include "store/open/trace_database.h"

namespace rochound::cli {

base::Result<ProfileDag> MakeProfileDag(const std::filesystem::path& trace,
                                        const std::string& kernel) {
  store::OpenOptions options;
  options.load = true;
  options.views = false;
  ROCHOUND_TRY(store::TraceDatabase opened, store::TraceDatabase::Open({trace}, options));
  ROCHOUND_TRY(analysis::Dag dag, analysis::MakeDag(opened));
  ProfileDag made;
  for (const analysis::DagKernel& one : dag.kernels) {
    made.worths[one.name] = {profile::CriticalPathScore(dag, one),
                             static_cast<double>(one.total_ns) / 1e6};
  }
  const auto pattern = base::Pattern::Compile(kernel);
  if (!kernel.empty() && pattern.ok()) {
    std::erase_if(dag.kernels, [&](const analysis::DagKernel& one) {
      return !pattern.value().FoundIn(one.name);
    });
  }
  made.json = profile::DagJson(dag);
  made.page = profile::DagPage(dag);
  return made;
}

}  // namespace rochound::cli
