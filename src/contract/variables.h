// SPDX-License-Identifier: MIT
//
// Names of the environment variables by which a command talks to what it loads into a program: the
// agent and the software GPU. The command sets them, the library reads them. What each means is in
// cli/variables.cpp, of which docs/reference/environment.md is made.
#pragma once

namespace rochound::contract::variables {

// Recording.
inline constexpr char kLogDir[] = "ROCHOUND_LOG_DIR";
inline constexpr char kRecord[] = "ROCHOUND_RECORD";
inline constexpr char kStart[] = "ROCHOUND_START";
inline constexpr char kKeep[] = "ROCHOUND_KEEP";
inline constexpr char kDelay[] = "ROCHOUND_DELAY";
inline constexpr char kDuration[] = "ROCHOUND_DURATION";
inline constexpr char kRange[] = "ROCHOUND_RANGE";
inline constexpr char kOverride[] = "ROCHOUND_OVERRIDE";
inline constexpr char kHang[] = "ROCHOUND_HANG";
inline constexpr char kFaultBundle[] = "ROCHOUND_FAULT_BUNDLE";

// Swapping kernels.
inline constexpr char kSwapList[] = "ROCHOUND_SWAP_LIST";
inline constexpr char kSwapShared[] = "ROCHOUND_SWAP_SHARED";
inline constexpr char kSwapAb[] = "ROCHOUND_SWAP_AB";
inline constexpr char kSwapVerify[] = "ROCHOUND_SWAP_VERIFY";

// Capturing a launch.
inline constexpr char kCaptureDir[] = "ROCHOUND_CAPTURE_DIR";
inline constexpr char kCaptureKernel[] = "ROCHOUND_CAPTURE_KERNEL";
inline constexpr char kCaptureNth[] = "ROCHOUND_CAPTURE_NTH";
inline constexpr char kCaptureDispatch[] = "ROCHOUND_CAPTURE_DISPATCH";
inline constexpr char kCaptureShape[] = "ROCHOUND_CAPTURE_SHAPE";
inline constexpr char kCaptureMemory[] = "ROCHOUND_CAPTURE_MEMORY";

// Probes.
inline constexpr char kProbeDir[] = "ROCHOUND_PROBE_DIR";
inline constexpr char kProbeKernel[] = "ROCHOUND_PROBE_KERNEL";
inline constexpr char kProbeMode[] = "ROCHOUND_PROBE_MODE";
inline constexpr char kProbeLanes[] = "ROCHOUND_PROBE_LANES";
inline constexpr char kProbeSample[] = "ROCHOUND_PROBE_SAMPLE";
inline constexpr char kProbeBytes[] = "ROCHOUND_PROBE_BYTES";
inline constexpr char kProbeWrites[] = "ROCHOUND_PROBE_WRITES";
inline constexpr char kProbeGroupsX[] = "ROCHOUND_PROBE_GROUPS_X";
inline constexpr char kProbeGroupsY[] = "ROCHOUND_PROBE_GROUPS_Y";
inline constexpr char kProbeGroupsZ[] = "ROCHOUND_PROBE_GROUPS_Z";

// The software GPU.
inline constexpr char kSoftgpuRoot[] = "ROCHOUND_SOFTGPU_ROOT";
inline constexpr char kSoftgpuThreads[] = "ROCHOUND_SOFTGPU_THREADS";
inline constexpr char kSoftgpuFaults[] = "ROCHOUND_SOFTGPU_FAULTS";
inline constexpr char kSoftgpuFaultLog[] = "ROCHOUND_SOFTGPU_FAULT_LOG";
inline constexpr char kSoftgpuCounters[] = "ROCHOUND_SOFTGPU_COUNTERS";
inline constexpr char kSoftgpuCountersCode[] = "ROCHOUND_SOFTGPU_COUNTERS_CODE";
inline constexpr char kSoftgpuCaches[] = "ROCHOUND_SOFTGPU_CACHES";
inline constexpr char kSoftgpuAccesses[] = "ROCHOUND_SOFTGPU_ACCESSES";
inline constexpr char kSoftgpuAccessesKernel[] = "ROCHOUND_SOFTGPU_ACCESSES_KERNEL";
inline constexpr char kSoftgpuAccessesDispatches[] = "ROCHOUND_SOFTGPU_ACCESSES_DISPATCHES";

}  // namespace rochound::contract::variables
