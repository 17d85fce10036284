// SPDX-License-Identifier: MIT
#include "doctor/fault/record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/files.h"
#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "contract/fault_record.h"
#include "doctor/topology.h"

namespace rochound::doctor {
namespace {

namespace fault = contract::fault_record;

namespace fs = std::filesystem;
using Json = nlohmann::json;
using base::Error;
using base::Result;

uint64_t Address(const Json& json) {
  const auto text = json.get<std::string>();
  uint64_t number = 0;
  if (text.starts_with("0x"))
    std::from_chars(text.data() + 2, text.data() + text.size(), number, 16);
  return number;
}

std::string Bytes(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    uint8_t byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

// Of what is not there, zeros: offsets are the file's word.
uint64_t Word(std::string_view bytes, uint64_t at) {
  uint64_t word = 0;
  const std::string_view there = bytes.substr(std::min<uint64_t>(at, bytes.size()), sizeof word);
  std::memcpy(&word, there.data(), there.size());
  return word;
}

void AddArguments(const codeobj::Kernel& kernel, std::string_view kernarg,
                  FaultDispatch* dispatch) {
  const std::vector<std::string> types = codeobj::DeclaredTypes(dispatch->kernel);
  int number = 0;
  // Arguments do not overlap, so all have as many words as the segment; 4 KiB where it was not kept.
  size_t words_left = std::max<size_t>(kernarg.size(), 4096) / 8;
  for (const codeobj::Argument& argument : kernel.arguments) {
    FaultArgument base;
    base.offset = argument.offset & ~7ull;
    if (!argument.hidden()) {
      base.index = number++;
      base.name = fmt::format("argument {}", base.index);
      const auto place = static_cast<size_t>(base.index);
      if (!argument.name.empty())
        base.name += fmt::format(" ({})", argument.name);
      else if (place < types.size())
        base.name += fmt::format(" ({})", types[place]);
    } else {
      base.name = fmt::format("the runtime's {}", argument.value_kind.substr(7));
    }
    if (argument.pointer()) {
      base.pointer = true;
      base.value = Word(kernarg, argument.offset);
      dispatch->arguments.push_back(base);
      continue;
    }
    if (argument.hidden()) continue;
    if (argument.size == 4 || argument.size == 8) {
      FaultArgument number = base;
      number.value = Word(kernarg, argument.offset);
      if (argument.size == 4)
        number.value =
            static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(number.value)));
      dispatch->numbers.push_back(number);
    }
    // A structure may hold pointers.
    for (uint64_t at = 0; at + 8 <= argument.size && words_left > 0; at += 8, --words_left) {
      base.value = Word(kernarg, argument.offset + at);
      FaultArgument part = base;
      part.offset = (argument.offset + at) & ~7ull;
      if (argument.size > 8) part.name += fmt::format(", bytes {} to {}", at, at + 7);
      dispatch->arguments.push_back(part);
    }
  }
}

FaultDispatch ReadDispatch(const Json& json, const fs::path& folder, const SavedMemory& saved) {
  FaultDispatch dispatch;
  dispatch.packet = json.value(fault::kPacket, uint64_t{0});
  dispatch.started = json.value(fault::kFetched, true);
  if (json.contains(fault::kCompletionSignal))
    dispatch.completion_signal = Address(json.at(fault::kCompletionSignal));
  if (json.contains(fault::kLoadDelta)) dispatch.load_delta = Address(json.at(fault::kLoadDelta));
  dispatch.no_code = "its code object was not kept";
  dispatch.kernel = json.at(fault::kKernel).get<std::string>();
  dispatch.readable = codeobj::Demangle(dispatch.kernel);
  dispatch.kernarg = Address(json.at(fault::kKernarg));
  dispatch.grid = json.at(fault::kGrid).get<std::array<uint64_t, 3>>();
  dispatch.workgroup = json.at(fault::kWorkgroup).get<std::array<uint64_t, 3>>();
  dispatch.group_bytes = json.at(fault::kGroupBytes).get<uint64_t>();
  dispatch.private_bytes = json.at(fault::kPrivateBytes).get<uint64_t>();
  const std::string file = json.at(fault::kCodeObject).get<std::string>();
  // Names are ours; nothing else is opened.
  if ((!file.starts_with("fault-code-") && !file.starts_with("hang-code-") &&
       !file.starts_with("now-code-")) ||
      file.find('/') != std::string::npos)
    return dispatch;
  const auto bytes = base::ReadFile(folder / file);
  if (!bytes.ok()) return dispatch;
  const auto object = codeobj::CodeObject::Parse(bytes.value());
  if (!object.ok()) return dispatch;
  dispatch.target = object.value().target().processor;
  const codeobj::Kernel* kernel = object.value().FindKernel(dispatch.kernel);
  if (kernel == nullptr) return dispatch;
  dispatch.fixed_group_bytes = kernel->group_segment_fixed_size;
  dispatch.dynamic_stack = kernel->uses_dynamic_stack;
  dispatch.kernarg_bytes = Bytes(json.at(fault::kKernargBytes).get<std::string>());
  AddArguments(*kernel, dispatch.kernarg_bytes, &dispatch);
  auto code = codeobj::Disassemble(bytes.value(), object.value(), *kernel, true);
  if (!code.ok()) {
    dispatch.no_code = code.error().message;
    return dispatch;
  }
  dispatch.no_code.clear();
  dispatch.code = std::move(code).value();
  LaunchFacts launch;
  launch.kernarg = dispatch.kernarg;
  launch.kernarg_bytes = dispatch.kernarg_bytes;
  launch.grid = dispatch.grid;
  launch.workgroup = dispatch.workgroup;
  launch.load_delta = dispatch.load_delta;
  dispatch.reach = FindReach(
      dispatch.code, dispatch.target, *kernel, launch,
      [&](uint64_t address, void* to, size_t size) { return saved.Read(address, to, size); });
  return dispatch;
}

FaultMemory ReadMemory(const Json& json) {
  FaultMemory memory;
  memory.base = Address(json.at(fault::kBase));
  memory.size = json.at(fault::kSize).get<uint64_t>();
  memory.kind = json.at(fault::kKind).get<std::string>();
  if (json.contains(fault::kHostBase)) memory.host_base = Address(json.at(fault::kHostBase));
  memory.owner = json.value(fault::kOwner, -1);
  memory.thread = json.value(fault::kThread, 0u);
  memory.freed_by = json.value(fault::kFreedBy, 0u);
  memory.freed_ns = json.value(fault::kFreedNs, uint64_t{0});
  for (const auto& [name, stack] : {std::pair(fault::kStack, &memory.stack),
                                    std::pair(fault::kFreedStack, &memory.freed_stack)})
    if (json.contains(name))
      for (const Json& address : json.at(name)) stack->push_back(Address(address));
  return memory;
}

FaultPacket ReadPacket(const Json& json) {
  FaultPacket packet;
  packet.packet = json.at(fault::kPacket).get<uint64_t>();
  packet.type = json.at(fault::kType).get<std::string>();
  packet.completion_signal = Address(json.at(fault::kCompletionSignal));
  if (!json.contains(fault::kWaits)) return packet;
  for (const Json& one : json.at(fault::kWaits)) {
    SignalWait& wait = packet.waits.emplace_back();
    wait.signal = Address(one.at(fault::kSignal));
    if (!one.at(fault::kValue).is_null()) wait.value = one.at(fault::kValue).get<int64_t>();
    wait.wanted = one.at(fault::kWanted).get<int64_t>();
    wait.mask = one.at(fault::kMask).get<int64_t>();
    wait.condition = one.at(fault::kCondition).get<std::string>();
  }
  return packet;
}

void ReadSavedMemory(const Json& json, const fs::path& file, SavedMemory* saved) {
  if (!json.contains(fault::kSavedMemory)) return;
  const auto bytes = base::ReadFile(file);
  if (!bytes.ok()) return;
  const std::string_view all = bytes.value();
  size_t at = 0;
  for (const Json& piece : json.at(fault::kSavedMemory)) {
    const auto size = piece.at(fault::kSize).get<size_t>();
    if (size > all.size() - at) return;
    saved->Add(Address(piece.at(fault::kAddress)), std::string(all.substr(at, size)));
    at += size;
  }
}

// `name`: what the names of the files beside it begin with.
FaultRecord Read(const Json& json, const fs::path& folder, const std::string& name) {
  FaultRecord record;
  record.kind = json.at(fault::kKind).get<std::string>();
  record.agent = json.value(fault::kAgent, -1);
  if (json.contains(fault::kAddress)) record.address = Address(json.at(fault::kAddress));
  if (json.contains(fault::kReasons))
    record.reasons = json.at(fault::kReasons).get<std::vector<std::string>>();
  record.status = json.value(fault::kStatusText, std::string());
  record.seconds = json.value(fault::kSeconds, uint64_t{0});
  record.when_ns = json.value(fault::kWhenNs, uint64_t{0});
  record.environment = json.value(fault::kEnvironment, std::map<std::string, std::string>());
  for (const Json& agent : json.at(fault::kAgents)) {
    const auto version = agent.value(fault::kGfxTargetVersion, uint64_t{0});
    record.agents.push_back(
        {agent.at(fault::kName).get<std::string>(), agent.at(fault::kIsa).get<std::string>(),
         agent.at(fault::kGpu).get<bool>(), agent.value(fault::kProduct, std::string()),
         version == 0 ? "" : TargetOfVersion(version)});
  }
  ReadSavedMemory(json, folder / (name + "-memory"), &record.saved);
  if (json.contains(fault::kCopySignals))
    for (const Json& signal : json.at(fault::kCopySignals))
      record.copy_signals.push_back(Address(signal));
  for (const Json& queue : json.at(fault::kQueues)) {
    FaultQueue& added = record.queues.emplace_back();
    added.index = queue.value(fault::kIndex, 0u);
    added.agent = queue.at(fault::kAgent).get<int>();
    added.failed = queue.at(fault::kFailed).get<bool>();
    for (const Json& dispatch : queue.at(fault::kUnderWay))
      added.under_way.push_back(ReadDispatch(dispatch, folder, record.saved));
    // The GPU tells late how far it has read: the oldest one may run all the same.
    if (!added.under_way.empty()) added.under_way.front().started = true;
    added.front_seconds = static_cast<double>(queue.value(fault::kFrontNs, uint64_t{0})) * 1e-9;
    if (!queue.contains(fault::kInRing)) continue;
    for (const Json& packet : queue.at(fault::kInRing)) added.packets.push_back(ReadPacket(packet));
    // Nothing starts before a barrier that still waits.
    for (const FaultPacket& packet : added.packets)
      if (packet.Waits())
        for (FaultDispatch& dispatch : added.under_way)
          dispatch.started &= dispatch.packet < packet.packet;
  }
  for (const Json& memory : json.at(fault::kMemory).at(fault::kLive))
    record.live.push_back(ReadMemory(memory));
  for (const Json& memory : json.at(fault::kMemory).at(fault::kFreed))
    record.freed.push_back(ReadMemory(memory));
  std::sort(record.live.begin(), record.live.end(),
            [](const FaultMemory& a, const FaultMemory& b) { return a.base < b.base; });
  return record;
}

}  // namespace

