// SPDX-License-Identifier: MIT
#include "doctor/gpu_facts.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include "doctor/hardware.h"

namespace rochound::doctor {
namespace {

using Number = std::optional<uint64_t>;

constexpr uint64_t kCapabilitySvm = uint64_t{1} << 27;
constexpr uint64_t kGib = uint64_t{1} << 30;

std::string Bytes(uint64_t bytes) {
  if (bytes >= kGib) {
    const double gib = static_cast<double>(bytes) / static_cast<double>(kGib);
    return fmt::format("{:.1f} GiB", gib);
  }
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} KiB", bytes >> 10);
}
std::string Plain(uint64_t value) { return std::to_string(value); }
std::string Mhz(uint64_t value) { return fmt::format("{} MHz", value); }
std::string YesNo(bool yes) { return yes ? "yes" : "no"; }

bool Near(uint64_t a, uint64_t b, double part) {
  const auto low = static_cast<double>(std::min(a, b));
  const auto high = static_cast<double>(std::max(a, b));
  return high - low <= part * high;
}

// Bits that are set in a mask such as 0xff or ff.
uint64_t MaskBits(const std::string& mask) {
  uint64_t bits = 0;
  for (const char c : mask.rfind("0x", 0) == 0 ? mask.substr(2) : mask) {
    const char digit[2] = {c, '\0'};
    bits += std::popcount(static_cast<unsigned>(strtoul(digit, nullptr, 16)));
  }
  return bits;
}

class Judge {
 public:
  Judge(const Machine& machine, const GpuSources& sources, Report* report)
      : machine_(machine), sources_(sources), kfd_(*sources.kfd), report_(report) {
    const uint64_t revision = sources.drm != nullptr ? sources.drm->revision : 0;
    known_ = FindKnownGpu(kfd_.Get("device_id"), revision);
    target_ = FindKnownTarget(kfd_.target());
    gpu_.target = kfd_.target();
    gpu_.pci = kfd_.pci();
    gpu_.node = kfd_.node;
    gpu_.name = sources.drm != nullptr && !sources.drm->product.empty() ? sources.drm->product
                : sources.hip != nullptr && !sources.hip->name.empty()  ? sources.hip->name
                : sources.hsa != nullptr && !sources.hsa->name.empty()  ? sources.hsa->name
                : known_ != nullptr ? fmt::format("AMD {}", known_->product)
                                    : fmt::format("unknown GPU ({})", kfd_.name);
  }

  GpuReport Run() {
    ComputeUnits();
    WorkGroupProcessors();
    Isa();
    Memory();
    Clock();
    MemoryClock();
    Same("memory bus",
         {{"KFD", kfd_.memory_width},
          {"HSA", Hsa(&RuntimeGpu::memory_width)},
          {"HIP", Hip(&RuntimeGpu::memory_width)}},
         [](uint64_t bits) { return fmt::format("{} bits", bits); });
    Same("wavefront",
         {{"KFD", kfd_.Get("wave_front_size")},
          {"HSA", Hsa(&RuntimeGpu::wavefront)},
          {"HIP", Hip(&RuntimeGpu::wavefront)},
          {"known", Target(&KnownTarget::wavefront)}},
         Plain);
    Same("LDS per workgroup",
         {{"KFD", kfd_.Get("lds_size_in_kb") * 1024},
          {"HSA", Hsa(&RuntimeGpu::lds_bytes)},
          {"HIP", Hip(&RuntimeGpu::lds_bytes)},
          {"known", Times(Target(&KnownTarget::lds_kib), 1024)}},
         Bytes);
    Caches();
    Pci();
    Firmware();
    Xnack();
    Svm();
    LargeBar();
    // It takes two to agree.
    for (Fact& fact : gpu_.facts) {
      if (fact.verdict == Verdict::kAgree && fact.said.size() < 2)
        fact.verdict = fact.said.empty() ? Verdict::kUnknown : Verdict::kOneSource;
    }
    return std::move(gpu_);
  }

 private:
  struct Value {
    const char* source;
    Number number;
  };

