// SPDX-License-Identifier: MIT
#include "capture/replay/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/count.h"
#include "base/files.h"
#include "capture/bundle.h"
#include "capture/gws.h"
#include "capture/proof.h"
#include "capture/replay/counts.h"
#include "capture/replay/kernarg.h"
#include "codeobj/demangle.h"
#include "codeobj/fat_binary.h"
#include "codeobj/swap.h"
#include "codeobj/target.h"

namespace rochound::capture::replay {
namespace {

using base::Error;
using base::Result;

constexpr uint64_t kSmallestGranule = 4096;
constexpr int kMemoryAvailable = 0xA015;  // HSA_AMD_AGENT_INFO_MEMORY_AVAIL, not in every header

std::span<const std::byte> Bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};  // NOLINT
}

uint64_t WordAt(std::span<const std::byte> bytes, uint64_t offset) {
  uint64_t word = 0;
  memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}

std::string Hex(uint64_t address) { return fmt::format("{:#x}", address); }

nlohmann::ordered_json PlaceJson(const Difference& difference) {
  return {{"address", Hex(difference.address)},
          {"region", difference.region},
          {"argument", difference.argument},
          {"index", difference.index},
          {"type", NameOf(difference.type)},
          {"expected", difference.expected},
          {"got", difference.got}};
}

}  // namespace

Session::Session(const Options& options, std::vector<std::string> arguments, Answer& answer)
    : options_(options),
      arguments_(std::move(arguments)),
      answer_(answer),
      last_ns_(base::ClockNs(CLOCK_MONOTONIC)) {}

void Session::Must(const Result<void>& result, Verdict verdict) {
  if (result.ok()) return;
  const bool damaged = memory_ != nullptr && memory_->damaged();
  answer_.End(damaged ? Verdict::kBadBundle : verdict, result.error().message);
}

void Session::Took(const char* step) {
  const uint64_t now = base::ClockNs(CLOCK_MONOTONIC);
  answer_.json()["startup_ms"][step] = static_cast<double>(now - last_ns_) / 1e6;
  last_ns_ = now;
}

void Session::Open() {
  auto bundle = Bundle::Open(options_.bundle);
  if (!bundle.ok()) answer_.End(Verdict::kBadBundle, bundle.error().message);
  bundle_ = std::make_unique<Bundle>(std::move(bundle).value());
  auto object = codeobj::CodeObject::Parse(capture::AsText(bundle_->code_object()));
  if (!object.ok()) answer_.End(Verdict::kBadBundle, object.error().In("code_object.elf").message);
  object_ = std::make_unique<codeobj::CodeObject>(std::move(object).value());
  CheckConsistency();
  for (const std::string& note : manifest().notes) answer_.AddNote("at capture: " + note);
  Took("open");
}

