// SPDX-License-Identifier: MIT
#include "profile/roofline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "profile/formula.h"

namespace rochound::profile {
namespace {

constexpr std::string_view kFloats[] = {"f64", "f32", "xf32", "f16",   "bf16",
                                        "fp8", "fp6", "fp4",  "f8f6f4"};

using Shape = std::tuple<std::string, std::array<uint64_t, 3>, std::array<uint64_t, 3>>;

Shape ShapeOf(const Launch& launch) { return {launch.kernel, launch.grid, launch.workgroup}; }

// One of the launches of this shape.
void AddLaunch(const Launch& launch, KernelRoofline* kernel) {
  kernel->kernel = launch.kernel;
  kernel->grid = launch.grid;
  kernel->workgroup = launch.workgroup;
  ++kernel->launches;
}

std::vector<KernelRoofline> LongestFirst(std::map<Shape, KernelRoofline> by_shape) {
  std::vector<KernelRoofline> kernels;
  for (auto& [shape, kernel] : by_shape) kernels.push_back(std::move(kernel));
  const auto seconds = [](const KernelRoofline& kernel) {
    const std::optional<double> took =
        kernel.measured ? kernel.measured->seconds : std::optional<double>();
    return took.value_or(kernel.LeastSeconds());
  };
  std::stable_sort(kernels.begin(), kernels.end(),
                   [&](const auto& a, const auto& b) { return seconds(a) > seconds(b); });
  return kernels;
}

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

// What the operations take at least, and a reason for each type.
void JudgeOperations(const Peaks& peaks, KernelRoofline* kernel) {
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
    kernel->reasons.emplace_back(kernel->other_integers > 0
                                     ? "there is no floating-point or matrix arithmetic"
                                     : "there is no arithmetic");
  if (whole) kernel->compute_seconds = seconds;
}

// What metrics say that they are besides a unit and type.
const std::string kMemoryPart = "memory";
const std::string kL2Part = "l2";

// Counters that some launch of a kernel lacks, by what they are needed for.
struct MissingCounters {
  std::map<std::string, std::set<std::string>> parts;
  bool time = false;
};

void AddMix(const InstructionMix* mix, KernelRoofline* kernel) {
  if (mix == nullptr) return;
  const double waves = static_cast<double>(kernel->launches) *
                       WavesOf(kernel->grid, kernel->workgroup, mix->wave_size);
  for (const auto& [type, count] : mix->per_wave) kernel->operations[type] = count * waves;
  kernel->operations_known = true;
  kernel->reasons.push_back(fmt::format(
      "operations are no counts: the instructions of {} traced waves, with all {} lanes, times "
      "{:.4g} waves that were launched",
      mix->waves, mix->wave_size, waves));
}

void JudgeMeasured(const Peaks& peaks, const MissingCounters& missing, KernelRoofline* kernel) {
  const MeasuredTraffic traffic = kernel->measured.value_or(MeasuredTraffic{});
  const auto not_known = [&](const char* what, const std::set<std::string>& names) {
    kernel->reasons.push_back(
        names.empty() ? fmt::format("{} are not known: this GPU has no counters of them", what)
                      : fmt::format("{} are not known; missing: {}", what, fmt::join(names, ", ")));
  };
  if (kernel->operations_known) {
    JudgeOperations(peaks, kernel);
  } else {
    std::set<std::string> names;
    for (const auto& [part, counters] : missing.parts)
      if (part != kMemoryPart && part != kL2Part) names.insert(counters.begin(), counters.end());
    not_known("operations", names);
  }
  if (!traffic.memory_bytes) {
    const auto names = missing.parts.find(kMemoryPart);
    not_known("bytes of memory",
              names == missing.parts.end() ? std::set<std::string>() : names->second);
  } else if (!peaks.memory_bytes) {
    kernel->reasons.emplace_back("the memory's bandwidth is not known");
  } else {
    kernel->memory_seconds_least = *traffic.memory_bytes / peaks.memory_bytes->per_second;
    kernel->reasons.push_back(
        fmt::format("{:.4g} bytes were moved between L2 and memory, in at "
                    "least {:.3g} us",
                    *traffic.memory_bytes, 1e6 * *kernel->memory_seconds_least));
  }
  const auto share = [&](const std::optional<double>& least, const char* of) {
    if (!least || !traffic.seconds || *traffic.seconds == 0) return;
    kernel->reasons.push_back(fmt::format("it took {:.3g} us: {:.1f}% of the peak of {}",
                                          1e6 * *traffic.seconds, 100 * *least / *traffic.seconds,
                                          of));
    if (*least > 1.02 * *traffic.seconds)
      kernel->reasons.emplace_back("that is more than can be: the peaks are those of another card");
  };
  share(kernel->memory_seconds_least, "memory");
  if (!kernel->operations.empty()) share(kernel->compute_seconds, "its operations");
  if (!kernel->compute_seconds || !kernel->memory_seconds_least) return;
  kernel->verdict = *kernel->compute_seconds <= *kernel->memory_seconds_least ? Verdict::kMemory
                                                                              : Verdict::kCompute;
}

// What integer operations take at least, at the rate of f32 additions: no GPU is faster with them.
double IntegerSeconds(const Peaks& peaks, const KernelRoofline& kernel) {
  constexpr double kOperationsOfMultiplyAdd = 2;
  const auto peak = peaks.operations.find("vector.f32");
  if (peak == peaks.operations.end() || peak->second.per_second <= 0) return 0;
  return kOperationsOfMultiplyAdd * kernel.other_integers / peak->second.per_second;
}

void Judge(const Peaks& peaks, KernelRoofline* kernel) {
  JudgeOperations(peaks, kernel);
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
  const double computing = std::max(*kernel->compute_seconds, IntegerSeconds(peaks, *kernel));
  if (computing > *kernel->compute_seconds && computing > *kernel->memory_seconds_least)
    kernel->reasons.push_back(fmt::format(
        "{:.4g} integer operations take at least {:.3g} us, at the rate of f32 additions",
        kernel->other_integers, 1e6 * computing));
  if (computing <= *kernel->memory_seconds_least) {
    kernel->verdict = Verdict::kMemory;
  } else if (computing >= *kernel->memory_seconds_most) {
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

std::optional<double> KernelRoofline::MostIntensity() const {
  const double moved = bytes      ? bytes->compulsory
                       : measured ? measured->memory_bytes.value_or(0)
                                  : 0;
  if (moved <= 0 || !operations_known) return std::nullopt;
  return Operations() / moved;
}

std::vector<KernelRoofline> MakeRooflines(const CounterSet& set, const Peaks& peaks) {
  std::map<Shape, KernelRoofline> by_shape;
  for (const Launch& launch : set.launches) {
    KernelRoofline& kernel = by_shape[ShapeOf(launch)];
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
    AddLaunch(launch, &kernel);
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
  for (auto& [shape, kernel] : by_shape) Judge(peaks, &kernel);
  return LongestFirst(std::move(by_shape));
}

base::Result<std::vector<KernelRoofline>> MakeMeasuredRooflines(
    const CounterSet& set, const Peaks& peaks, const std::vector<Metric>& metrics,
    const std::vector<InstructionMix>& mixes) {
  std::map<Shape, KernelRoofline> by_shape;
  std::map<Shape, MissingCounters> missing;
  for (const Launch& launch : set.launches) {
    KernelRoofline& kernel = by_shape[ShapeOf(launch)];
    MissingCounters& lacks = missing[ShapeOf(launch)];
    AddLaunch(launch, &kernel);
    if (!kernel.measured) kernel.measured = MeasuredTraffic{0.0, 0.0, 0.0};
    MeasuredTraffic& traffic = *kernel.measured;
    if (!launch.nanoseconds) lacks.time = true;
    *traffic.seconds += 1e-9 * launch.nanoseconds.value_or(0);
    for (const Metric& metric : metrics) {
      if (metric.roofline.empty()) continue;
      ROCHOUND_TRY(const FormulaValue value, Evaluate(metric.formula, launch.exact));
      if (!value.value) {
        lacks.parts[metric.roofline].insert(value.missing.begin(), value.missing.end());
      } else if (metric.roofline == kMemoryPart) {
        *traffic.memory_bytes += *value.value;
      } else if (metric.roofline == kL2Part) {
        *traffic.l2_bytes += *value.value;
      } else if (*value.value != 0) {
        kernel.operations[metric.roofline] += *value.value;
      }
    }
  }
  // What no metric counts is missing, too.
  bool counts_operations = false, counts_memory = false, counts_l2 = false;
  for (const Metric& metric : metrics) {
    counts_memory = counts_memory || metric.roofline == kMemoryPart;
    counts_l2 = counts_l2 || metric.roofline == kL2Part;
    counts_operations = counts_operations || metric.roofline.find('.') != std::string::npos;
  }
  for (auto& [shape, kernel] : by_shape) {
    const MissingCounters& lacks = missing[shape];
    MeasuredTraffic& traffic = *kernel.measured;
    if (lacks.time) traffic.seconds.reset();
    if (!counts_memory || lacks.parts.contains(kMemoryPart)) traffic.memory_bytes.reset();
    if (!counts_l2 || lacks.parts.contains(kL2Part)) traffic.l2_bytes.reset();
    kernel.operations_known = counts_operations;
    for (const auto& [part, names] : lacks.parts) {
      if (part == kMemoryPart || part == kL2Part) continue;
      kernel.operations_known = false;
      kernel.operations.erase(part);
    }
    if (!counts_operations) AddMix(FindMix(mixes, kernel.kernel), &kernel);
    JudgeMeasured(peaks, lacks, &kernel);
  }
  return LongestFirst(std::move(by_shape));
}

}  // namespace rochound::profile