  Number Hsa(Number RuntimeGpu::* member) const {
    return sources_.hsa == nullptr ? std::nullopt : sources_.hsa->*member;
  }
  Number Hip(Number RuntimeGpu::* member) const {
    return sources_.hip == nullptr ? std::nullopt : sources_.hip->*member;
  }
  Number Known(unsigned KnownGpu::* member) const {
    return known_ == nullptr || known_->*member == 0 ? std::nullopt : Number(known_->*member);
  }
  Number Target(unsigned KnownTarget::* member) const {
    return target_ == nullptr ? std::nullopt : Number(target_->*member);
  }
  static Number Times(Number number, uint64_t factor) {
    return number ? Number(*number * factor) : std::nullopt;
  }
  static Number Over(Number number, uint64_t divisor) {
    return number ? Number(*number / divisor) : std::nullopt;
  }
  std::string Set(const char* variable) const { return Variable(machine_.environment, variable); }

  Fact& Add(const std::string& name, const std::vector<Value>& values,
            const std::function<std::string(uint64_t)>& text) {
    Fact fact;
    fact.name = name;
    for (const Value& value : values)
      if (value.number && *value.number != 0)
        fact.said.push_back({value.source, text(*value.number)});
    gpu_.facts.push_back(std::move(fact));
    return gpu_.facts.back();
  }

  void Explain(Fact& fact, const std::string& why) {
    if (fact.verdict == Verdict::kWrong) return;
    fact.verdict = Verdict::kExplained;
    fact.why += (fact.why.empty() ? "" : " ") + why;
  }

  void Wrong(Fact& fact, Severity severity, const char* id, const std::string& why,
             const std::string& remedy) {
    fact.verdict = Verdict::kWrong;
    fact.why = why;
    std::vector<std::string> evidence;
    for (const Said& said : fact.said) evidence.push_back(said.source + ": " + said.value);
    report_->findings.push_back(
        {severity, id, fmt::format("{}: {}", gpu_.name, why), remedy, std::move(evidence)});
  }

  // A fact on which all sources must agree to the digit.
  Fact& Same(const std::string& name, const std::vector<Value>& values,
             const std::function<std::string(uint64_t)>& text) {
    Fact& fact = Add(name, values, text);
    Number first;
    fact.verdict = fact.said.empty() ? Verdict::kUnknown : Verdict::kAgree;
    for (const Value& value : values) {
      if (!value.number || *value.number == 0) continue;
      if (first && *value.number != *first) {
        Wrong(fact, Severity::kWarning, "fact-differs",
              fmt::format("the sources disagree about {}, and no setting here explains it", name),
              "compare with another machine of this kind; if it is the runtime, report it to ROCm "
              "with the output of rochound doctor --json");
        break;
      }
      first = value.number;
    }
    return fact;
  }

  bool IsPartition() const {
    const uint64_t xccs = kfd_.Get("num_xcc");
    return known_ != nullptr && known_->xccs > 1 && xccs != 0 && xccs < known_->xccs;
  }
  std::string PartitionMode() const {
    if (sources_.drm != nullptr && !sources_.drm->compute_partition.empty())
      return sources_.drm->compute_partition;
    const uint64_t parts = known_->xccs / kfd_.Get("num_xcc");
    if (kfd_.Get("num_xcc") == 1) return "CPX";
    return parts == 2 ? "DPX" : parts == 3 ? "TPX" : parts == 4 ? "QPX" : "partition";
  }

  void ComputeUnits() {
    const uint64_t units = kfd_.compute_units();
    const Number hip = Hip(&RuntimeGpu::compute_units);
    const Number known =
        Times(Known(&KnownGpu::compute_units), known_ == nullptr ? 1 : known_->dies);
    Fact& fact =
        Add("compute units",
            {{"KFD", units},
             {"HSA", Hsa(&RuntimeGpu::compute_units)},
             {"HIP", hip},
             {"amd-smi", sources_.smi == nullptr ? std::nullopt : sources_.smi->compute_units},
             {"known", known}},
            Plain);
    fact.verdict = Verdict::kAgree;
    const Number hsa = Hsa(&RuntimeGpu::compute_units);
    if (hsa && *hsa != units) {
      Wrong(
          fact, Severity::kError, "cu-count",
          fmt::format("the driver counts {} compute units, the HSA runtime {}", units, *hsa),
          "the runtime does not belong to this driver; install runtime and driver of one release");
      return;
    }
    KnownUnits(fact, units);
    HipUnits(fact, units, hip);
  }