void Session::CheckConsistency() {
  const Manifest& launch = manifest();
  Candidate captured;
  captured.name = "captured";
  captured.object_bytes = bundle_->code_object();
  const uint64_t descriptor = launch.launch.kernel_object - launch.code_object.load_delta;
  for (const codeobj::Kernel& kernel : object_->kernels())
    if (kernel.descriptor_address == descriptor) captured.kernel = &kernel;
  if (captured.kernel == nullptr)
    answer_.End(Verdict::kBadBundle,
                fmt::format("the launch's kernel at {:#x} is none of code_object.elf",
                            launch.launch.kernel_object));
  if (!launch.kernel.empty() && launch.kernel != captured.kernel->name) {
    answer_.End(Verdict::kBadBundle,
                fmt::format("the manifest says that kernel '{}' was launched, its packet says '{}'",
                            launch.kernel, captured.kernel->name));
  }
  demangled_ = codeobj::Demangle(captured.kernel->name);
  answer_.json()["kernel"] = captured.kernel->name;
  answer_.json()["demangled"] = demangled_;

  // What ran is what is in the file.
  const int32_t image = RegionAt(launch.regions, launch.code_object.loaded.base);
  if (image >= 0 && launch.regions[image].taken) {
    const Region& region = launch.regions[image];
    for (const codeobj::Segment& segment : object_->segments()) {
      if (!segment.executable || segment.file_size == 0) continue;
      const uint64_t offset = segment.address + launch.code_object.load_delta - region.base;
      std::vector<std::byte> was(segment.file_size);
      if (offset > region.size || was.size() > region.size - offset)
        answer_.End(Verdict::kBadBundle, "code_object.elf does not fit into its captured image");
      Must(bundle_->ReadBefore(static_cast<uint32_t>(image), offset, was), Verdict::kBadBundle);
      const auto file = bundle_->code_object().subspan(segment.offset, segment.file_size);
      if (!std::equal(file.begin(), file.end(), was.begin()))
        answer_.End(Verdict::kBadBundle,
                    "code_object.elf is not the code that was in memory when the launch ran");
    }
  } else {
    answer_.AddNote(
        "the code object's image was not captured: module variables have their first values");
  }

  const int32_t kernarg = RegionAt(launch.regions, launch.launch.kernarg);
  const std::span<const std::byte> bytes = bundle_->kernarg();
  if (kernarg >= 0 && launch.regions[kernarg].taken) {
    const Region& region = launch.regions[kernarg];
    const uint64_t offset = launch.launch.kernarg - region.base;
    if (bytes.size() <= region.size - offset) {
      std::vector<std::byte> was(bytes.size());
      Must(bundle_->ReadBefore(static_cast<uint32_t>(kernarg), offset, was), Verdict::kBadBundle);
      if (!std::equal(bytes.begin(), bytes.end(), was.begin()))
        answer_.End(
            Verdict::kBadBundle,
            fmt::format("kernarg.bin is not what was in memory at {:#x} when the launch ran",
                        launch.launch.kernarg));
      kernarg_in_place_ = true;
    }
  }
  if (!kernarg_in_place_ && !bytes.empty())
    answer_.AddNote("the arguments' memory was not captured: they are at another address here");
  candidates_.push_back(std::move(captured));
}

void Session::InTheWay(const Obstacle& obstacle) {
  std::string message = Describe(obstacle, manifest().regions);
  if (MayStartAnew(options_.attempt)) {
    const Error error = StartAnew(options_.attempt, arguments_);
    message += "; " + error.message;
  }
  answer_.json()["in_the_way"] = {{"base", Hex(obstacle.in_the_way.base)},
                                  {"end", Hex(obstacle.in_the_way.end)},
                                  {"permissions", obstacle.in_the_way.permissions},
                                  {"path", obstacle.in_the_way.path},
                                  {"region", obstacle.region}};
  answer_.End(Verdict::kCannotMap,
              fmt::format("{}. That was so in {} starts of the program. Look for what is preloaded "
                          "(LD_PRELOAD) or for a limit on addresses (ulimit -v).",
                          message, options_.attempt + 1));
}

void Session::TakeAddresses() {
  const std::vector<Region>& regions = manifest().regions;
  mappings_ = PlanMappings(regions, kSmallestGranule);
  if (const auto obstacle = steering_.Occupy(mappings_, regions)) InTheWay(*obstacle);
  if (const auto calls = VirtualMemory::Find(); !calls.ok())
    answer_.End(Verdict::kNotPossible, calls.error().message);
  auto runtime = Runtime::Start();
  if (!runtime.ok()) answer_.End(Verdict::kFailed, runtime.error().message);
  runtime_ = std::move(runtime).value();
  Took("runtime");
  ChooseGpu();

  uint64_t granule = kSmallestGranule;
  for (const Gpu& gpu : runtime_->gpus()) granule = std::max(granule, gpu.granule);
  if (granule > kSmallestGranule) {
    for (size_t i = 0; i < mappings_.size(); ++i) steering_.Release(i);
    mappings_ = PlanMappings(regions, granule);
  }
  uint64_t available = 0;
  const bool known =
      hsa_agent_get_info(gpu_->handle, static_cast<hsa_agent_info_t>(kMemoryAvailable),
                         &available) == HSA_STATUS_SUCCESS;
  const uint64_t needed = BytesOf(mappings_);
  auto& memory = answer_.json()["memory"];
  memory["mappings"] = mappings_.size();
  memory["bytes"] = needed;
  if (known) memory["available"] = available;
  for (size_t i = 0; i < mappings_.size(); ++i) {
    if (granule == kSmallestGranule) steering_.Release(i);
    const auto reserved = runtime_->Reserve(mappings_[i]);
    if (reserved.ok()) continue;
    if (const auto obstacle = FindObstacle(CurrentMaps(), mappings_[i], regions))
      InTheWay(*obstacle);
    answer_.End(
        Verdict::kCannotMap,
        fmt::format("{}, where {} has to be; no mapping is in the way: is the address one "
                    "that this GPU can reach?",
                    reserved.error().message, NameOf(regions, mappings_[i].regions.front())));
  }
  answer_.json()["starts"] = options_.attempt + 1;
  if (known && needed > available) {
    answer_.End(Verdict::kCannotMap,
                fmt::format("the addresses are free, but the bundle needs {} bytes of GPU memory "
                            "and {} are available",
                            needed, available));
  }
  if (options_.mode == "check") {
    Took("reserve");
    answer_.End(Verdict::kEqual);
  }
  size_t host_regions = 0;
  for (const Region& region : regions)
    host_regions += region.taken &&
                    (region.kind == "host" || region.kind == "locked" || region.kind == "managed");
  if (host_regions > 0)
    answer_.AddNote(fmt::format("host memory is in GPU memory here ({}): times may differ",
                                base::Count(host_regions, "region", "regions")));
  for (size_t i = 0; i < mappings_.size(); ++i) {
    answer_.Progress("mapping", static_cast<double>(i) / static_cast<double>(mappings_.size()));
    Must(runtime_->Back(mappings_[i], OwnerOf(mappings_[i].owner), *gpu_), Verdict::kCannotMap);
  }
  Took("map");
}

