// SPDX-License-Identifier: MIT
#include "agent/faults.h"

#include <hsa/hsa_ven_amd_loader.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent_facts.h"
#include "agent/allocations.h"
#include "agent/capture.h"
#include "agent/code_objects.h"
#include "agent/own_memory.h"
#include "agent/queue.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/state.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"

namespace rochound::agent {
namespace {

using Json = nlohmann::ordered_json;

constinit std::atomic<bool> written{false};

std::string Address(uint64_t address) { return "0x" + base::Hex64(address); }

// Empty: it is not there.
std::vector<std::byte> ReadBytes(uint64_t address, size_t size) {
  std::vector<std::byte> bytes(size);
  if (!ReadOwnMemory(address, bytes.data(), size)) bytes.clear();
  return bytes;
}

std::string HexBytes(const std::vector<std::byte>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text.push_back(kDigits[static_cast<uint8_t>(byte) >> 4]);
    text.push_back(kDigits[static_cast<uint8_t>(byte) & 15]);
  }
  return text;
}

Json Describe(uint64_t base, const Allocation& one) {
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  Json json = {{"base", Address(base)},
               {"size", one.size},
               {"kind", KindName(one.kind)},
               {"thread", one.thread},
               {"when_ns", one.when_ns}};
  if (one.host_base != 0) json["host_base"] = Address(one.host_base);
  if (Real().amd.hsa_amd_pointer_info_fn(reinterpret_cast<const void*>(base), &info, nullptr,
                                         nullptr, nullptr) == HSA_STATUS_SUCCESS &&
      info.type != HSA_EXT_POINTER_TYPE_UNKNOWN) {
    const uint16_t owner = AgentIndex(info.agentOwner);
    if (owner < AgentCount()) json["owner"] = owner;
  }
  return json;
}

Json DescribeMemory() {
  constexpr size_t kMost = 20'000;
  const HeldAllocations held;
  Json live = Json::array();
  for (const auto& [base, one] : held.all()) {
    if (live.size() == kMost) break;
    live.push_back(Describe(base, one));
  }
  Json gone = Json::array();
  for (const Freed& one : held.freed()) {
    Json json = Describe(one.base, one.allocation);
    json.erase("owner");
    json["freed_by"] = one.thread;
    json["freed_ns"] = one.when_ns;
    gone.push_back(std::move(json));
  }
  return {{"live", std::move(live)}, {"freed", std::move(gone)}};
}

// The code objects of kernels under way, each written to a file once.
class CodeFiles {
 public:
  // Its file's name; empty: it could not be found.
  std::string NameOf(uint64_t kernel_object, uint64_t* delta) {
    LoadedCode code;
    if (!FindLoadedCode(kernel_object, &code)) return {};
    *delta = code.delta;
    const auto known = names_.find(code.base);
    if (known != names_.end()) return known->second;
    if (code.object == nullptr) return {};
    const std::vector<std::byte>& bytes = *code.object;
    const std::string name = "fault-code-" + std::to_string(names_.size()) + ".elf";
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!Log()->WriteText(name.c_str(), text)) return {};
    return names_[code.base] = name;
  }

 private:
  std::map<uint64_t, std::string> names_;
};

// A kernel by its object, asked of the runtime: names are not kept for this.
struct Symbol {
  uint64_t object = 0;
  std::string name;
  uint32_t kernarg_bytes = 0;
};

hsa_status_t VisitSymbol(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol,
                         void* data) {
  auto& wanted = *static_cast<Symbol*>(data);
  const auto ask = [&](hsa_executable_symbol_info_t what, auto value) {
    Real().core.hsa_executable_symbol_get_info_fn(symbol, what, &value);
    return value;
  };
  if (ask(HSA_EXECUTABLE_SYMBOL_INFO_TYPE, hsa_symbol_kind_t{}) != HSA_SYMBOL_KIND_KERNEL ||
      ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, uint64_t{}) != wanted.object)
    return HSA_STATUS_SUCCESS;
  Guarded("no memory for a kernel's name", [&] {
    wanted.name.resize(ask(HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, uint32_t{}));
    Real().core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME,
                                                  wanted.name.data());
    wanted.kernarg_bytes = ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, uint32_t{});
  });
  return HSA_STATUS_INFO_BREAK;
}