  void KnownUnits(Fact& fact, uint64_t units) {
    const Number known = Known(&KnownGpu::compute_units);
    if (!known) return;
    const std::string disabled =
        machine_.root.ReadLine("/sys/module/amdgpu/parameters/disable_cu").value_or("(null)");
    if (IsPartition() && units == *known * kfd_.Get("num_xcc") / known_->xccs) {
      const uint64_t parts = known_->xccs / kfd_.Get("num_xcc");
      const std::string why = fmt::format(
          "The {} is in partition mode {}: it shows itself as {} GPUs, and this is one of them, "
          "with {} of its {} compute units. Nothing is broken; `amd-smi set "
          "--compute-partition SPX` (as root, with no program on the GPU) makes it one again.",
          known_->product, PartitionMode(), parts, units, *known);
      Explain(fact, why);
      gpu_.explanations.push_back(why);
    } else if (units == *known && known_->dies > 1) {
      const std::string why = fmt::format(
          "The {} has {} compute units in {} dies. Each die is a GPU of its own to every program: "
          "{} compute units here, and as many in the other one.",
          known_->product, *known * known_->dies, known_->dies, units);
      Explain(fact, why);
      gpu_.explanations.push_back(why);
    } else if (units < *known && disabled != "(null)" && !disabled.empty()) {
      const std::string why = fmt::format(
          "{} of the {} compute units are switched off by the kernel parameter "
          "amdgpu.disable_cu={}.",
          *known - units, *known, disabled);
      Explain(fact, why);
      gpu_.explanations.push_back(why);
    } else if (units != *known) {
      Wrong(fact, Severity::kWarning, "cu-count",
            fmt::format("the driver counts {} compute units, AMD's specification of the {} has {}",
                        units, known_->product, *known),
            "the card may be another product than its PCI id says (a card with a changed BIOS), or "
            "the driver is older than the card; compare with amd-smi static, and try a newer "
            "kernel");
    }
  }

  void HipUnits(Fact& fact, uint64_t units, Number hip) {
    if (!hip) return;
    const std::string mask = Set("ROC_GLOBAL_CU_MASK");
    // By what HIP takes the GPU for, which HSA_OVERRIDE_GFX_VERSION may change.
    const KnownTarget* taken_for = FindKnownTarget(sources_.hip->processor());
    const bool wgp = taken_for != nullptr && taken_for->wgp;
    const uint64_t masked = mask.empty() ? units : std::min(units, MaskBits(mask));
    if (*hip == units && mask.empty()) {
      if (wgp && Set("GPU_ENABLE_WGP_MODE") == "0") {
        const std::string why =
            "HIP counts compute units because GPU_ENABLE_WGP_MODE=0 is set; without it, it would "
            "count work-group processors and say " +
            Plain(units / 2) + ".";
        Explain(fact, why);
      }
      return;
    }
    if (!mask.empty() && *hip < units && (*hip == masked || *hip == masked / 2)) {
      const std::string why = fmt::format(
          "HIP says {} because ROC_GLOBAL_CU_MASK={} leaves programs {} of the {} compute "
          "units{}.",
          *hip, mask, masked, units,
          *hip == masked ? "" : ", and it counts them in pairs (work-group processors)");
      Explain(fact, why);
      gpu_.explanations.push_back(why);
      return;
    }
    if (wgp && *hip == units / 2) {
      const bool proven =
          sources_.hip_without_wgp != nullptr && sources_.hip_without_wgp->compute_units == units;
      const std::string why = fmt::format(
          "All {} compute units are there. HIP says {} because on {} it counts work-group "
          "processors, and each of them is a pair of compute units: {} x 2 = {}. PyTorch and other "
          "programs show HIP's number (multiProcessorCount). Nothing is switched off, nothing is "
          "lost, and nothing needs to be patched. {}",
          units, *hip, taken_for->architecture, *hip, units,
          proven ? fmt::format("Checked just now: with GPU_ENABLE_WGP_MODE=0, HIP says {}. That "
                               "changes how kernels are placed, not how many units work.",
                               units)
                 : "With GPU_ENABLE_WGP_MODE=0, HIP counts compute units; that changes how "
                   "kernels are placed, not how many units work.");
      Explain(fact, why);
      gpu_.explanations.insert(gpu_.explanations.begin(), why);
      return;
    }
    Wrong(fact, Severity::kError, "cu-count",
          fmt::format("the driver counts {} compute units, HIP says {}", units, *hip),
          "no setting here explains it; if a program or wrapper changes device properties, run "
          "without it, and compare");
  }