void Session::ChooseGpu() {
  if (manifest().agent < 0 || static_cast<size_t>(manifest().agent) >= manifest().agents.size())
    answer_.End(Verdict::kBadBundle, "the manifest does not say which GPU ran the launch");
  const Agent& wanted = manifest().agents[manifest().agent];
  std::vector<std::string> here;
  for (const Gpu& gpu : runtime_->gpus()) {
    here.push_back(fmt::format("{} ({})", gpu.isa, gpu.product));
    if (gpu_ == nullptr && gpu.isa == wanted.isa) gpu_ = &gpu;
  }
  if (gpu_ == nullptr) {
    const char* const override = getenv("HSA_OVERRIDE_GFX_VERSION");
    answer_.End(Verdict::kRefused,
                fmt::format("the launch was captured on {} ({}); here: {}{}", wanted.isa,
                            wanted.product, fmt::join(here, ", "),
                            override == nullptr
                                ? std::string()
                                : fmt::format(", with HSA_OVERRIDE_GFX_VERSION={}", override)));
  }
  answer_.json()["gpu"] = {{"isa", gpu_->isa},
                           {"product", gpu_->product},
                           {"node", gpu_->node},
                           {"software", Counts::OnSoftwareGpu()}};
  answer_.json()["runtime"] = runtime_->Version();
}

const Gpu& Session::OwnerOf(int32_t agent) const {
  const std::vector<Agent>& agents = manifest().agents;
  if (agent < 0 || static_cast<size_t>(agent) >= agents.size() || agent == manifest().agent ||
      agents[agent].device != "gpu")
    return *gpu_;
  // The n-th other GPU of the same kind is the n-th other one here.
  size_t others = 0;
  for (int32_t i = 0; i < agent; ++i)
    others += i != manifest().agent && agents[i].isa == agents[agent].isa ? 1 : 0;
  for (const Gpu& gpu : runtime_->gpus())
    if (&gpu != gpu_ && gpu.isa == agents[agent].isa && others-- == 0) return gpu;
  return *gpu_;
}

void Session::Load() {
  auto launcher = Launcher::Create(*gpu_, options_.timeout);
  if (!launcher.ok()) answer_.End(Verdict::kFailed, launcher.error().message);
  launcher_ = std::move(launcher).value();
  auto copier = Copier::Create(*runtime_, *gpu_);
  if (!copier.ok()) answer_.End(Verdict::kFailed, copier.error().message);
  copier_ = std::move(copier).value();
  memory_ = std::make_unique<Memory>(*bundle_, *runtime_, *gpu_, *copier_);

  candidates_.reserve(1 + options_.hsacos.size());  // kernels refer to them
  LoadCaptured();
  for (const std::filesystem::path& file : options_.hsacos) LoadOther(file);
  PrepareGws();
  MakeRules();
  Took("load");
}