bool SavedMemory::Read(uint64_t address, void* to, size_t bytes) const {
  auto piece = pieces_.upper_bound(address);
  if (piece == pieces_.begin()) return false;
  --piece;
  const uint64_t offset = address - piece->first;
  if (offset > piece->second.size() || piece->second.size() - offset < bytes) return false;
  memcpy(to, piece->second.data() + offset, bytes);
  return true;
}

bool SignalWait::Holds() const {
  if (!value) return false;
  const int64_t seen = *value & mask;
  if (condition == "==") return seen == wanted;
  if (condition == "!=") return seen != wanted;
  return condition == "<" ? seen < wanted : seen >= wanted;
}

bool FaultPacket::Waits() const {
  const auto holds = [](const SignalWait& wait) { return wait.Holds(); };
  if (waits.empty()) return false;
  return type == "barrier_or" ? std::none_of(waits.begin(), waits.end(), holds)
                              : !std::all_of(waits.begin(), waits.end(), holds);
}

namespace {

// A trace, which is what people have at hand; null bytes and all.
bool IsDatabase(const fs::path& file) {
  constexpr std::string_view kBegin = "SQLite format 3";
  char begin[kBegin.size()] = {};
  const auto opened = base::OpenRegularFile(file);
  if (!opened.ok()) return false;
  const ssize_t got = read(opened.value(), begin, sizeof(begin));
  close(opened.value());
  return got == sizeof(begin) && std::string_view(begin, sizeof(begin)) == kBegin;
}

Error NoRecord(const fs::path& file, const char* what) {
  return Error{fmt::format(
      "'{}' {}, and not the record of a fault. rochound run keeps that in a folder beside the "
      "trace when a GPU fails: rochound doctor --fault TRACE.fault",
      file.string(), what)};
}

}  // namespace

Result<FaultRecord> ReadFaultRecord(const fs::path& file) {
  if (IsDatabase(file)) {
    std::error_code error;
    const std::string evidence = file.string() + ".fault";
    if (fs::is_directory(evidence, error))
      return Error{fmt::format(
          "'{}' is a trace. What is known about the GPU that failed is beside it: rochound doctor "
          "--fault '{}'",
          file.string(), evidence)};
    return Error{fmt::format(
        "'{}' is a trace, and no GPU failed in it: '{}' would be there. Whether the program used a "
        "GPU at all: rochound doctor --ran '{}'",
        file.string(), evidence, file.string())};
  }
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  if (!Json::accept(text)) return NoRecord(file, "is no JSON");
  try {
    const std::string name = file.stem().string();
    FaultRecord record = Read(Json::parse(text), file.parent_path(), name);
    if (const auto maps = base::ReadFile(file.parent_path() / (name + "-maps"), base::kMostText);
        maps.ok())
      record.maps = maps.value();
    return record;
  } catch (const Json::exception&) {
    return NoRecord(file, "is JSON of something else");
  }
}

}  // namespace rochound::doctor