  void WorkGroupProcessors() {
    if (target_ == nullptr || !target_->wgp) return;
    const uint64_t wgps = kfd_.compute_units() / 2;
    const bool counted = Set("GPU_ENABLE_WGP_MODE") != "0" && Set("ROC_GLOBAL_CU_MASK").empty();
    Fact& fact = Add("work-group processors",
                     {{"KFD", wgps},
                      {"HIP", counted ? Hip(&RuntimeGpu::compute_units) : std::nullopt},
                      {"known", Over(Known(&KnownGpu::compute_units), 2)}},
                     Plain);
    // Where the numbers differ, the compute units have said so already.
    const bool same = std::all_of(fact.said.begin(), fact.said.end(), [&](const Said& said) {
      return said.value == fact.said[0].value;
    });
    fact.verdict = same ? Verdict::kAgree : Verdict::kUnknown;
  }

  void Isa() {
    Fact fact;
    fact.name = "ISA";
    const std::string driver = kfd_.target();
    const auto add = [&](const char* source, const std::string& value) {
      if (!value.empty()) fact.said.push_back({source, value});
    };
    add("KFD", driver);
    if (sources_.hsa != nullptr) add("HSA", sources_.hsa->target);
    if (sources_.hip != nullptr) add("HIP", sources_.hip->target);
    if (sources_.smi != nullptr) add("amd-smi", sources_.smi->target);
    if (known_ != nullptr) add("known", known_->target);
    fact.verdict = Verdict::kAgree;
    std::string override_value = Set("HSA_OVERRIDE_GFX_VERSION");
    const std::string own = Set(fmt::format("HSA_OVERRIDE_GFX_VERSION_{}", kfd_.node).c_str());
    if (!own.empty()) override_value = own;
    for (const RuntimeGpu* runtime : {sources_.hsa, sources_.hip}) {
      if (runtime == nullptr || runtime->target.empty() || runtime->processor() == driver) continue;
      if (!override_value.empty()) {
        OverriddenIsa(fact, driver, runtime->processor(), override_value);
      } else {
        Wrong(fact, Severity::kError, "isa-differs",
              fmt::format("the GPU is a {}, but the runtime calls it {}", driver,
                          runtime->processor()),
              "use runtime and driver of one release");
      }
      break;
    }
    if (fact.verdict == Verdict::kAgree && known_ != nullptr && known_->target != driver) {
      Wrong(fact, Severity::kWarning, "isa-differs",
            fmt::format("the driver says {}, the {} is a {}", driver, known_->product,
                        known_->target),
            "update the kernel or the amdgpu driver");
    }
    gpu_.facts.push_back(std::move(fact));
  }

  void OverriddenIsa(Fact& fact, const std::string& driver, const std::string& shown,
                     const std::string& value) {
    const KnownTarget* pretended = FindKnownTarget(shown);
    const bool safe = SameInstructions(driver, shown);
    std::string why = fmt::format(
        "The GPU is a {}. Programs see {} because HSA_OVERRIDE_GFX_VERSION={} tells the runtime to "
        "pretend so.",
        driver, shown, value);
    if (safe) {
      Explain(fact, why +
                        " The two have the same instructions, so this is the usual way to run "
                        "code that was built for " +
                        shown + ".");
      gpu_.explanations.push_back(fact.why);
      return;
    }
    if (pretended != nullptr && target_ != nullptr &&
        std::string_view(pretended->architecture) != target_->architecture) {
      why += fmt::format(" But {} is {} and {} is {}: their instructions differ.", driver,
                         target_->architecture, shown, pretended->architecture);
    }
    Wrong(
        fact, Severity::kError, "override-gfx",
        why +
            " Kernels then run instructions that mean something else here: wrong results, "
            "illegal instructions and memory aperture violations follow.",
        target_ != nullptr && *target_->nearest != '\0'
            ? fmt::format("set it to the version of {}, or unset HSA_OVERRIDE_GFX_VERSION and use "
                          "code built for {}",
                          target_->nearest, driver)
            : fmt::format("unset HSA_OVERRIDE_GFX_VERSION and use code built for {} "
                          "(--offload-arch={}, PYTORCH_ROCM_ARCH={})",
                          driver, driver, driver));
  }