void Session::LoadCaptured() {
  Candidate& captured = candidates_.front();
  auto loaded = launcher_->Load(captured.object_bytes, captured.kernel->symbol);
  if (!loaded.ok()) answer_.End(Verdict::kBadBundle, loaded.error().message);
  captured.loaded = loaded.value();
  captured.image.map = ImageMap::Same(*object_, manifest().code_object, captured.loaded.delta);
  const capture::Launch& launch = manifest().launch;
  captured.packet = {launch.setup,
                     launch.grid,
                     launch.workgroup,
                     std::max(launch.group_bytes, captured.loaded.group_bytes),
                     std::max(launch.private_bytes, captured.loaded.private_bytes),
                     captured.loaded.object,
                     0};
  captured.kernarg.assign(bundle_->kernarg().begin(), bundle_->kernarg().end());
}

void Session::LoadOther(const std::filesystem::path& file) {
  Candidate& candidate = candidates_.emplace_back();
  candidate.name = file.string();
  const auto prepared = PrepareOther(file, &candidate);
  if (prepared.ok()) return;
  candidate.refused = prepared.error().message;
  if (options_.mode == "compare") return;
  answer_.json()["candidate"] = candidate.name;
  answer_.End(Verdict::kRefused, candidate.refused);
}

Result<void> Session::PrepareOther(const std::filesystem::path& file, Candidate* candidate) {
  ROCHOUND_TRY(candidate->bytes, base::ReadFile(file));
  ROCHOUND_TRY(const auto objects, codeobj::FindCodeObjects(candidate->bytes));
  ROCHOUND_TRY(const codeobj::Target target, codeobj::ParseTarget(gpu_->isa));
  const std::string& name = candidates_.front().kernel->name;
  // A program has many code objects for one GPU: take the one with the kernel.
  std::string problem;
  for (const codeobj::EmbeddedObject& embedded : objects) {
    if (!codeobj::RunsOn(embedded.target, target)) continue;
    auto parsed = codeobj::CodeObject::Parse(embedded.bytes);
    if (!parsed.ok()) {
      problem = parsed.error().message;
      continue;
    }
    const auto found = parsed.value().GetKernel(name);
    if (!found.ok()) {
      problem = found.error().message;
      continue;
    }
    if (embedded.owner != nullptr) {  // was compressed: keep what it unfolded to
      candidate->bytes.assign(embedded.bytes);
      candidate->object_bytes = Bytes(candidate->bytes);
    } else {
      candidate->object_bytes = Bytes(embedded.bytes);
    }
    candidate->object = std::make_unique<codeobj::CodeObject>(std::move(parsed).value());
    candidate->kernel = candidate->object->FindKernel(name);
    break;
  }
  if (candidate->kernel == nullptr) {
    return Error{problem.empty() ? fmt::format("it has no code for {}", gpu_->isa) : problem};
  }
  const capture::Launch& launch = manifest().launch;
  const codeobj::Kernel& kernel = *candidate->kernel;
  const codeobj::Kernel& captured = *candidates_.front().kernel;
  ROCHOUND_TRY(Kernarg kernarg, LayOutFor(captured, bundle_->kernarg(), kernel, launch));
  candidate->kernarg = std::move(kernarg.bytes);
  for (const std::string& note : kernarg.notes) answer_.AddNote(candidate->name + ": " + note);
  const uint64_t items = uint64_t{launch.workgroup[0]} * launch.workgroup[1] * launch.workgroup[2];
  if (kernel.max_flat_workgroup_size != 0 && items > kernel.max_flat_workgroup_size)
    return Error{
        fmt::format("it was built for workgroups of at most {} work-items, the launch has "
                    "{}; build with __launch_bounds__({})",
                    kernel.max_flat_workgroup_size, items, items)};
  for (size_t axis = 0; axis < 3; ++axis) {
    if (kernel.reqd_workgroup_size[0] != 0 &&
        kernel.reqd_workgroup_size[axis] != launch.workgroup[axis])
      return Error{fmt::format("it requires workgroups of {}, the launch has {}",
                               fmt::join(kernel.reqd_workgroup_size, "x"),
                               fmt::join(launch.workgroup, "x"))};
  }
  ROCHOUND_TRY(const auto bindings, codeobj::BindVariables(*object_, *candidate->object));
  const uint64_t captured_delta = candidates_.front().loaded.delta;
  std::vector<std::pair<std::string, uint64_t>> variables;
  for (const auto& [variable, address] : bindings)
    variables.emplace_back(variable, address + captured_delta);
  candidate->uses_captured_variables = !variables.empty();
  ROCHOUND_TRY(candidate->loaded,
               launcher_->Load(candidate->object_bytes, kernel.symbol, variables));
  std::vector<std::string> notes;
  candidate->image.map = ImageMap::ByName(*object_, manifest().code_object, captured_delta,
                                          *candidate->object, candidate->loaded.delta, &notes);
  for (const std::string& note : notes) answer_.AddNote(candidate->name + ": " + note);
  const uint32_t dynamic_lds =
      launch.group_bytes -
      std::min<uint32_t>(launch.group_bytes, candidates_.front().loaded.group_bytes);
  candidate->packet = {launch.setup,
                       launch.grid,
                       launch.workgroup,
                       candidate->loaded.group_bytes + dynamic_lds,
                       candidate->loaded.private_bytes,
                       candidate->loaded.object,
                       0};
  if (candidate->loaded.dynamic_stack)
    candidate->packet.private_bytes =
        std::max(candidate->packet.private_bytes, launch.private_bytes);
  return {};
}