Symbol FindKernel(uint64_t object, uint16_t agent) {
  Symbol symbol;
  symbol.object = object;
  hsa_executable_t executable{};
  if (FindExecutable(object, &executable))
    Real().core.hsa_executable_iterate_agent_symbols_fn(executable, AgentHandle(agent), VisitSymbol,
                                                        &symbol);
  if (symbol.name.ends_with(".kd")) symbol.name.resize(symbol.name.size() - 3);
  return symbol;
}

Json DescribeDispatch(const Queue& queue, uint64_t at, uint64_t read, CodeFiles* files) {
  const hsa_kernel_dispatch_packet_t packet = *queue.Packet(at);
  const Symbol symbol = FindKernel(packet.kernel_object, queue.agent);
  const auto kernarg = reinterpret_cast<uint64_t>(packet.kernarg_address);
  uint64_t delta = 0;
  const std::string file = files->NameOf(packet.kernel_object, &delta);
  return {
      {"packet", at},
      {"fetched", at < read},
      {"kernel", symbol.name},
      {"kernel_object", Address(packet.kernel_object)},
      {"code_object", file},
      {"load_delta", Address(delta)},
      {"grid", {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z}},
      {"workgroup", {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z}},
      {"group_bytes", packet.group_segment_size},
      {"private_bytes", packet.private_segment_size},
      {"kernarg", Address(kernarg)},
      {"kernarg_bytes", HexBytes(ReadBytes(kernarg, symbol.kernarg_bytes))}};
}

// Dispatches that have not been seen to finish.
Json DescribeQueue(Queue& queue, bool failed, CodeFiles* files) {
  constexpr size_t kMost = 16;
  const uint64_t read = Real().core.hsa_queue_load_read_index_scacquire_fn(queue.queue);
  const uint64_t write = Real().core.hsa_queue_load_write_index_scacquire_fn(queue.queue);
  HarvestQueue(queue);
  Json dispatches = Json::array();
  for (uint64_t at = queue.pending_head; at != queue.pending_tail; ++at) {
    const Pending& one = queue.pending[at & queue.pending_mask];
    const uint64_t packet = PacketIndex(one);
    // A packet's place in the ring is written anew a round later.
    if (one.phase.load(std::memory_order_acquire) != Pending::kWaiting ||
        write - packet > queue.queue->size)
      continue;
    if (dispatches.size() == kMost) break;
    dispatches.push_back(DescribeDispatch(queue, packet, read, files));
  }
  return {{"index", queue.index},   {"agent", queue.agent}, {"failed", failed},
          {"read", read},           {"write", write},       {"packets", queue.queue->size},
          {"under_way", dispatches}};
}

Json DescribeAgents() {
  Json agents = Json::array();
  for (uint16_t index = 0; index < AgentCount(); ++index) {
    const AgentFacts facts = DescribeAgent(index);
    agents.push_back({{"name", facts.name},
                      {"product", facts.product},
                      {"isa", facts.isa},
                      {"node", facts.node},
                      {"gpu", IsGpu(index)}});
  }
  return agents;
}

// What changes how the runtimes behave.
Json DescribeEnvironment() {
  Json variables = Json::object();
  for (char** line = environ; line != nullptr && *line != nullptr; ++line) {
    const std::string_view text = *line;
    for (const char* start : {"HSA_", "HIP_", "ROCR_", "GPU_", "AMD_", "PYTORCH_"})
      if (text.starts_with(start))
        variables[std::string(text.substr(0, text.find('=')))] = text.substr(text.find('=') + 1);
  }
  return variables;
}

void Write(Json record, const hsa_queue_t* failed) {
  record["pid"] = getpid();
  record["when_ns"] = rochound::base::ClockNs(CLOCK_REALTIME);
  record["command"] = CommandLine();
  record["environment"] = DescribeEnvironment();
  record["agents"] = DescribeAgents();
  CodeFiles files;
  Json queues = Json::array();
  ForEachQueue([&](Queue& queue) {
    if (queue.doorbell != 0) queues.push_back(DescribeQueue(queue, queue.queue == failed, &files));
  });
  record["queues"] = std::move(queues);
  record["memory"] = DescribeMemory();
  if (const auto maps = rochound::base::ReadFile("/proc/self/maps"); maps.ok())
    Log()->WriteText("fault-maps", maps.value());
  // Behind what it names: whoever finds it finds the rest.
  Log()->WriteText("fault.json", record.dump(1, ' ', false, Json::error_handler_t::replace));
}

