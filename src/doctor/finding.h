// SPDX-License-Identifier: MIT
//
// What the doctor says: facts with all their sources side by side, and findings with the
// remedy. Filled by the parts of src/doctor, printed by the command line (text) and as JSON. Plain
// values, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace rochound::doctor {

enum class Severity { kOk, kNote, kWarning, kError };
const char* Name(Severity severity);

// kExplained: the sources differ, and that is right; why says so in words.
enum class Verdict { kAgree, kOneSource, kExplained, kWrong, kUnknown };
const char* Name(Verdict verdict);

struct Said {
  std::string source;  // KFD, DRM, HSA, HIP, amd-smi, known
  std::string value;
};

struct Fact {
  std::string name;
  std::vector<Said> said;
  Verdict verdict = Verdict::kUnknown;
  std::string why;
  bool detail = false;  // for those who want to know everything
};

struct Finding {
  Severity severity = Severity::kNote;
  std::string id;  // stable, for scripts: "kfd-permission"
  std::string what;
  std::string remedy;  // empty: nothing to do
  std::vector<std::string> evidence;
};

struct GpuReport {
  std::string name;
  std::string target;                     // gfx1030
  std::string pci;                        // 0000:03:00.0
  int node = -1;                          // KFD's
  std::vector<std::string> explanations;  // what a person should read first
  std::vector<Fact> facts;
};

struct Report {
  bool of_machine = true;  // false: of a run that was recorded; then there are no GPUs in it
  std::vector<GpuReport> gpus;
  std::vector<Fact> machine;
  std::vector<Finding> findings;

  Severity Worst() const;
};

nlohmann::ordered_json ToJson(const Report& report);

// For a terminal. colour: with escape sequences. width: of the terminal.
std::string ToText(const Report& report, bool colour, size_t width, bool all_facts);

}  // namespace rochound::doctor