void Session::PrepareGws() {
  for (Candidate& candidate : candidates_) {
    if (!candidate.refused.empty()) continue;
    const codeobj::CodeObject& object = candidate.object ? *candidate.object : *object_;
    candidate.uses_gws = UsesGws(capture::AsText(candidate.object_bytes), object);
    if (!candidate.uses_gws || gws_init_) continue;
    auto made = MakeGwsInit(capture::AsText(candidate.object_bytes), object, *candidate.kernel,
                            manifest().launch);
    if (!made.ok()) answer_.End(Verdict::kFailed, made.error().message);
    gws_init_bytes_ = std::move(made).value();
    auto loaded = launcher_->Load(Bytes(gws_init_bytes_), candidate.kernel->symbol);
    if (!loaded.ok()) answer_.End(Verdict::kFailed, loaded.error().message);
    gws_init_ = {1,
                 {1, 1, 1},
                 {1, 1, 1},
                 loaded.value().group_bytes,
                 loaded.value().private_bytes,
                 loaded.value().object,
                 0};
  }
  Must(launcher_->MakeQueue(gws_init_.has_value()));
}

void Session::MakeRules() {
  rules_.spans =
      TypeMemory(*candidates_.front().kernel, bundle_->kernarg(), manifest().regions, demangled_);
  rules_.untyped = options_.as;
  rules_.tolerance = options_.tolerance;
  rules_.show = options_.show;
  if (rules_.tolerance.exact || options_.as != Element::kUnknown) return;
  for (uint32_t i = 0; i < manifest().regions.size(); ++i) {
    const Region& region = manifest().regions[i];
    for (const Extent& extent : bundle_->after(i)) {
      const uint64_t base = region.base + extent.offset;
      const bool typed =
          std::any_of(rules_.spans.begin(), rules_.spans.end(), [&](const TypedSpan& span) {
            return span.type != Element::kUnknown && span.base < base + extent.bytes &&
                   base < span.end;
          });
      if (typed || region.kind == "code_object") continue;
      answer_.End(Verdict::kRefused,
                  fmt::format("a tolerance needs to know what memory holds, and nothing tells that "
                              "for {} at {:#x}: no argument of a known type points there. Say it "
                              "with --as float (or double, half, bf16), or verify exactly",
                              NameOf(manifest().regions, i), base));
    }
  }
}