// The launch itself, if that was asked for: the oldest one under way on the queue that failed, or
// else on any. It may take a while, and comes when everything else is safe.
void CaptureSuspect(const hsa_queue_t* failed, int agent) {
  const char* const wanted = getenv("ROCHOUND_FAULT_BUNDLE");
  if (wanted == nullptr || *wanted == '\0') return;
  bool done = false;
  ForEachQueue([&](Queue& queue) {
    if (done || queue.doorbell == 0 || (failed != nullptr && queue.queue != failed) ||
        (agent >= 0 && queue.agent != agent))
      return;
    for (uint64_t at = queue.pending_head; at != queue.pending_tail && !done; ++at) {
      const Pending& one = queue.pending[at & queue.pending_mask];
      if (one.phase.load(std::memory_order_acquire) != Pending::kWaiting) continue;
      const hsa_kernel_dispatch_packet_t packet = *queue.Packet(PacketIndex(one));
      const Symbol symbol = FindKernel(packet.kernel_object, queue.agent);
      const std::string problem =
          CaptureFailedLaunch(queue, packet, symbol.name, symbol.kernarg_bytes, wanted);
      if (!problem.empty()) Log()->WriteText("fault-bundle-problem", problem);
      done = true;
    }
  });
}

// The first is what matters: what comes after is often its consequence. A hang that was noted may
// still turn out to be something else.
void Note(Json record, const hsa_queue_t* failed) {
  if (Log() == nullptr || written.exchange(true)) return;
  const int agent = record.value("agent", -1);
  Guarded("no memory to describe a fault", [&] {
    Write(std::move(record), failed);
    CaptureSuspect(failed, agent);
  });
}

hsa_status_t OnSystemEvent(const hsa_amd_event_t* event, void*) {
  if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT) {
    Guarded("no memory to describe a fault", [&] {
      const hsa_amd_gpu_memory_fault_info_t& fault = event->memory_fault;
      Json reasons = Json::array();
      const auto add = [&](uint32_t bit, const char* text) {
        if ((fault.fault_reason_mask & bit) != 0) reasons.push_back(text);
      };
      add(HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT, "page not present");
      add(HSA_AMD_MEMORY_FAULT_READ_ONLY, "read only");
      add(HSA_AMD_MEMORY_FAULT_NX, "not executable");
      add(HSA_AMD_MEMORY_FAULT_HOST_ONLY, "host only");
      add(HSA_AMD_MEMORY_FAULT_DRAMECC, "memory ECC");
      add(HSA_AMD_MEMORY_FAULT_IMPRECISE, "imprecise");
      add(HSA_AMD_MEMORY_FAULT_SRAMECC, "cache ECC");
      add(HSA_AMD_MEMORY_FAULT_HANG, "hang");
      Note({{"version", 1},
            {"kind", "memory"},
            {"agent", AgentIndex(fault.agent)},
            {"address", Address(fault.virtual_address)},
            {"reasons", std::move(reasons)}},
           nullptr);
    });
  }
  // Not handled: the runtime goes on as if we were not there.
  return HSA_STATUS_ERROR;
}

}  // namespace

void ListenForFaults() {
  if (Real().amd.hsa_amd_register_system_event_handler_fn != nullptr)
    Real().amd.hsa_amd_register_system_event_handler_fn(OnSystemEvent, nullptr);
}

void OnQueueError(hsa_status_t status, hsa_queue_t* queue, void* data) {
  const auto& listener = *static_cast<const QueueListener*>(data);
  Guarded("no memory to describe a fault", [&] {
    const char* text = nullptr;
    Real().core.hsa_status_string_fn(status, &text);
    Note({{"version", 1},
          {"kind", "queue"},
          {"status", static_cast<uint32_t>(status)},
          {"status_text", text != nullptr ? text : ""}},
         queue);
  });
  if (listener.program != nullptr) listener.program(status, queue, listener.data);
}

void WatchProgress(uint64_t now_ns, size_t under_way) {
  static uint64_t finished = 0;
  static uint64_t since_ns = 0;
  if (under_way == 0) {
    since_ns = 0;
    return;
  }
  uint64_t heads = 0;
  ForEachQueue([&](Queue& queue) { heads += queue.pending_head + queue.pending_tail; });
  if (heads != finished || since_ns == 0) {
    finished = heads;
    since_ns = now_ns;
    return;
  }
  const uint64_t patience = settings().hang_ns;
  if (patience == 0 || now_ns - since_ns < patience) return;
  Note({{"version", 1}, {"kind", "hang"}, {"seconds", (now_ns - since_ns) / 1'000'000'000}},
       nullptr);
}

}  // namespace rochound::agent