  void Memory() {
    const Number drm = sources_.drm == nullptr ? std::nullopt : sources_.drm->vram_bytes;
    const Number known = Times(Known(&KnownGpu::memory_gib), kGib);
    Fact& fact = Add("memory",
                     {{"KFD", kfd_.memory_bytes},
                      {"DRM", drm},
                      {"HSA", Hsa(&RuntimeGpu::memory_bytes)},
                      {"HIP", Hip(&RuntimeGpu::memory_bytes)},
                      {"known", known}},
                     Bytes);
    fact.verdict = fact.said.empty() ? Verdict::kUnknown : Verdict::kAgree;
    const uint64_t own = kfd_.memory_bytes;
    if (own == 0) return;
    for (const Number runtime : {Hsa(&RuntimeGpu::memory_bytes), Hip(&RuntimeGpu::memory_bytes)}) {
      if (runtime && *runtime != 0 && !Near(*runtime, own, 0.02))
        return Wrong(fact, Severity::kWarning, "memory-size",
                     fmt::format("the driver has {} of memory, a runtime says {}", Bytes(own),
                                 Bytes(*runtime)),
                     "look for a limit in the environment (GPU_MAX_HEAP_SIZE, "
                     "GPU_SINGLE_ALLOC_PERCENT) or a container's");
    }
    if (drm && !Near(*drm, own, 0.02)) {
      if (IsPartition()) {
        PartMemory(fact, own, *drm);
      } else {
        return Wrong(fact, Severity::kWarning, "memory-size",
                     fmt::format("KFD shows {} of memory, DRM {}", Bytes(own), Bytes(*drm)),
                     "the driver's two sides disagree; look in dmesg for lines of amdgpu");
      }
    }
    if (!known || Near(own, *known, 0.04)) return;
    if (IsPartition() && own < *known) {
      if (fact.verdict == Verdict::kAgree) PartMemory(fact, own, *known);
    } else {
      Wrong(fact, Severity::kWarning, "memory-size",
            fmt::format("{} of memory are there, the {} has {}", Bytes(own), known_->product,
                        Bytes(*known)),
            "look in dmesg for lines of amdgpu about VRAM and retired pages");
    }
  }

  void PartMemory(Fact& fact, uint64_t own, uint64_t whole) {
    const std::string memory_mode =
        sources_.drm == nullptr || sources_.drm->memory_partition.empty()
            ? ""
            : fmt::format(" (memory mode {})", sources_.drm->memory_partition);
    Explain(fact, fmt::format("In partition mode {}{} the memory is divided, too: {} of {}.",
                              PartitionMode(), memory_mode, Bytes(own), Bytes(whole)));
  }

  void Clock() {
    const uint64_t own = kfd_.Get("max_engine_clk_fcompute");
    const Number drm = sources_.drm == nullptr ? std::nullopt : sources_.drm->highest_sclk_mhz;
    const Number known = Known(&KnownGpu::boost_mhz);
    Fact& fact = Same(
        "highest clock",
        {{"KFD", own}, {"HSA", Hsa(&RuntimeGpu::clock_mhz)}, {"HIP", Hip(&RuntimeGpu::clock_mhz)}},
        Mhz);
    if (drm && *drm != 0) fact.said.push_back({"DRM", Mhz(*drm)});
    if (known) fact.said.push_back({"known", Mhz(*known)});
    if (own != 0 && ((known && *known != own) || (drm && *drm != 0 && *drm != own))) {
      Explain(fact,
              "The driver shows the top of the card's power table, the product page the boost "
              "clock of the reference card; makers set it higher or lower, and no source tells the "
              "clock under load.");
      fact.detail = true;
    }
  }

  void MemoryClock() {
    Same("memory clock",
         {{"KFD", kfd_.memory_clock_mhz},
          {"HSA", Hsa(&RuntimeGpu::memory_clock_mhz)},
          {"HIP", Hip(&RuntimeGpu::memory_clock_mhz)}},
         Mhz);
  }