void Session::Fill() {
  Must(memory_->FillAll([&](double part) { answer_.Progress("filling memory", part); }));
  for (Candidate& candidate : candidates_) {
    if (!candidate.refused.empty()) continue;
    Must(memory_->FillImage(&candidate.image));
    if (candidate.uses_captured_variables) candidates_.front().image.changes = true;
    // Addresses in explicit arguments that point into the image, and the queue.
    const codeobj::Kernel& kernel = *candidate.kernel;
    size_t moved = 0;
    for (const codeobj::Argument& argument : kernel.arguments) {
      if (argument.offset + argument.size > candidate.kernarg.size()) continue;
      std::byte* const at = candidate.kernarg.data() + argument.offset;
      const uint64_t queue = launcher_->queue_address();
      if (argument.value_kind == "hidden_queue_ptr" && argument.size == sizeof(queue))
        memcpy(at, &queue, sizeof(queue));
      if (!argument.hidden())
        moved += candidate.image.map.MoveHere({at, argument.size},
                                              manifest().launch.kernarg + argument.offset);
    }
    if (moved > 0)
      answer_.AddNote(
          fmt::format("{}: module variables that arguments point at ({}) are at other addresses "
                      "here",
                      candidate.name, base::Count(moved, "argument", "arguments")));
    if (&candidate == &candidates_.front() && kernarg_in_place_) {
      candidate.packet.kernarg = manifest().launch.kernarg;
      const std::span<const std::byte> captured = bundle_->kernarg();
      for (size_t at = 0; at + 8 <= captured.size(); at += 8) {
        const uint64_t was = WordAt(captured, at);
        const uint64_t is = WordAt(candidate.kernarg, at);
        if (was != is) patches_.push_back({candidate.packet.kernarg + at, was, is});
      }
      Must(memory_->Apply(patches_));
      continue;
    }
    auto memory = runtime_->AllocateKernarg(*gpu_, candidate.kernarg.size());
    if (!memory.ok()) answer_.End(Verdict::kFailed, memory.error().message);
    memcpy(memory.value(), candidate.kernarg.data(), candidate.kernarg.size());
    candidate.packet.kernarg = reinterpret_cast<uint64_t>(memory.value());  // NOLINT
  }
  Took("fill");
}

LaunchResult Session::Launch(Candidate& candidate) {
  answer_.Launching(candidate.name);
  if (candidate.uses_gws && gws_init_) {
    const LaunchResult set = launcher_->Launch(*gws_init_);
    if (set.state != LaunchResult::State::kDone) EndWith(candidate, set);
  }
  const LaunchResult result = launcher_->Launch(candidate.packet);
  if (result.state != LaunchResult::State::kDone) EndWith(candidate, result);
  return result;
}

void Session::EndWith(const Candidate& candidate, const LaunchResult& result) {
  answer_.json()["candidate"] = candidate.name;
  const auto services = HostServices(*candidate.kernel, candidate.kernarg);
  const std::string host = services.empty()
                               ? std::string()
                               : fmt::format(
                                     ". The kernel may have asked the host for something ({}): "
                                     "printf, assert and malloc in a kernel need the program's own "
                                     "threads, which replay does not have",
                                     fmt::join(services, ", "));
  if (result.state == LaunchResult::State::kTimeout)
    answer_.End(Verdict::kTimeout, fmt::format("the kernel did not end within {} s (--timeout){}",
                                               launcher_->timeout_seconds(), host));
  const Fault& fault = result.fault;
  std::string message = fault.reason;
  auto& json = answer_.json()["fault"];
  json["reason"] = fault.reason;
  if (fault.has_address) {
    const std::vector<Region>& regions = manifest().regions;
    message += fmt::format(" at {:#x}", fault.address);
    json["address"] = Hex(fault.address);
    // The driver reports the page: a region that starts within it is meant, too.
    int32_t region = RegionAt(regions, fault.address);
    for (uint32_t i = 0; region < 0 && i < regions.size(); ++i)
      if (regions[i].base >= fault.address && regions[i].base < fault.address + kSmallestGranule)
        region = static_cast<int32_t>(i);
    if (region >= 0 && !regions[region].taken) {
      json["left_out"] = region;
      message += fmt::format(
          ": {} was left out of the bundle, since nothing seemed to point to it. Capture again "
          "with "
          "--memory all",
          NameOf(regions, static_cast<uint32_t>(region)));
    } else if (region >= 0) {
      json["region"] = region;
      message += fmt::format(", in {}", NameOf(regions, static_cast<uint32_t>(region)));
    } else {
      message += ", in no region of the captured process" + host;
    }
  }
  answer_.End(Verdict::kFault, message);
}

void Session::Restore(Candidate& candidate) { Must(memory_->Restore(&candidate.image)); }

