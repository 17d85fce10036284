// SPDX-License-Identifier: MIT
#include "probe/stream.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>

#include "base/files.h"
#include "codeobj/code_object.h"
#include "codeobj/elf_view.h"
#include "probe/foreign.h"
#include "probe/layout.h"

namespace rochound::probe {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using Json = nlohmann::json;

struct Place {  // a site, or a function
  std::optional<Site> site;
  std::string function;
  bool has_block_probes = false;  // the function
};

std::string StringOf(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

uint64_t NumberOf(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

std::vector<Location> Locations(const Json& json) {
  std::vector<Location> all;
  if (!json.is_array()) return all;
  for (const Json& one : json) {
    if (!one.is_object()) continue;
    all.push_back({StringOf(one, "file"), NumberOf(one, "line"), NumberOf(one, "column"),
                   StringOf(one, "function")});
  }
  return all;
}

void AddMachineParts(const Json& json, Site* site) {
  if (!json.is_array()) return;
  site->machine_known = true;
  for (const Json& one : json) {
    MachinePart& part = site->machine.emplace_back();
    part.instruction = StringOf(one, "instruction");
    part.bytes = NumberOf(one, "bytes");
    if (one.contains("offset") && one["offset"].is_number_integer())
      part.offset = one["offset"].get<int64_t>();
    part.scalar = one.contains("scalar");
    part.one_lane = one.contains("one_lane");
    part.once = one.contains("once");
  }
}

// A code object that a process had loaded.
class Module {
 public:
  static Result<std::unique_ptr<Module>> Open(const fs::path& file, uint64_t delta, uint64_t base,
                                              uint64_t size) {
    auto module = std::make_unique<Module>();
    ROCHOUND_TRY(module->bytes_, base::ReadFile(file));
    ROCHOUND_TRY(codeobj::ElfView elf, codeobj::ElfView::Open(module->bytes_));
    ROCHOUND_TRY(const codeobj::CodeObject object, codeobj::CodeObject::Parse(module->bytes_));
    module->elf_ = elf;
    module->delta_ = delta;
    module->base_ = base;
    module->size_ = size;
    module->text_left_ = module->bytes_.size();
    module->target_ = object.target().processor;
    for (const codeobj::Kernel& kernel : object.kernels())
      module->kernels_[kernel.descriptor_address + delta] = kernel;
    return module;
  }

  const std::string& target() const { return target_; }
  bool Has(uint64_t address) const { return address - base_ < size_; }

  const codeobj::Kernel* KernelAt(uint64_t object) const {
    const auto found = kernels_.find(object);
    return found != kernels_.end() ? &found->second : nullptr;
  }

  // Null: there is none.
  const Place* PlaceAt(uint64_t address) {
    const auto [known, fresh] = places_.try_emplace(address);
    if (fresh) known->second = Parse(address);
    return known->second.get();
  }

  // Everything that has no probe, from the text of all places, which is one constant. Not that of
  // other kernels than this one, as far as they would have sent messages.
  std::vector<UnprobedSite> Unprobed(uint64_t sites, const std::string& kernel) const {
    std::set<std::string> tell;  // functions with probes
    std::vector<UnprobedSite> all = AllUnprobed(sites, &tell);
    std::erase_if(all, [&](const UnprobedSite& site) {
      return site.function != kernel && HasKernel(site.function) && tell.contains(site.function);
    });
    return all;
  }

 private:
  bool HasKernel(const std::string& name) const {
    return std::any_of(kernels_.begin(), kernels_.end(),
                       [&](const auto& kernel) { return kernel.second.name == name; });
  }

  std::vector<UnprobedSite> AllUnprobed(uint64_t sites, std::set<std::string>* tell) const {
    std::vector<UnprobedSite> all;
    for (uint64_t at = sites;;) {
      const auto text = TextAt(at);
      if (!text || !text->starts_with("{")) return all;
      at += text->size() + 1;
      const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
      if (!json.is_object()) return all;
      if (StringOf(json, "is") == "unprobed")
        all.push_back({StringOf(json, "why"), StringOf(json, "function"),
                       Locations(json.contains("at") ? json["at"] : Json())});
      else if (StringOf(json, "is") == "function")
        tell->insert(StringOf(json, "function"));
    }
  }

  std::optional<std::string> TextAt(uint64_t address) const {
    // As long as anybody writes them: names of C++ functions.
    constexpr uint64_t kStep = 256;
    constexpr uint64_t kLongest = 1 << 20;
    std::string text;
    for (uint64_t step = kStep; text.size() < kLongest;) {
      const auto part = elf_.AtAddress(address - delta_ + text.size(), step);
      if (!part) {
        // The end of the section is near.
        if (step == 1) return std::nullopt;
        step = step / 2;
        continue;
      }
      const size_t end = part->find('\0');
      text.append(part->substr(0, end));
      if (end != std::string_view::npos) return text;
    }
    return std::nullopt;
  }

  std::unique_ptr<Place> Parse(uint64_t address) {
    const auto text = TextAt(address);
    // Blanks before it would make a place of each of them.
    if (!text || !text->starts_with("{")) return nullptr;
    // Texts do not overlap in memory, so all are in the file.
    if (text->size() > text_left_) return nullptr;
    const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return nullptr;
    text_left_ -= text->size();
    auto place = std::make_unique<Place>();
    place->function = StringOf(json, "function");
    const std::string is = StringOf(json, "is");
    place->has_block_probes = StringOf(json, "probes") == "blocks";
    if (is != "access" && is != "barrier" && is != "block" && is != "value") return place;
    Site site;
    site.action = is == "access" ? StringOf(json, "action") : is;
    site.block = NumberOf(json, "number");
    site.name = StringOf(json, "name");
    if (json.contains("branch")) {
      site.branches = true;
      site.branch = Locations(json["branch"]);
    }
    site.pointer = StringOf(json, "space");
    site.bytes = NumberOf(json, "bytes");
    if (json.contains("argument") && json["argument"].is_number_unsigned())
      site.argument = static_cast<int>(std::min(json["argument"].get<uint64_t>(), uint64_t{1024}));
    site.runtime = json.contains("runtime");
    site.is_volatile = json.contains("volatile");
    site.is_atomic = json.contains("atomic") || site.action == "atomic";
    if (json.contains("at")) site.at = Locations(json["at"]);
    if (json.contains("machine")) AddMachineParts(json["machine"], &site);
    place->site = std::move(site);
    return place;
  }

  std::string bytes_;
  codeobj::ElfView elf_;
  uint64_t delta_ = 0, base_ = 0, size_ = 0;
  uint64_t text_left_ = 0;  // that may still become places
  std::string target_;
  std::map<uint64_t, codeobj::Kernel> kernels_;
  std::unordered_map<uint64_t, std::unique_ptr<Place>> places_;
};

struct Wave {
  const Dispatch* dispatch = nullptr;
  bool chosen = true;
  Module* module = nullptr;
  const std::string* function = nullptr;
  uint64_t lanes = 0;
  uint64_t sites = 0;
  std::array<uint32_t, 3> group{};
  uint64_t group_number = 0;
  uint64_t wave = 0;
  uint32_t shared_base = 0;   // highest half of flat addresses of LDS
  uint32_t private_base = 0;  // and of scratch
};

uint32_t Low(uint64_t word) { return static_cast<uint32_t>(word); }
uint32_t High(uint64_t word) { return static_cast<uint32_t>(word >> 32); }

// One process's file.
class StreamReader {
 public:
  StreamReader(fs::path file, const std::function<bool(const std::string&)>& choose,
               Receiver* receiver, StreamSummary* summary, std::set<std::string>* names)
      : file_(std::move(file)),
        choose_(choose),
        receiver_(*receiver),
        summary_(*summary),
        names_(*names) {}

  Result<void> Read() {
    // A FIFO, say, would keep us waiting.
    ROCHOUND_TRY(const int descriptor, base::OpenRegularFile(file_));
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(fdopen(descriptor, "rb"), fclose);
    if (!in) {
      close(descriptor);
      return Error(fmt::format("cannot read '{}'", file_.string()));
    }
    std::vector<uint64_t> words;
    for (uint64_t header = 0;;) {
      const size_t got = fread(&header, 1, sizeof header, in.get());
      summary_.cut_off = summary_.cut_off || (got != 0 && got != sizeof header);
      if (got != sizeof header) break;
      const uint64_t length = header >> 32 & 0xff;
      if (header >> 48 != kRochoundProbeMagic || length == 0)
        return Error(fmt::format("'{}' is no stream of probes, or it is damaged", file_.string()));
      words.resize(length);
      words[0] = header;
      if (fread(words.data() + 1, sizeof header, length - 1, in.get()) != length - 1) {
        summary_.cut_off = true;
        break;
      }
      ROCHOUND_CHECK(Take(words));
    }
    ++summary_.processes;
    if (!ended_) ++summary_.without_end;
    summary_.dropped += dropped_;
    summary_.unwritten += unwritten_;
    summary_.unfinished += unfinished_;
    return {};
  }

 private:
  Result<void> Take(const std::vector<uint64_t>& words) {
    switch (words[0] >> 40 & 0xff) {
      case kRochoundProbeProcess:
        if (words.size() < 5) break;
        if (words[1] != kRochoundProbeVersion)
          return Error(
              fmt::format("'{}' was written by another version of rochound (format {}); "
                          "read it with that one",
                          file_.string(), words[1]));
        process_ = words[2];
        break;
      case kRochoundProbeModule:
        if (words.size() >= 5) return AddModule(words);
        break;
      case kRochoundProbeWave:
        if (words.size() == kRochoundProbeWaveWords) AddWave(words);
        break;
      case kRochoundProbeAccess:
        AddAccess(words);
        break;
      case kRochoundProbeBlock:
        AddBlock(words);
        break;
      case kRochoundProbeMemory:
        if (words.size() >= 4)
          receiver_.OnMemory({process_, words[1], words[3] == kRochoundProbeFreed ? 0 : words[2],
                              words[3] == kRochoundProbeMapped,
                              words.size() >= 5 && words[4] != 0});
        break;
      case kRochoundProbeWritten:
        if (words.size() >= 4) AddWritten(words);
        break;
      case kRochoundProbeArguments:
        if (words.size() >= 4)
          arguments_[{words[1], words[2]}].assign(words.begin() + 4, words.end());
        break;
      case kRochoundProbeForeignKernel:
        if (words.size() >= 3) foreign_.AddKernel(words, process_);
        break;
      case kRochoundProbeForeignMessage:
        if (words.size() >= 3) AddForeign(words);
        break;
      case kRochoundProbeEnd:
        if (words.size() < 5) break;
        ended_ = true;
        summary_.fault = summary_.fault || words[1] == 2;
        dropped_ = words[2];
        unwritten_ = words[3];
        unfinished_ = words[4];
        break;
      default:
        break;  // of a newer version, which means less to us
    }
    return {};
  }

  void AddWritten(const std::vector<uint64_t>& words) {
    using What = WrittenMessage::What;
    const What what = words[3] == kRochoundProbeWrittenBytes        ? What::kBytes
                      : words[3] == kRochoundProbeWrittenAllocation ? What::kAllocation
                      : words[3] == kRochoundProbeWritesTold        ? What::kAllTold
                      : words[3] == kRochoundProbeWrittenCopy       ? What::kCopy
                                                                    : What::kAll;
    receiver_.OnWritten({process_, what, words[1], words[2], words.size() >= 5 ? words[4] : 0});
  }

  Result<void> AddModule(const std::vector<uint64_t>& words) {
    std::string name(reinterpret_cast<const char*>(words.data() + 5), (words.size() - 5) * 8);
    name.resize(strnlen(name.data(), name.size()));
    if (name.empty() || name.find('/') != std::string::npos)
      return Error(fmt::format("'{}' names a code object outside of its folder", file_.string()));
    // Each is a file of its own; all that are named stay in memory.
    if (!names_.insert(name).second)
      return Error(fmt::format("'{}' names the code object '{}' twice; it is damaged",
                               file_.string(), name));
    ROCHOUND_TRY(auto module,
                 Module::Open(file_.parent_path() / name, words[1], words[2], words[3]));
    // What was loaded at the same place before is gone.
    for (auto& other : modules_) {
      if (!other->Has(words[2])) continue;
      for (auto& [ticket, wave] : waves_)
        if (wave.module == other.get()) wave.module = nullptr;
      gone_.push_back(std::move(other));
    }
    std::erase(modules_, nullptr);
    modules_.push_back(std::move(module));
    return {};
  }

  Module* ModuleAt(uint64_t address) const {
    for (const auto& module : modules_)
      if (module->Has(address)) return module.get();
    return nullptr;
  }

  const Dispatch* DispatchOf(const std::vector<uint64_t>& words, bool* chosen) {
    // The packet's header is none of its facts: the GPU changes it.
    const std::array<uint64_t, 5> facts = {words[4], words[5], words[10], words[11], words[13]};
    const auto [known, fresh] = dispatches_.try_emplace(facts);
    Known& dispatch = known->second;
    if (fresh) {
      Dispatch& facts_of = dispatch.facts;
      facts_of.process = process_;
      facts_of.number = summary_.launched++;
      // As AQL has it: header and setup, three sizes of 16 bits, three of 32.
      facts_of.workgroup = {High(words[9]) & 0xffff, High(words[9]) >> 16, Low(words[10]) & 0xffff};
      facts_of.grid = {High(words[10]), Low(words[11]), High(words[11])};
      facts_of.lds_bytes = High(words[12]);
      facts_of.wave_size = High(words[2]);
      if (Module* const module = ModuleAt(words[13])) {
        facts_of.target = module->target();
        if (const codeobj::Kernel* const kernel = module->KernelAt(words[13])) {
          facts_of.kernel = kernel->name;
          ReadArguments(*kernel, {words[4], words[5]}, &facts_of);
        }
      }
      dispatch.chosen = !choose_ || choose_(facts_of.kernel);
      if (dispatch.chosen)
        ++summary_.dispatches;
      else  // what it writes is not handed on
        receiver_.OnWritten({process_, WrittenMessage::What::kAll, 0, 0});
    }
    *chosen = dispatch.chosen;
    return &dispatch.facts;
  }

  void ReadArguments(const codeobj::Kernel& kernel, const std::pair<uint64_t, uint64_t>& which,
                     Dispatch* dispatch) {
    const auto found = arguments_.find(which);
    if (found == arguments_.end()) return;
    const std::vector<uint64_t>& words = found->second;
    for (size_t i = 0; i < kernel.ExplicitArguments(); ++i) {
      const codeobj::Argument& argument = kernel.arguments[i];
      Dispatch::Argument& one = dispatch->arguments.emplace_back();
      one.name = argument.name;
      if (!argument.pointer() || argument.offset % sizeof(uint64_t) != 0 ||
          argument.offset / sizeof(uint64_t) >= words.size())
        continue;
      one.pointer = true;
      one.value = words[argument.offset / sizeof(uint64_t)];
    }
    arguments_.erase(found);
  }

  void AddWave(const std::vector<uint64_t>& words) {
    Wave wave;
    wave.dispatch = DispatchOf(words, &wave.chosen);
    wave.sites = words[3];
    wave.module = ModuleAt(words[3]);
    const Place* const place =
        wave.module != nullptr ? wave.module->PlaceAt(words[3] + Low(words[2])) : nullptr;
    static const std::string kUnknown;
    wave.function = place != nullptr ? &place->function : &kUnknown;
    // What a kernel that was never launched would do, it did not do.
    if (wave.module != nullptr &&
        seen_sites_.insert({words[3], wave.module, wave.dispatch->kernel}).second) {
      for (UnprobedSite& site : wave.module->Unprobed(words[3], wave.dispatch->kernel))
        if (std::find(summary_.unprobed.begin(), summary_.unprobed.end(), site) ==
            summary_.unprobed.end())
          summary_.unprobed.push_back(std::move(site));
    }
    wave.group = {Low(words[6]), High(words[6]), Low(words[7])};
    const Dispatch& dispatch = *wave.dispatch;
    const auto groups = [&](int i) -> uint64_t {
      return dispatch.workgroup[i] == 0
                 ? 1
                 : (uint64_t{dispatch.grid[i]} + dispatch.workgroup[i] - 1) / dispatch.workgroup[i];
    };
    wave.group_number =
        wave.group[0] + groups(0) * (wave.group[1] + groups(1) * uint64_t{wave.group[2]});
    const uint32_t item = High(words[7]);
    const uint64_t flat =
        (item & 1023) + dispatch.workgroup[0] *
                            ((item >> 10 & 1023) + uint64_t{dispatch.workgroup[1]} * (item >> 20));
    const uint32_t wave_size = High(words[2]);
    wave.wave = wave_size != 0 ? flat / wave_size : 0;
    wave.shared_base = Low(words[8]);
    wave.private_base = High(words[8]);
    wave.lanes = words[1];
    waves_[Low(words[0])] = wave;
    ++summary_.waves;
    if (place != nullptr && place->has_block_probes) ++summary_.block_waves;
  }

  // The wave and the place of a message, which is as long as it says; null: it is not understood.
  std::pair<const Wave*, const Site*> WhoAndWhere(const std::vector<uint64_t>& words) {
    const auto found = waves_.find(words.size() >= 4 ? High(words[2]) : 0);
    if (found != waves_.end() && found->second.module != nullptr) {
      const Wave& wave = found->second;
      const Place* const place = wave.module->PlaceAt(wave.sites + Low(words[2]));
      if (place != nullptr && place->site) return {&wave, &*place->site};
    }
    ++summary_.not_understood;
    return {nullptr, nullptr};
  }

  void AddBlock(const std::vector<uint64_t>& words) {
    const auto [wave, site] = WhoAndWhere(words);
    if (wave == nullptr || !wave->chosen) return;
    if (words.size() != kRochoundProbeBlockWords || site->action != "block") {
      ++summary_.not_understood;
      return;
    }
    ++summary_.blocks;
    receiver_.OnBlock({wave->dispatch, wave->function, wave->group, wave->group_number, wave->wave,
                       site, wave->lanes, words[1], words[3], words[4], words[5]});
  }

  void AddAccess(const std::vector<uint64_t>& words) {
    const auto [who, where] = WhoAndWhere(words);
    if (who == nullptr || !who->chosen) return;
    if (words.size() != kRochoundProbeAccessWords + static_cast<size_t>(std::popcount(words[1])) ||
        where->action == "block") {
      ++summary_.not_understood;
      return;
    }
    const Wave& wave = *who;
    const Site& site = *where;
    if (site.action == "barrier") {
      ++summary_.barriers;
      receiver_.OnBarrier({wave.dispatch, wave.group_number, wave.wave, &site});
      return;
    }
    if (site.action == "value") {
      ++summary_.values;
      addresses_.assign(words.begin() + kRochoundProbeAccessWords, words.end());
      receiver_.OnValue({wave.dispatch, wave.function, wave.group, wave.group_number, wave.wave,
                         &site, words[1], &addresses_});
      return;
    }
    ++summary_.accesses;
    const bool flat = site.pointer == "flat";
    AccessMessage message{wave.dispatch, wave.function, wave.group, wave.group_number,
                          wave.wave,     &site,         "",         0,
                          &addresses_,   High(words[2])};
    for (const char* const space : {"lds", "global", "scratch"}) {
      const auto is = [&](uint64_t address) {
        if (!flat) return (site.pointer == "lds") == (*space == 'l') && *space != 's';
        const char* const where = High(address) == wave.shared_base    ? "lds"
                                  : High(address) == wave.private_base ? "scratch"
                                                                       : "global";
        return strcmp(where, space) == 0;
      };
      addresses_.clear();
      message.mask = 0;
      message.space = space;
      size_t at = kRochoundProbeAccessWords;
      for (uint64_t left = words[1]; left != 0; left &= left - 1) {
        const uint64_t address = words[at++];
        if (!is(address)) continue;
        message.mask |= left & (~left + 1);
        addresses_.push_back(*space == 'g' ? address : Low(address));
      }
      if (message.mask != 0) receiver_.OnAccess(message);
    }
  }

  void AddForeign(const std::vector<uint64_t>& words) {
    const auto message = foreign_.Read(words);
    if (!message) {
      ++summary_.not_understood;
      return;
    }
    ForeignKernel& kernel = *message->kernel;
    if (kernel.fresh) {
      kernel.fresh = false;
      kernel.chosen = choose_(kernel.dispatch.kernel);
      kernel.dispatch.number = summary_.launched++;
      if (kernel.chosen) ++summary_.dispatches;
    }
    if (!kernel.chosen) return;
    if (kernel.waves.emplace(message->group_number, message->wave).second) ++summary_.waves;
    ++summary_.accesses;
    receiver_.OnAccess({&kernel.dispatch, &kernel.dispatch.kernel, message->group,
                        message->group_number, message->wave, message->site, message->space,
                        message->mask, &message->addresses});
  }

  struct Known {
    Dispatch facts;
    bool chosen = true;
  };

  const fs::path file_;
  const std::function<bool(const std::string&)>& choose_;
  Receiver& receiver_;
  StreamSummary& summary_;
  uint64_t process_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<uint64_t>> arguments_;  // of new dispatches
  std::set<std::string>& names_;  // of the code objects of all processes
  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<std::unique_ptr<Module>> gone_;  // whose sites a receiver may still know
  std::map<std::array<uint64_t, 5>, Known> dispatches_;
  std::unordered_map<uint32_t, Wave>
      waves_;  // by the lowest half of their first message's position
  std::set<std::tuple<uint64_t, const Module*, std::string>> seen_sites_;
  std::vector<uint64_t> addresses_;
  ForeignReader foreign_;
  uint64_t dropped_ = 0, unwritten_ = 0, unfinished_ = 0;
  bool ended_ = false;
};

}  // namespace

bool UnprobedSite::operator==(const UnprobedSite& other) const {
  const auto line = [](const UnprobedSite& site) { return site.at.empty() ? 0 : site.at[0].line; };
  return why == other.why && function == other.function && line(*this) == line(other);
}

Result<StreamSummary> ReadStreams(const fs::path& folder,
                                  const std::function<bool(const std::string&)>& choose,
                                  Receiver* receiver) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".probe") files.push_back(it->path());
  if (error) return base::ErrnoError("cannot read the folder", folder, error.value());
  std::sort(files.begin(), files.end());
  StreamSummary summary;
  std::set<std::string> names;
  // All live until the end, as the receiver was promised.
  std::vector<std::unique_ptr<StreamReader>> readers;
  for (const fs::path& file : files) {
    readers.push_back(std::make_unique<StreamReader>(file, choose, receiver, &summary, &names));
    ROCHOUND_CHECK(readers.back()->Read());
  }
  return summary;
}

}  // namespace rochound::probe
