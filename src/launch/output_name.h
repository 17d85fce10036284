// SPDX-License-Identifier: MIT
//
// Names of outputs that several processes are given alike, as srun and mpirun start them: each rank
// fills in what is its own. Any thread; reads the environment.
#pragma once

#include <string>

#include "base/result.h"

namespace rochound::launch {

// Where launchers say which rank a process is; the first that is set counts.
inline constexpr const char* kRankVariables[] = {"ROCHOUND_RANK", "RANK", "OMPI_COMM_WORLD_RANK",
                                                 "PMI_RANK", "SLURM_PROCID"};

// %r: the rank, %h: this host, %p: this process, %%: a percent sign. Anything else is as it was. An
// error if there is a %r and no rank.
base::Result<std::string> FillOutputName(const std::string& name);

}  // namespace rochound::launch
