// SPDX-License-Identifier: MIT
#include "profile/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace rochound::profile {
namespace {

constexpr std::string_view kFloats[] = {"f64", "f32", "xf32", "f16",   "bf16",
                                        "fp8", "fp6", "fp4",  "f8f6f4"};

std::optional<double> ValueOf(const Launch& launch, std::string_view name) {
  const auto found = launch.exact.find(name);
  if (found == launch.exact.end()) return std::nullopt;
  return found->second;
}

// operations.UNIT.TYPE.arithmetic -> "UNIT.TYPE"; "" for everything else.
std::string_view TypeOfArithmetic(std::string_view name) {
  constexpr std::string_view kStart = "operations.";
  constexpr std::string_view kEnd = ".arithmetic";
  if (!name.starts_with(kStart) || !name.ends_with(kEnd)) return {};
  return name.substr(kStart.size(), name.size() - kStart.size() - kEnd.size());
}

// Floating point, and the integers of matrix instructions and dot products. Other integers are
// addresses and loop counters more often than a kernel's purpose.
bool IsWork(std::string_view unit_and_type) {
  const std::string_view type = unit_and_type.substr(unit_and_type.find('.') + 1);
  return unit_and_type.starts_with("matrix.") || type == "i8" || type == "i4" ||
         std::find(std::begin(kFloats), std::end(kFloats), type) != std::end(kFloats);
}

std::optional<Bytes> BytesOf(const Launch& launch) {
  Bytes bytes;
  bool whole = true;
  auto value = [&](const std::string& name) {
    const std::optional<double> found = ValueOf(launch, name);
    whole = whole && found.has_value();
    return found.value_or(0);
  };
  bytes.compulsory =
      32 * (value("footprint.all.lines_32.read") + value("footprint.all.lines_32.written"));
  for (const char* space : {"global", "scratch", "scalar"}) {
    const std::string start = fmt::format("memory.{}.", space);
    const double line = value(std::string_view(space) == "scalar" ? "memory.scalar_line_bytes"
                                                                  : "memory.line_bytes");
    for (const char* action : {"read_bytes", "written_bytes", "atomic_bytes"})
      bytes.requested += value(start + action);
    for (const char* action : {"lines_read", "lines_written", "lines_atomic"})
      bytes.uncached += line * value(start + action);
  }
  if (!whole) return std::nullopt;
  // A line of 32 bytes that is asked for once comes at least once.
  bytes.uncached = std::max(bytes.uncached, bytes.compulsory);
  return bytes;
}

std::optional<ModelledTraffic> TrafficOf(const Launch& launch) {
  const auto value = [&](const char* name) {
    const auto found = launch.modelled.find(name);
    return found == launch.modelled.end() ? 0 : found->second;
  };
  if (!launch.modelled.contains("caches.memory.read_bytes")) return std::nullopt;
  return ModelledTraffic{value("caches.l1.read_bytes") + value("caches.l1.written_bytes") +
                             value("caches.scalar.read_bytes") +
                             value("caches.scalar.written_bytes"),
                         value("caches.l2.read_bytes") + value("caches.l2.written_bytes"),
                         value("caches.memory.read_bytes") + value("caches.memory.written_bytes") +
                             value("caches.left_in_mall_bytes")};
}

void Judge(const Peaks& peaks, KernelRoofline* kernel) {
  double seconds = 0;
  bool whole = true;
  for (const auto& [type, count] : kernel->operations) {
    const auto peak = peaks.operations.find(type);
    if (peak == peaks.operations.end()) {
      kernel->reasons.push_back(fmt::format("no peak is known for {}", type));
      whole = false;
      continue;
    }
    seconds += count / peak->second.per_second;
    kernel->reasons.push_back(fmt::format("{:.4g} operations of {} take at least {:.3g} us", count,
                                          type, 1e6 * count / peak->second.per_second));
  }
  if (kernel->operations.empty())
    kernel->reasons.emplace_back("there is no arithmetic to speak of");
  if (whole) kernel->compute_seconds = seconds;
  if (!kernel->bytes) {
    kernel->reasons.emplace_back("bytes were not counted for every launch");
  } else if (!peaks.memory_bytes) {
    kernel->reasons.emplace_back("the memory's bandwidth is not known");
  } else {
    kernel->memory_seconds_least = kernel->bytes->compulsory / peaks.memory_bytes->per_second;
    kernel->memory_seconds_most = kernel->bytes->uncached / peaks.memory_bytes->per_second;
    kernel->reasons.push_back(
        fmt::format("{:.4g} bytes must be moved, in {:.3g} us; without caches {:.4g}, in {:.3g} us",
                    kernel->bytes->compulsory, 1e6 * *kernel->memory_seconds_least,
                    kernel->bytes->uncached, 1e6 * *kernel->memory_seconds_most));
  }
  if (kernel->modelled && peaks.memory_bytes) {
    const ModelledTraffic traffic = kernel->modelled.value_or(ModelledTraffic{});
    const double seconds_modelled = traffic.memory / peaks.memory_bytes->per_second;
    kernel->memory_seconds_modelled = seconds_modelled;
    kernel->reasons.push_back(fmt::format(
        "modelled caches: {:.4g} bytes go to L2, {:.4g} beyond it, {:.4g} to memory, in {:.3g} us",
        traffic.to_l2, traffic.beyond_l2, traffic.memory, 1e6 * seconds_modelled));
  }
  if (!kernel->compute_seconds || !kernel->memory_seconds_least || !kernel->memory_seconds_most)
    return;
  if (*kernel->compute_seconds <= *kernel->memory_seconds_least) {
    kernel->verdict = Verdict::kMemory;
  } else if (*kernel->compute_seconds >= *kernel->memory_seconds_most) {
    kernel->verdict = Verdict::kCompute;
  } else {
    kernel->verdict = Verdict::kDependsOnCaches;
  }
}

}  // namespace

