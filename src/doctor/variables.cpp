// SPDX-License-Identifier: MIT
#include "doctor/variables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <sstream>

#include "doctor/mapped_file.h"

namespace rochound::doctor {
namespace {

constexpr const char* kPrefixes[] = {"HSA_", "HSAKMT_", "ROCR_", "HIP_",
                                     "GPU_", "AMD_",    "ROC_",  "ROCCLR_"};

// Read by compilers, build systems and tools, not by the runtimes.
constexpr const char* kOthers[] = {"HIP_PATH",
                                   "HIP_PLATFORM",
                                   "HIP_COMPILER",
                                   "HIP_RUNTIME",
                                   "HIP_CLANG_PATH",
                                   "HIP_LIB_PATH",
                                   "HIP_DEVICE_LIB_PATH",
                                   "HIP_ARCHITECTURES",
                                   "HIP_ROCCLR_HOME",
                                   "HSA_PATH",
                                   "ROC_PATH",
                                   "GPU_TARGETS",
                                   "GPU_ARCHS",
                                   "HIP_DIR",
                                   "HIP_VERSION",
                                   "HIP_USE_PERL_SCRIPTS",
                                   "AMD_COMGR_CACHE",
                                   "AMD_COMGR_CACHE_DIR",
                                   "AMD_COMGR_CACHE_POLICY",
                                   "GPU_MAX_BUFFER_SIZE"};

struct Remark {
  const char* name;
  const char* value;  // nullptr: any
  Severity severity;
  const char* what;
};

constexpr Remark kRemarks[] = {
    {"HIP_LAUNCH_BLOCKING", "1", Severity::kNote,
     "every kernel launch waits for its end; good for finding a fault, slow otherwise"},
    {"AMD_SERIALIZE_KERNEL", nullptr, Severity::kNote,
     "kernels run one at a time; good for finding a fault, slow otherwise"},
    {"AMD_SERIALIZE_COPY", nullptr, Severity::kNote, "copies run one at a time, which is slow"},
    {"HSA_ENABLE_SDMA", "0", Severity::kNote,
     "copies are made by compute kernels instead of the copy engines, and take time from yours"},
    {"AMD_LOG_LEVEL", nullptr, Severity::kNote, "HIP writes a log, which slows it down"},
    {"HSA_ENABLE_INTERRUPT", "0", Severity::kNote,
     "waiting for the GPU keeps a CPU core busy instead of sleeping"},
};

bool HasPrefix(std::string_view name) {
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](const char* prefix) { return name.rfind(prefix, 0) == 0; });
}

size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::vector<std::string> Items(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) items.push_back(item);
  return items;
}

// As the runtimes read it: decimal, or hexadecimal with 0x.
std::optional<uint64_t> Number(const std::string& text) {
  if (text.empty() || isdigit(static_cast<unsigned char>(text[0])) == 0) return std::nullopt;
  char* end = nullptr;
  const uint64_t number = strtoull(text.c_str(), &end, text.starts_with("0x") ? 16 : 10);
  return *end == '\0' ? std::optional(number) : std::nullopt;
}

// Whether a GPU here has this identity: GPU-<unique id>, or the beginning of one.
bool IsIdentityHere(const Machine& machine, const std::string& item) {
  std::string wanted = item.substr(4);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return static_cast<char>(tolower(c)); });
  return std::any_of(machine.kfd.begin(), machine.kfd.end(), [&](const KfdGpu& gpu) {
    const uint64_t own = gpu.Get("unique_id");
    return !wanted.empty() && own != 0 && fmt::format("{:016x}", own).starts_with(wanted);
  });
}