  void Caches() {
    const auto level = [&](uint64_t which) -> Number {
      const auto found = kfd_.cache_bytes.find(which);
      return found == kfd_.cache_bytes.end() ? std::nullopt : Number(found->second);
    };
    const uint64_t xccs = std::max<uint64_t>(kfd_.Get("num_xcc"), 1);
    const Number known = known_ == nullptr
                             ? std::nullopt
                             : Over(Times(Known(&KnownGpu::l2_kib), 1024 * xccs), known_->xccs);
    Fact& l2 = Add("L2 cache",
                   {{"KFD", level(2)},
                    {"HSA", Hsa(&RuntimeGpu::l2_bytes)},
                    {"HIP", Hip(&RuntimeGpu::l2_bytes)},
                    {"known", known}},
                   Bytes);
    l2.verdict = l2.said.empty() ? Verdict::kUnknown : Verdict::kAgree;
    const Number whole = level(2) ? level(2) : known;
    for (const Number value : {Hsa(&RuntimeGpu::l2_bytes), Hip(&RuntimeGpu::l2_bytes), known}) {
      if (!whole || !value || *value == 0 || *value == *whole) continue;
      if (*value * xccs == *whole || *whole * xccs == *value) {
        Explain(l2, fmt::format("This GPU has {} dies with an L2 cache each; one source counts one "
                                "of them, another adds them up.",
                                xccs));
        l2.detail = true;
      } else {
        Wrong(l2, Severity::kNote, "fact-differs", "the sources disagree about the L2 cache",
              "nothing depends on it but tuning by cache size");
      }
      break;
    }
    if (level(3) || Known(&KnownGpu::l3_mib)) {
      Fact& l3 = Add("L3 (Infinity) cache",
                     {{"KFD", level(3)},
                      {"HSA", Hsa(&RuntimeGpu::l3_bytes)},
                      {"known", Times(Known(&KnownGpu::l3_mib), 1 << 20)}},
                     Bytes);
      const bool same = std::all_of(l3.said.begin(), l3.said.end(), [&](const Said& said) {
        return said.value == l3.said[0].value;
      });
      l3.verdict = same ? Verdict::kAgree : Verdict::kUnknown;
      if (!same && IsPartition())
        Explain(l3,
                "A partition sees its share of the cache; the specification has that of the "
                "whole GPU.");
    }
  }

  void Pci() {
    Fact fact;
    fact.name = "PCI address";
    fact.said.push_back({"KFD", kfd_.pci()});
    if (sources_.drm != nullptr && !sources_.drm->pci.empty())
      fact.said.push_back({"DRM", sources_.drm->pci});
    for (const auto& [name, runtime] :
         {std::pair("HSA", sources_.hsa), std::pair("HIP", sources_.hip)}) {
      if (runtime != nullptr && !runtime->pci.empty()) fact.said.push_back({name, runtime->pci});
    }
    fact.verdict = Verdict::kAgree;
    for (const Said& said : fact.said) {
      if (said.value == kfd_.pci()) continue;
      if (said.value.substr(0, said.value.rfind('.')) ==
          kfd_.pci().substr(0, kfd_.pci().rfind('.'))) {
        fact.verdict = Verdict::kExplained;
        fact.why = "Partitions are told apart by the last digit, which not every source knows.";
        fact.detail = true;
      } else {
        Wrong(fact, Severity::kWarning, "fact-differs",
              "the sources disagree about the PCI address",
              "report it with the output of rochound doctor --json");
        break;
      }
    }
    gpu_.facts.push_back(std::move(fact));
    Same("PCI device id",
         {{"KFD", kfd_.Get("device_id")},
          {"DRM", sources_.drm == nullptr ? std::nullopt : Number(sources_.drm->device_id)},
          {"HSA", Hsa(&RuntimeGpu::device_id)}},
         [](uint64_t id) { return fmt::format("{:04x}", id); });
  }

  void Firmware() {
    Same("compute firmware", {{"KFD", kfd_.Get("fw_version")}, {"HSA", Hsa(&RuntimeGpu::firmware)}},
         Plain);
    Same("SDMA firmware",
         {{"KFD", kfd_.Get("sdma_fw_version")}, {"HSA", Hsa(&RuntimeGpu::sdma_firmware)}}, Plain);
    if (sources_.drm == nullptr) return;
    for (const char* name : {"smc_fw_version", "vbios_version"}) {
      const auto found = sources_.drm->firmware.find(name);
      if (found != sources_.drm->firmware.end())
        gpu_.facts.push_back({name, {{"DRM", found->second}}, Verdict::kAgree, ""});
    }
  }