std::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCompute:
      return "compute";
    case Verdict::kMemory:
      return "memory";
    case Verdict::kDependsOnCaches:
      return "depends on caches";
    case Verdict::kUnknown:
      break;
  }
  return "unknown";
}

double KernelRoofline::Operations() const {
  double sum = 0;
  for (const auto& [type, count] : operations) sum += count;
  return sum;
}

double KernelRoofline::LeastSeconds() const {
  return std::max(compute_seconds.value_or(0), memory_seconds_least.value_or(0));
}

std::vector<KernelRoofline> MakeRooflines(const CounterSet& set, const Peaks& peaks) {
  using Shape = std::tuple<std::string, std::array<uint64_t, 3>, std::array<uint64_t, 3>>;
  std::map<Shape, KernelRoofline> by_shape;
  for (const Launch& launch : set.launches) {
    KernelRoofline& kernel = by_shape[{launch.kernel, launch.grid, launch.workgroup}];
    kernel.kernel = launch.kernel;
    kernel.grid = launch.grid;
    kernel.workgroup = launch.workgroup;
    const std::optional<Bytes> bytes = BytesOf(launch);
    const std::optional<ModelledTraffic> traffic = TrafficOf(launch);
    if (kernel.launches == 0) {
      kernel.bytes = Bytes{};
      kernel.modelled = ModelledTraffic{};
    }
    if (!traffic) {
      kernel.modelled.reset();
    } else if (kernel.modelled) {
      kernel.modelled->to_l2 += traffic->to_l2;
      kernel.modelled->beyond_l2 += traffic->beyond_l2;
      kernel.modelled->memory += traffic->memory;
    }
    ++kernel.launches;
    if (!bytes) {
      kernel.bytes.reset();
    } else if (kernel.bytes) {
      kernel.bytes->compulsory += bytes->compulsory;
      kernel.bytes->requested += bytes->requested;
      kernel.bytes->uncached += bytes->uncached;
    }
    for (const auto& [name, value] : launch.exact) {
      const std::string_view type = TypeOfArithmetic(name);
      if (type.empty() || value == 0) continue;
      if (IsWork(type)) {
        kernel.operations[std::string(type)] += value;
      } else {
        kernel.other_integers += value;
      }
    }
  }
  std::vector<KernelRoofline> kernels;
  for (auto& [shape, kernel] : by_shape) {
    Judge(peaks, &kernel);
    kernels.push_back(std::move(kernel));
  }
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return a.LeastSeconds() > b.LeastSeconds();
  });
  return kernels;
}

}  // namespace rochound::profile
