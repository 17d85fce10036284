// SPDX-License-Identifier: MIT
//
// A bundle made ready for launching: opened and checked, its addresses taken before the runtime
// could, its memory in place, its kernel and other builds of it loaded. Made once per process, on
// the main thread. What goes wrong ends the process through the Answer, each thing with its
// verdict; so nothing here returns errors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/bundle.h"
#include "capture/replay/answer.h"
#include "capture/replay/differences.h"
#include "capture/replay/launcher.h"
#include "capture/replay/memory.h"
#include "capture/replay/poison.h"
#include "capture/replay/runtime.h"
#include "capture/replay/steering.h"
#include "capture/replay/vary.h"
#include "codeobj/code_object.h"

namespace rochound::capture::replay {

struct Options {
  std::string mode;  // check, poison, run, compare
  std::filesystem::path bundle;
  std::vector<std::filesystem::path> hsacos;
  size_t iterations = 1;
  size_t warmup = 3;  // compare
  bool restore = true;
  bool verify = true;
  Tolerance tolerance;
  Element as = Element::kUnknown;
  double timeout = 60;
  size_t show = 10;
  int attempt = 0;
  int answer = 1;
  std::vector<Range> poison;  // run and compare: memory that the captured code writes, not reads
  bool looked_for_writes = true;  // run and compare: for such memory, whether any was found or not
  std::vector<size_t> read;       // poison: pieces that are known to be read
  size_t vary = 0;                // compare: how many other inputs are tried
  std::optional<InputKind> integers;  // compare: how integers are varied; none: they stay
  bool special = false;               // compare: special numbers are tried, too
  std::optional<InputKind> inputs;  // run: the captured code, from such inputs; nothing is compared
  bool count = false;               // compare: with what a software GPU counts
  std::filesystem::path
      dump;  // compare: a folder for what the first build and the captured one left
};

// One build of the kernel.
struct Candidate {
  std::string name;   // "captured", or the file
  std::string bytes;  // of another build's file
  std::span<const std::byte> object_bytes;
  std::unique_ptr<codeobj::CodeObject> object;  // of another build
  const codeobj::Kernel* kernel = nullptr;
  LoadedKernel loaded;
  Image image;
  std::vector<std::byte> kernarg;
  Packet packet;
  bool uses_gws = false;
  bool uses_captured_variables = false;  // which are in the captured code object's image
  std::string refused;                   // why it cannot be run; compare goes on without it
};

class Session {
 public:
  Session(const Options& options, std::vector<std::string> arguments, Answer& answer);

  // In this order. Check ends here, with what it found.
  void Open();
  void TakeAddresses();
  void Load();
  void Fill();

  std::vector<Candidate>& candidates() { return candidates_; }  // the captured one first
  Memory& memory() { return *memory_; }
  const Differences::Rules& rules() const { return rules_; }

  // Whether the captured launch left anything that only a kernel can have written.
  bool shows_writes() const { return memory_->captured_changes() || written_bytes_ > 0; }
  bool looked_for_writes() const { return options_.looked_for_writes; }

  // Ends the process if it faults or does not end.
  LaunchResult Launch(Candidate& candidate);
  // What a launch may take from now on, at most what the options say.
  void LimitTime(double seconds) { launcher_->set_timeout(std::min(options_.timeout, seconds)); }
  // Ends the process if memory cannot be moved.
  void Restore(Candidate& candidate);
  Differences Verify(Candidate& candidate, bool everything, Spread* spread = nullptr);

  // Pieces of memory that may be poisoned; see poison.h.
  std::vector<PoisonPiece> PlanPoison();
  // Runs the captured code from memory that is poisoned there. Whether it comes out as captured,
  // but for the pattern where it writes nothing; then later runs are compared with that.
  // touched, if not: where it seems to write.
  bool LearnPoison(std::vector<Range> ranges, std::vector<Range>* touched = nullptr);
  // Launches from that memory and compares. Afterwards memory has to be restored.
  Differences RunPoisoned(Candidate& candidate);
  const Poison* poison() const { return poison_.get(); }  // none: nothing was learned

  // Other inputs (vary.h): memory as before the launch, but for elements of this kind, and for what
  // the captured code writes. Runs the captured code from there; false: there is too much memory.
  bool StartVariation(uint64_t seed, InputKind kind);
  // Launches from that memory and compares with what the captured code left.
  Differences RunVaried(Candidate& candidate);
  // Brings memory back.
  void EndVariation();
  size_t varied_elements() const { return varied_elements_; }
  size_t varied_integers() const { return varied_integers_; }

  // Writes the regions that the captured launch changes, as it and as the candidate left them:
  // FOLDER/original and FOLDER/candidate, with outputs.json in each.
  void Dump(Candidate& candidate, const std::filesystem::path& folder);

  nlohmann::ordered_json DifferencesJson(const Differences& differences) const;
  // What was proved of results that are equal: in words, and what a tolerance let pass.
  void SayProof(const Tolerated& tolerated, size_t other_inputs,
                nlohmann::ordered_json* json) const;

  // False: the captured launch did not end, and there is nothing to compare with.
  bool has_results() const { return !manifest().launch.unfinished; }

  // What a launch of the candidate may touch beside the bundle's memory, by name.
  nlohmann::ordered_json OwnMemoryJson(const Candidate& candidate) const;

 private:
  // Bytes of a region that is compared, by its index.
  using Snapshot = std::vector<std::pair<uint32_t, std::vector<std::byte>>>;
  Snapshot ReadMemory();
  void WriteMemory(const Snapshot& snapshot);

  const Manifest& manifest() const { return bundle_->manifest(); }
  void CheckConsistency();
  void ChooseGpu();
  const Gpu& OwnerOf(int32_t agent) const;
  [[noreturn]] void InTheWay(const Obstacle& obstacle);
  void LoadCaptured();
  void LoadOther(const std::filesystem::path& file);
  base::Result<void> PrepareOther(const std::filesystem::path& file, Candidate* candidate);
  void PrepareGws();
  void MakeRules();
  [[noreturn]] void EndWith(const Candidate& candidate, const LaunchResult& result);
  void Must(const base::Result<void>& result, Verdict verdict = Verdict::kFailed);
  // Milliseconds since the last call, under this name in the answer.
  void Took(const char* step);

  const Options& options_;
  std::vector<std::string> arguments_;
  Answer& answer_;
  std::unique_ptr<Bundle> bundle_;
  std::unique_ptr<codeobj::CodeObject> object_;
  std::string demangled_;
  std::vector<Mapping> mappings_;
  Steering steering_;
  std::unique_ptr<Runtime> runtime_;
  const Gpu* gpu_ = nullptr;
  std::unique_ptr<Copier> copier_;
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<Memory> memory_;
  std::vector<Candidate> candidates_;
  Differences::Rules rules_;
  std::vector<Patch> patches_;
  std::string gws_init_bytes_;  // the runtime refers to them
  std::optional<Packet> gws_init_;
  std::unique_ptr<Poison> poison_;
  uint64_t written_bytes_ = 0;  // proven with poison
  bool kernarg_in_place_ = false;
  uint64_t last_ns_ = 0;
  Snapshot as_captured_, varied_, varied_after_;
  Differences::Rules varied_rules_;
  size_t varied_elements_ = 0, varied_integers_ = 0;
};

}  // namespace rochound::capture::replay
