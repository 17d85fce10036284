// SPDX-License-Identifier: MIT
#include "probe/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <rochound/analyzer.h>

#include <unordered_map>
#include <utility>
#include <vector>

namespace rochound::probe {
namespace {

using base::Error;
using base::Result;

std::vector<rochound_probe_location> Locations(const std::vector<Location>& at) {
  std::vector<rochound_probe_location> all;
  for (const Location& one : at)
    all.push_back({one.file.c_str(), one.function.c_str(), one.line, one.column});
  return all;
}

Result<const rochound_analyzer_functions*> FunctionsOf(const std::filesystem::path& library) {
  // A path with a slash is never looked for elsewhere.
  void* const loaded = dlopen(std::filesystem::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return Error(fmt::format("cannot load the analyzer: {}", dlerror()));
  const auto entry =
      reinterpret_cast<decltype(&rochound_analyzer)>(dlsym(loaded, "rochound_analyzer"));
  if (entry == nullptr)
    return Error(
        fmt::format("'{}' is no analyzer of rochound: it exports no function rochound_analyzer "
                    "(include/rochound/analyzer.h)",
                    library.string()));
  const rochound_analyzer_functions* const functions = entry();
  if (functions == nullptr || functions->version == 0 ||
      functions->version > ROCHOUND_ANALYZER_VERSION)
    return Error(
        fmt::format("'{}' was built for version {} of rochound/analyzer.h; this rochound "
                    "has version {}",
                    library.string(), functions == nullptr ? 0 : functions->version,
                    ROCHOUND_ANALYZER_VERSION));
  if (functions->create == nullptr || functions->answer == nullptr)
    return Error(fmt::format("'{}' has no create or no answer", library.string()));
  return functions;
}

class PluginAnalyzer final : public Plugin {
 public:
  PluginAnalyzer(const rochound_analyzer_functions& functions, const AnalyzerOutput& output);
  ~PluginAnalyzer() override;

  Needs needs() const override;
  bool failed() const override { return failed_; }

  void OnAccess(const AccessMessage& message) override;
  void OnBarrier(const BarrierMessage& message) override;
  void OnBlock(const BlockMessage& message) override;
  void OnValue(const ValueMessage& message) override;
  void OnMemory(const MemoryMessage& message) override;
  // Empty: it writes by itself.
  std::string Answer(const StreamSummary& summary) override;

 private:
  // What the library calls with `host` must find the file.
  struct Host {
    rochound_analyzer_host host;
    std::FILE* file;
  };
  // The reader's own do not live until the answer.
  struct KnownSite {
    Site copy;
    rochound_probe_site site;
    std::vector<rochound_probe_location> at, branch;
  };
  struct KnownDispatch {
    Dispatch copy;
    rochound_probe_dispatch dispatch;
  };

  const rochound_probe_dispatch* Known(const Dispatch* dispatch);
  const rochound_probe_site* Known(const Site* site);
  template <typename Message>
  rochound_probe_wave WaveOf(const Message& message);

  const rochound_analyzer_functions& functions_;
  std::unique_ptr<Host> host_;
  void* self_ = nullptr;
  bool failed_ = false;
  std::unordered_map<const Dispatch*, std::unique_ptr<KnownDispatch>> dispatches_;
  std::unordered_map<const Site*, std::unique_ptr<KnownSite>> sites_;
};

PluginAnalyzer::PluginAnalyzer(const rochound_analyzer_functions& functions,
                               const AnalyzerOutput& output)
    : functions_(functions), host_(std::make_unique<Host>()) {
  host_->host.format =
      output.format == AnswerFormat::kTable ? ROCHOUND_FORMAT_TABLE : ROCHOUND_FORMAT_JSONL;
  host_->host.write = [](const rochound_analyzer_host* host, const char* text, size_t length) {
    std::fwrite(text, 1, length, reinterpret_cast<const Host*>(host)->file);
  };
  host_->file = output.file;
  self_ = functions_.create(&host_->host);
}

PluginAnalyzer::~PluginAnalyzer() {
  if (functions_.destroy != nullptr) functions_.destroy(self_);
}

Needs PluginAnalyzer::needs() const {
  return functions_.needs == ROCHOUND_NEEDS_ACCESSES ? Needs::kAccesses
         : functions_.needs == ROCHOUND_NEEDS_BLOCKS ? Needs::kBlocks
                                                     : Needs::kAny;
}

const rochound_probe_dispatch* PluginAnalyzer::Known(const Dispatch* from) {
  std::unique_ptr<KnownDispatch>& known = dispatches_[from];
  if (known == nullptr) {
    known = std::make_unique<KnownDispatch>(KnownDispatch{*from, {}});
    const Dispatch& dispatch = known->copy;
    known->dispatch = {dispatch.process,
                       dispatch.number,
                       dispatch.kernel.c_str(),
                       dispatch.target.c_str(),
                       {dispatch.grid[0], dispatch.grid[1], dispatch.grid[2]},
                       {dispatch.workgroup[0], dispatch.workgroup[1], dispatch.workgroup[2]},
                       dispatch.lds_bytes,
                       dispatch.wave_size};
  }
  return &known->dispatch;
}

const rochound_probe_site* PluginAnalyzer::Known(const Site* from) {
  std::unique_ptr<KnownSite>& known = sites_[from];
  if (known == nullptr) {
    known = std::make_unique<KnownSite>(KnownSite{*from, {}, {}, {}});
    const Site& site = known->copy;
    known->at = Locations(site.at);
    known->branch = Locations(site.branch);
    known->site = {site.action.c_str(), site.pointer.c_str(), site.bytes,    site.argument,
                   site.is_volatile,    site.is_atomic,       site.branches, 0,
                   known->at.data(),    known->at.size(),     site.block,    known->branch.data(),
                   known->branch.size()};
  }
  return &known->site;
}

template <typename Message>
rochound_probe_wave PluginAnalyzer::WaveOf(const Message& message) {
  return {Known(message.dispatch),
          message.function->c_str(),
          {message.group[0], message.group[1], message.group[2]},
          message.group_number,
          message.wave};
}

void PluginAnalyzer::OnAccess(const AccessMessage& message) {
  if (functions_.on_access == nullptr) return;
  const rochound_probe_access access = {
      WaveOf(message), Known(message.site),       message.space,
      message.mask,    message.addresses->data(), message.addresses->size()};
  functions_.on_access(self_, &access);
}

void PluginAnalyzer::OnBarrier(const BarrierMessage& message) {
  if (functions_.on_barrier == nullptr) return;
  const rochound_probe_barrier barrier = {Known(message.dispatch), Known(message.site),
                                          message.group_number, message.wave};
  functions_.on_barrier(self_, &barrier);
}

void PluginAnalyzer::OnBlock(const BlockMessage& message) {
  if (functions_.on_block == nullptr) return;
  const rochound_probe_block block = {WaveOf(message), Known(message.site), message.began_with,
                                      message.mask,    message.way,         message.clock,
                                      message.cycles};
  functions_.on_block(self_, &block);
}

void PluginAnalyzer::OnValue(const ValueMessage& message) {
  if (functions_.on_value == nullptr) return;
  const rochound_probe_site* const site = Known(message.site);
  const rochound_probe_value value = {
      WaveOf(message),       site, message.site->name.c_str(), message.mask, message.values->data(),
      message.values->size()};
  functions_.on_value(self_, &value);
}

void PluginAnalyzer::OnMemory(const MemoryMessage& message) {
  if (functions_.on_memory == nullptr) return;
  const rochound_probe_memory memory = {message.process, message.base, message.size};
  functions_.on_memory(self_, &memory);
}

std::string PluginAnalyzer::Answer(const StreamSummary& summary) {
  const rochound_probe_summary told = {
      summary.dispatches, summary.waves,  summary.accesses,
      summary.barriers,   summary.blocks, summary.Incomplete() ? uint64_t{1} : uint64_t{0}};
  failed_ = functions_.answer(self_, &told) != 0;
  return {};
}

}  // namespace

bool IsPluginName(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".so");
}

Result<void> CheckPlugin(const std::filesystem::path& library) {
  ROCHOUND_CHECK(FunctionsOf(library));
  return {};
}

Result<std::unique_ptr<Plugin>> LoadPlugin(const std::filesystem::path& library,
                                           const AnalyzerOutput& output) {
  ROCHOUND_TRY(const rochound_analyzer_functions* const functions, FunctionsOf(library));
  return std::unique_ptr<Plugin>(std::make_unique<PluginAnalyzer>(*functions, output));
}

}  // namespace rochound::probe