void JudgeMasks(const Machine& machine, Report* report) {
  const Environment& environment = machine.environment;
  size_t visible = machine.kfd.size();
  if (visible == 0) return;
  const auto check = [&](const char* name, const std::string& within) {
    const auto found = environment.find(name);
    if (found == environment.end()) return;
    const std::vector<std::string> items = Items(found->second);
    size_t good = 0;
    for (const std::string& item : items) {
      const std::optional<uint64_t> number = Number(item);
      if (!number) {
        // -1 and others hide what follows.
        if (!item.starts_with("GPU-")) break;
        if (!IsIdentityHere(machine, item)) {
          report->findings.push_back(
              {Severity::kError,
               "mask-unknown-gpu",
               fmt::format("{}={} names {}, but no GPU here has that identity: programs see no GPU "
                           "from there on",
                           name, found->second, item),
               fmt::format("rocminfo shows each GPU's Uuid; or use numbers from 0 to {}, or unset "
                           "{}",
                           visible - 1, name),
               {}});
          break;
        }
      } else if (*number >= visible) {
        report->findings.push_back(
            {Severity::kError,
             "mask-out-of-range",
             fmt::format("{}={} names GPU {}, but there are only {}{}: programs see no GPU from "
                         "there on",
                         name, found->second, item, visible, within),
             fmt::format("use numbers from 0 to {}, or unset {}", visible - 1, name),
             {}});
        break;
      }
      ++good;
    }
    if (good == 0) {
      report->findings.push_back({Severity::kWarning,
                                  "mask-hides-all",
                                  fmt::format("{}={} hides every GPU", name,
                                              found->second.empty() ? "(empty)" : found->second),
                                  fmt::format("unset {}, or name a GPU", name),
                                  {}});
    }
    visible = good;
  };
  check("ROCR_VISIBLE_DEVICES", "");
  const bool masked = environment.contains("ROCR_VISIBLE_DEVICES");
  const bool hip = environment.contains("HIP_VISIBLE_DEVICES");
  if (visible != 0)
    check(hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES",
          masked ? " left by ROCR_VISIBLE_DEVICES, and HIP counts these" : "");
  const std::string cuda = Variable(environment, "CUDA_VISIBLE_DEVICES");
  if (hip && !cuda.empty() && cuda != Variable(environment, "HIP_VISIBLE_DEVICES")) {
    report->findings.push_back(
        {Severity::kWarning,
         "masks-contradict",
         fmt::format("HIP_VISIBLE_DEVICES={} and CUDA_VISIBLE_DEVICES={} differ; HIP takes the "
                     "first and ignores the second, frameworks may do otherwise",
                     Variable(environment, "HIP_VISIBLE_DEVICES"), cuda),
         "set one of them only",
         {}});
  }
}

void JudgeValues(const Machine& machine, Report* report) {
  for (const Remark& remark : kRemarks) {
    const auto found = machine.environment.find(remark.name);
    if (found == machine.environment.end() || found->second.empty() ||
        (remark.value != nullptr ? found->second != remark.value : found->second == "0"))
      continue;
    report->findings.push_back({remark.severity,
                                "variable-effect",
                                fmt::format("{}={}: {}", remark.name, found->second, remark.what),
                                fmt::format("unset {} if you do not need it", remark.name),
                                {}});
  }
  const std::string version = Variable(machine.environment, "HSA_OVERRIDE_GFX_VERSION");
  if (!version.empty() && OverriddenTarget(machine.environment).empty()) {
    report->findings.push_back(
        {Severity::kError,
         "override-malformed",
         fmt::format("HSA_OVERRIDE_GFX_VERSION={} is not understood, and the runtime then sees no "
                     "GPU",
                     version),
         "write it with two dots, as in 10.3.0 for gfx1030 and 11.0.0 for gfx1100",
         {}});
  }
  for (const char* name : {"LD_PRELOAD", "HSA_TOOLS_LIB"}) {
    std::string list = Variable(machine.environment, name);
    std::replace(list.begin(), list.end(), ':', ' ');
    std::istringstream words(list);
    for (std::string word; words >> word;) {
      if (word[0] != '/' || machine.root.Exists(word)) continue;
      report->findings.push_back({Severity::kWarning,
                                  "preload-missing",
                                  fmt::format("{} names {}, which does not exist", name, word),
                                  fmt::format("correct the path or unset {}", name),
                                  {}});
    }
  }
}

}  // namespace

std::string OverriddenTarget(const Environment& environment) {
  const std::string version = Variable(environment, "HSA_OVERRIDE_GFX_VERSION");
  unsigned major = 0, minor = 0, step = 0;
  char more = 0;
  if (sscanf(version.c_str(), "%u.%u.%u%c", &major, &minor, &step, &more) != 3 || major > 63 ||
      minor > 255 || step > 255)
    return {};
  return fmt::format("gfx{}{:x}{:x}", major, minor, step);
}