  void Xnack() {
    Fact fact;
    fact.name = "XNACK";
    fact.verdict = Verdict::kAgree;
    if (machine_.runtimes.hsa.xnack)
      fact.said.push_back({"HSA", *machine_.runtimes.hsa.xnack ? "on" : "off"});
    const bool has =
        sources_.hip != nullptr && sources_.hip->target.find("xnack") != std::string::npos;
    const bool on = has && sources_.hip->target.find("xnack+") != std::string::npos;
    if (sources_.hip != nullptr) fact.said.push_back({"HIP", has ? (on ? "on" : "off") : "none"});
    const std::string wish = Set("HSA_XNACK");
    if (wish == "1" && sources_.hip != nullptr && !on) {
      Explain(fact, has ? "HSA_XNACK=1 asks for it, but this driver or GPU does not give it."
                        : "HSA_XNACK=1 is set, but this GPU has no such switch.");
    }
    if (fact.said.empty()) fact.verdict = Verdict::kUnknown;
    gpu_.facts.push_back(std::move(fact));
  }

  void Svm() {
    Fact fact;
    fact.name = "shared virtual memory";
    const bool driver = (kfd_.Get("capability") & kCapabilitySvm) != 0;
    fact.said.push_back({"KFD", YesNo(driver)});
    if (machine_.runtimes.hsa.svm) fact.said.push_back({"HSA", YesNo(*machine_.runtimes.hsa.svm)});
    if (sources_.hip != nullptr && sources_.hip->managed_memory)
      fact.said.push_back({"HIP", YesNo(*sources_.hip->managed_memory)});
    fact.verdict = Verdict::kAgree;
    if (machine_.runtimes.hsa.svm && *machine_.runtimes.hsa.svm != driver) {
      if (Set("HSA_USE_SVM") == "0") {
        Explain(fact, "HSA_USE_SVM=0 switches it off in the runtime.");
      } else {
        Explain(fact, driver ? "The driver offers it and the runtime does not use it: not every "
                               "GPU of this machine has it, or XNACK rules it out."
                             : "The driver does not offer it for this GPU; HSA speaks of the "
                               "machine as a whole.");
      }
    }
    gpu_.facts.push_back(std::move(fact));
  }

  void LargeBar() {
    if (kfd_.memory_bytes == 0) return;
    Fact fact;
    fact.name = "large BAR";
    fact.said.push_back({"KFD", YesNo(kfd_.memory_public)});
    bool all = kfd_.memory_public;
    bool none = !kfd_.memory_public;
    const auto add = [&](const char* source, bool yes) {
      fact.said.push_back({source, YesNo(yes)});
      all &= yes;
      none &= !yes;
    };
    const DrmGpu* drm = sources_.drm;
    if (drm != nullptr && drm->vram_bytes && drm->visible_vram_bytes)
      add("DRM", *drm->visible_vram_bytes >= *drm->vram_bytes);
    if (sources_.hip != nullptr && sources_.hip->large_bar) add("HIP", *sources_.hip->large_bar);
    fact.verdict = Verdict::kAgree;
    if (none) {
      const std::string visible = drm != nullptr && drm->visible_vram_bytes
                                      ? Bytes(*drm->visible_vram_bytes)
                                      : "only a part";
      report_->findings.push_back(
          {Severity::kNote,
           "no-large-bar",
           fmt::format(
               "{}: the host can reach {} of its memory directly (no large BAR): copies are "
               "slower, and peer access between GPUs is not possible",
               gpu_.name, visible),
           "switch on Above 4G Decoding and Resizable BAR in the BIOS",
           {}});
    } else if (!all) {
      Wrong(fact, Severity::kNote, "fact-differs", "the sources disagree about the large BAR",
            "report it with the output of rochound doctor --json");
    }
    gpu_.facts.push_back(std::move(fact));
  }

  const Machine& machine_;
  const GpuSources& sources_;
  const KfdGpu& kfd_;
  Report* report_;
  const KnownGpu* known_ = nullptr;
  const KnownTarget* target_ = nullptr;
  GpuReport gpu_;
};

}  // namespace

GpuReport JudgeGpu(const Machine& machine, const GpuSources& sources, Report* report) {
  return Judge(machine, sources, report).Run();
}

}  // namespace rochound::doctor
