// SPDX-License-Identifier: MIT
#include "cli/profile_trace.h"

namespace rochound::cli {

base::Result<ProfileDag> MakeProfileDag(const std::filesystem::path& /*trace*/,
                                        const std::string& /*kernel*/) {
  return base::Error{"dag.json is not made: this rochound was built without DuckDB"};
}

}  // namespace rochound::cli
