// SPDX-License-Identifier: MIT
//
// The judge: whether a candidate gives the same results as a captured kernel, for a lower price,
// and nothing else. Everything that a candidate has a part in runs in child processes that are
// confined (confinement.h); its verdict follows from what they answer and from the files alone.
//
//   Open        reads the bundles and measures the captured kernel: that it can be replayed, what
//               it reads and writes. Once for all candidates.
//   JudgeFile   one candidate
//
// One thread; files only in a folder of its own, which goes away with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "capture/bundle.h"
#include "optimize/accesses.h"
#include "optimize/candidate.h"
#include "optimize/precision.h"
#include "optimize/verdict.h"
#include "profile/architecture.h"

namespace rochound::optimize {

struct JudgeOptions {
  std::string verify = "exact";     // as rochound replay takes it
  std::string as;                   // likewise
  std::filesystem::path reference;  // the kernel, computed with more precision; empty: none
  std::string validate;             // a command of the user's; empty: none
  double margin = 0.02;
  double timeout_seconds = 60;  // of a launch, at most
  uint64_t rounds = 5;
  uint64_t gpu_rounds = 50;
  uint64_t other_inputs = 2;
  bool special = true;  // NaN, infinities and the like among them
  bool on_gpu = false;  // measure on this machine's GPU, too
  std::vector<std::string> flags = {"-O3"};
  std::vector<std::filesystem::path> headers;  // files that sources may include, wherever they are
};

// What the command knows and this room does not.
struct JudgeTools {
  std::filesystem::path rochound;
  std::filesystem::path hipcc;
  std::filesystem::path temporary;      // for folders of its own; empty: the system's place
  std::string softgpu;                  // the software GPU that stands for the captured one
  std::filesystem::path machine = "/";  // where its sys folder is
  profile::Device device;
  std::optional<profile::Peaks> peaks;  // of that GPU
};

// A regular expression that matches this name alone.
std::string ExactPattern(const std::string& name);
// What a launch may read beside the bundle's memory, by the answer of rochound replay run.
void AddOwnMemory(const nlohmann::ordered_json& answer, ByteSet* readable);

class Judge {
 public:
  using Gate = std::function<std::optional<Rejection>(const Resources&)>;

  static base::Result<std::unique_ptr<Judge>> Open(
      const std::vector<std::filesystem::path>& bundles, const JudgeOptions& options,
      const JudgeTools& tools);

  // source: what the candidate was built from, or empty. gate: may reject by resources before
  // anything is launched. An error only where we could not do our
  // part; whatever a candidate does is a verdict.
  base::Result<Verdict> JudgeFile(const std::filesystem::path& candidate,
                                  const std::filesystem::path& source = {},
                                  const std::vector<std::string>& flags = {},
                                  const Gate& gate = nullptr);

  // The code object of the last candidate that was judged.
  const std::string& object() const { return object_; }
  const std::string& kernel() const { return kernel_; }
  const std::string& target() const { return processor_; }

 private:
  // One captured launch.
  struct Original {
    std::filesystem::path path;
    std::unique_ptr<capture::Bundle> bundle;
    std::unique_ptr<KernelFile> file;
    codeobj::SwapLaunch launch;
    std::string shape;
    double launch_seconds = 0;  // on the software GPU
    std::optional<Accesses> accesses;
    std::string not_traced;  // why there are none
    ByteSet touched;         // whole regions that it reads or writes
    bool races = false;      // its waves or workgroups do, in global memory
    // Other inputs that it bears: without a fault, and with the memory that it uses anyway.
    std::string integers;  // "range", "values"; empty: they stay
    bool special = false;
    std::vector<std::string> notes;
    Outputs precise;  // what the reference leaves
  };

  Judge(const JudgeOptions& options, const JudgeTools& tools, base::TempDir folder)
      : options_(options), tools_(tools), folder_(std::move(folder)) {}

  base::Result<void> AddBundle(const std::filesystem::path& path);
  base::Result<void> MeasureOriginal(Original* original);
  void FindInputs(Original* original);
  // How many elements such inputs change, and integers among them, if the captured kernel bears
  // them.
  struct Borne {
    bool ok = false;
    size_t elements = 0, integers = 0;
  };
  Borne TryInputs(const Original& original, const std::string& kind);
  base::Result<void> OpenReference();
  std::optional<Rejection> CheckPrecision(const Original& original,
                                          const std::filesystem::path& outputs,
                                          LaunchEvidence* evidence) const;
  base::Result<void> JudgeLaunch(const Original& original, const std::filesystem::path& file,
                                 LaunchEvidence* evidence);
  std::optional<Rejection> CheckAccesses(const Original& original,
                                         const std::filesystem::path& file, bool right,
                                         LaunchEvidence* evidence);
  std::optional<Rejection> Validate(const std::filesystem::path& outputs) const;
  base::Result<void> MeasureOnGpu(const Original& original, const std::filesystem::path& file,
                                  const nlohmann::ordered_json& counts, LaunchEvidence* evidence);
  std::optional<profile::KernelRoofline> RooflineOf(const nlohmann::ordered_json& counts) const;
  void AddRoofline(Verdict* verdict) const;
  void Finish(Rejection rejection, Verdict* verdict) const;
  // What a candidate could rely on: it is the same in all launches that were judged.
  std::vector<std::string> NotVaried(const Verdict& verdict) const;

  // What rochound says as JSON. arguments: after the command's name.
  base::Result<nlohmann::ordered_json> Ask(const std::vector<std::string>& arguments,
                                           double limit_seconds);
  std::vector<std::string> CompareArguments(const Original& original,
                                            const std::filesystem::path& file,
                                            uint64_t rounds) const;
  double LaunchLimit(const Original& original) const;

  JudgeOptions options_;
  JudgeTools tools_;
  base::TempDir folder_;
  std::string kernel_, demangled_, processor_;
  codeobj::Target gpu_;
  std::vector<Original> originals_;
  std::vector<std::string> gaps_;
  std::string object_;
  bool synchronises_ = false;  // the candidate orders workgroups by itself
};

}  // namespace rochound::optimize