Differences Session::Verify(Candidate& candidate, bool everything, Spread* spread) {
  Differences differences(rules_);
  differences.set_spread(spread);
  if (everything) {
    Must(memory_->VerifyAll(&candidate.image, &differences,
                            [&](double part) { answer_.Progress("verifying", part); }));
    Must(memory_->PrepareRestore());
  } else {
    Must(memory_->VerifyChanged(&candidate.image, &differences));
  }
  return differences;
}

std::vector<PoisonPiece> Session::PlanPoison() {
  auto pieces = replay::PlanPoison(*bundle_, rules_.spans);
  if (!pieces.ok()) answer_.End(Verdict::kBadBundle, pieces.error().message);
  return std::move(pieces).value();
}

bool Session::LearnPoison(std::vector<Range> ranges, std::vector<Range>* touched) {
  std::erase_if(ranges, [&](const Range& range) {
    const int32_t region = RegionAt(manifest().regions, range.base);
    return region < 0 || !manifest().regions[region].taken || range.size == 0 ||
           RegionAt(manifest().regions, range.base + range.size - 1) != region;
  });
  if (ranges.empty()) return false;
  Candidate& captured = candidates_.front();
  auto poison = std::make_unique<Poison>(std::move(ranges), manifest().regions);
  Must(memory_->ApplyPoison(poison.get(), true));
  Launch(captured);
  // Bit by bit, whatever the tolerance.
  const bool clean = Verify(captured, true).fingerprint() == 0;
  Must(memory_->RemovePoison());
  Restore(captured);
  if (!clean && touched != nullptr) *touched = poison->Touched();
  if (!clean) return false;
  written_bytes_ = poison->written_bytes();
  uint64_t bytes = 0;
  for (const Range& range : poison->ranges()) bytes += range.size;
  answer_.json()["poison"] = {{"bytes", bytes}, {"written", written_bytes_}};
  poison_ = std::move(poison);
  return true;
}

Differences Session::RunPoisoned(Candidate& candidate) {
  Must(memory_->ApplyPoison(poison_.get(), false));
  Launch(candidate);
  Differences differences = Verify(candidate, true);
  Must(memory_->RemovePoison());
  return differences;
}

nlohmann::ordered_json Session::DifferencesJson(const Differences& differences) const {
  nlohmann::ordered_json json;
  json["count"] = differences.elements();
  json["worst_relative"] = differences.worst_relative();
  json["first"] = nlohmann::ordered_json::array();
  for (const Difference& difference : differences.first())
    json["first"].push_back(PlaceJson(difference));
  return json;
}

void Session::SayProof(const Tolerated& tolerated, size_t other_inputs,
                       nlohmann::ordered_json* json) const {
  Proof proof{TextOf(rules_.tolerance), tolerated.bytes, "", other_inputs};
  const Worst& worst = tolerated.relative.error > 0 ? tolerated.relative : tolerated.absolute;
  if (worst.error > 0) {
    const Difference& at = worst.place;
    proof.worst =
        fmt::format("{:.3g}{} at {}[{}] ({}): {} instead of {}", worst.error,
                    tolerated.relative.error > 0 ? " of the value" : "",
                    at.argument.empty() ? fmt::format("region {}", at.region) : at.argument,
                    at.index, NameOf(at.type), at.got, at.expected);
  }
  (*json)["proof"] = ProofText(proof);
  if (tolerated.bytes == 0) return;
  auto& within = (*json)["within_tolerance"] = {{"bytes", tolerated.bytes}};
  const auto add = [&](const char* name, const Worst& one) {
    if (one.error == 0) return;
    within[name] = PlaceJson(one.place);
    within[name]["error"] = one.error;
  };
  add("relative", tolerated.relative);
  add("absolute", tolerated.absolute);
}

nlohmann::ordered_json Session::OwnMemoryJson(const Candidate& candidate) const {
  nlohmann::ordered_json json;
  const auto add = [&](const char* name, uint64_t base, uint64_t size) {
    json[name] = {{"base", Hex(base)}, {"size", size}};
  };
  add("arguments", candidate.packet.kernarg, candidate.kernarg.size());
  add("image", candidate.loaded.base, candidate.loaded.size);
  const auto [queue, ring] = launcher_->queue_memory();
  add("queue", queue.base, queue.size);
  add("packets", ring.base, ring.size);
  return json;
}

}  // namespace rochound::capture::replay