Reads ReadsVariable(std::string_view library, const std::string& name) {
  using namespace std::string_literals;  // NOLINT: for "\0"s
  const std::string text = "\0"s + name + "\0"s;
  if (library.find(std::string_view(text)) != std::string_view::npos) return Reads::kYes;
  // A format such as HSA_OVERRIDE_GFX_VERSION_%d.
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits < name.size() && digits > 0) {
    const std::string pattern = "\0"s + name.substr(0, digits) + "%d\0"s;
    if (library.find(std::string_view(pattern)) != std::string_view::npos) return Reads::kYes;
  }
  // Texts of up to 16 bytes are often written by two instructions: the first eight bytes, then the
  // end, close by.
  if (name.size() < 9 || name.size() > 16) return Reads::kNo;
  const std::string start = name.substr(0, 8);
  const size_t rest = name.size() - 8;
  const size_t tail = rest <= 2 ? rest : rest <= 4 ? 4 : 8;
  const std::string end = name.substr(name.size() - std::min(tail, name.size()));
  constexpr size_t kNear = 64;
  for (size_t at = library.find(start); at != std::string_view::npos;
       at = library.find(start, at + 1)) {
    const size_t found = library.substr(at, kNear + 8).find(end);
    if (found != std::string_view::npos) return Reads::kPerhaps;
  }
  return Reads::kNo;
}

std::set<std::string> VariablesIn(std::string_view library) {
  std::set<std::string> names;
  for (const char* prefix : kPrefixes) {
    const std::string start = std::string(1, '\0') + prefix;
    for (size_t at = library.find(start); at != std::string_view::npos;
         at = library.find(start, at + 1)) {
      const std::string_view text = library.substr(at + 1, 64);
      const size_t end = text.find('\0');
      if (end == std::string_view::npos) continue;
      const std::string name(text.substr(0, end));
      if (name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos)
        names.insert(name);
    }
  }
  return names;
}

void JudgeVariables(const Machine& machine, const std::vector<std::string>& libraries,
                    Report* report) {
  JudgeMasks(machine, report);
  JudgeValues(machine, report);
  std::vector<std::pair<std::string, std::unique_ptr<MappedFile>>> files;
  for (const std::string& path : libraries) {
    auto file = std::make_unique<MappedFile>(machine.root.Place(path));
    if (!file->bytes().empty()) files.emplace_back(path, std::move(file));
  }
  if (files.empty()) return;
  for (const auto& [name, value] : machine.environment) {
    if (!HasPrefix(name) ||
        std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers))
      continue;
    std::vector<std::string> readers;
    bool perhaps = false;
    for (const auto& [path, file] : files) {
      const Reads reads = ReadsVariable(file->bytes(), name);
      if (reads == Reads::kNo) continue;
      readers.push_back(path);
      perhaps |= reads == Reads::kPerhaps;
    }
    if (!readers.empty()) {
      report->findings.push_back({Severity::kOk,
                                  "variable-read",
                                  fmt::format("{}={} is {}read by {}", name, value,
                                              perhaps ? "probably " : "", fmt::join(readers, ", ")),
                                  "",
                                  {}});
      continue;
    }
    std::string nearest;
    size_t best = name.size() / 4 + 1;
    for (const auto& [path, file] : files) {
      for (const std::string& known : VariablesIn(file->bytes())) {
        const size_t distance = Distance(name, known);
        if (distance >= best) continue;
        best = distance;
        nearest = known;
      }
    }
    std::vector<std::string> evidence;
    for (const auto& [path, file] : files) evidence.push_back("its name does not occur in " + path);
    report->findings.push_back(
        {Severity::kWarning, "dead-variable",
         fmt::format(
             "{}={} is set, but no runtime that is installed here reads such a variable: it "
             "does nothing",
             name, value),
         nearest.empty() ? fmt::format("unset {}; it may be of another release, or never have "
                                       "existed",
                                       name)
                         : fmt::format("did you mean {}? Otherwise unset {}", nearest, name),
         std::move(evidence)});
  }
}

}  // namespace rochound::doctor
