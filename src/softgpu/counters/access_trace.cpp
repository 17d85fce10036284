// SPDX-License-Identifier: MIT
#include "softgpu/counters/access_trace.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "contract/variables.h"

namespace rochound::softgpu {
namespace {

constexpr size_t kFlushBytes = 256 * 1024;

constexpr std::string_view kSpaces[] = {"global", "lds", "scratch", "scalar"};
constexpr std::string_view kActions[] = {"none", "load", "store", "atomic"};

void Complain(const std::string& what) {
  const std::string line =
      "rochound softgpu: accesses: " + what + "; no more accesses are written\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nobody to tell
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string ReadableName(const std::string& symbol) {
  int status = 0;
  char* name = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  if (name == nullptr) return symbol;
  std::string readable = name;
  std::free(name);
  return readable;
}

void AddNumber(std::string* text, uint64_t number, int base) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number, base);
  text->append(digits, end.ptr);
}

void AddField(std::string* text, uint64_t number, int base) {
  text->push_back(' ');
  AddNumber(text, number, base);
}

// A list such as 3,7-9. False if it is none.
bool ReadRanges(const std::string& text, std::vector<std::pair<uint64_t, uint64_t>>* ranges) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    uint64_t first = 0;
    auto number = std::from_chars(at, end, first);
    if (number.ec != std::errc()) return false;
    at = number.ptr;
    uint64_t last = first;
    if (at != end && *at == '-') {
      number = std::from_chars(at + 1, end, last);
      if (number.ec != std::errc() || last < first) return false;
      at = number.ptr;
    }
    ranges->emplace_back(first, last);
    if (at == end) return true;
    if (*at++ != ',' || at == end) return false;
  }
  return true;
}

}  // namespace

AccessRecorder& AccessRecorder::Instance() {
  static auto* recorder = new AccessRecorder;
  return *recorder;
}

AccessRecorder::AccessRecorder() {
  if (const std::string path = Variable(contract::variables::kSoftgpuAccesses); !path.empty()) {
    Open(path, Variable(contract::variables::kSoftgpuAccessesKernel),
         Variable(contract::variables::kSoftgpuAccessesDispatches));
  }
}

void AccessRecorder::Open(const std::string& path, const std::string& kernel,
                          const std::string& dispatches) {
  if (const int old = file_.exchange(-1); old >= 0) close(old);
  path_ = path;
  kernel_.reset();
  dispatches_.clear();
  order_.store(0, std::memory_order_relaxed);
  if (path.empty()) return;
  try {
    if (!kernel.empty()) kernel_.emplace(kernel, std::regex::ECMAScript | std::regex::nosubs);
  } catch (const std::regex_error& error) {
    return Complain("'" + kernel + "' is no regular expression (" + error.what() + ")");
  }
  if (!ReadRanges(dispatches, &dispatches_))
    return Complain("'" + dispatches + "' is no list of dispatches (example: 3,7-9)");
  // Appending by one write keeps the lines of several processes whole.
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return Complain("cannot open " + path + ": " + std::strerror(errno));
  file_.store(file, std::memory_order_relaxed);
}

bool AccessRecorder::Wants(const DispatchIdentity& identity, uint64_t order) const {
  const bool in_list = dispatches_.empty() ||
                       std::any_of(dispatches_.begin(), dispatches_.end(), [&](const auto& range) {
                         return range.first <= order && order <= range.second;
                       });
  if (!in_list) return false;
  return !kernel_ || std::regex_search(identity.kernel, *kernel_) ||
         std::regex_search(ReadableName(identity.kernel), *kernel_);
}

std::unique_ptr<DispatchAccesses> AccessRecorder::Begin(const DispatchIdentity& identity,
                                                        uint64_t entry) {
  const uint64_t order = order_.fetch_add(1, std::memory_order_relaxed);
  if (!Wants(identity, order)) return nullptr;
  auto accesses = std::make_unique<DispatchAccesses>(static_cast<uint32_t>(getpid()), order, entry);
  std::string line = "dispatch";
  for (uint64_t field : {uint64_t{accesses->process()}, order, uint64_t{identity.queue}})
    AddField(&line, field, 10);
  line += ' ' + identity.gpu + ' ' + std::string(identity.architecture->target);
  for (uint64_t field : {identity.wave_size, identity.grid[0], identity.grid[1], identity.grid[2],
                         identity.group[0], identity.group[1], identity.group[2]})
    AddField(&line, field, 10);
  AddField(&line, entry, 16);
  Append(line + ' ' + identity.kernel + '\n');
  return accesses;
}

void AccessRecorder::End(const DispatchAccesses& accesses, bool completed) {
  std::string line = "end";
  AddField(&line, accesses.process(), 10);
  AddField(&line, accesses.order(), 10);
  Append(line + (completed ? " completed\n" : " failed\n"));
}

void AccessRecorder::Append(const std::string& text) {
  const int file = file_.load(std::memory_order_relaxed);
  if (file < 0) return;
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error_number = written < 0 ? errno : ENOSPC;
      if (file_.exchange(-1) >= 0)
        Complain("cannot write " + path_ + ": " + std::strerror(error_number));
      return;
    }
    done += static_cast<size_t>(written);
  }
}

AccessWriter::AccessWriter(const DispatchAccesses& dispatch) : dispatch_(dispatch) {}

AccessWriter::~AccessWriter() { Flush(); }

void AccessWriter::Flush() {
  if (text_.empty()) return;
  std::string head = "of";
  AddField(&head, dispatch_.process(), 10);
  AddField(&head, dispatch_.order(), 10);
  AccessRecorder::Instance().Append(head + '\n' + text_);
  text_.clear();
}

void AccessWriter::Add(const Wave& wave, uint64_t group, const Op& op, const OpFacts& facts,
                       uint64_t exec, std::span<const MemoryPart> parts, size_t stored_from) {
  if (parts.empty() && !(facts.is_unmeasured && exec != 0)) return;
  text_ += "a";
  AddField(&text_, group, 10);
  AddField(&text_, wave.wave_in_group, 10);
  AddField(&text_, op.address() - dispatch_.entry(), 16);
  text_ += ' ';
  text_ += facts.mnemonic;
  if (parts.empty()) {
    text_ += ' ';
    text_ += kActions[static_cast<unsigned>(facts.action)];
    text_ += " unknown\n";
  } else {
    bool is_first = true;
    AddParts(parts.first(stored_from), facts.action, &is_first);
    AddParts(parts.subspan(stored_from), MemoryAction::kStore, &is_first);
  }
  if (text_.size() >= kFlushBytes) Flush();
}

void AccessWriter::AddBarrier(const Wave& wave, uint64_t group) {
  text_ += "b";
  AddField(&text_, group, 10);
  AddField(&text_, wave.wave_in_group, 10);
  text_ += '\n';
}

// A line for all lanes' first parts, then for their second ones: parts of one line differ in
// nothing but lane and address.
void AccessWriter::AddParts(std::span<const MemoryPart> parts, MemoryAction action,
                            bool* is_first) {
  std::array<uint8_t, kRowLanes> seen{};
  std::array<uint8_t, MemoryTrace::kMaxParts> place;
  for (size_t i = 0; i < parts.size(); ++i) place[i] = seen[parts[i].lane]++;
  std::array<bool, MemoryTrace::kMaxParts> done{};
  for (size_t begin = 0; begin < parts.size(); ++begin) {
    if (done[begin]) continue;
    const MemoryPart& first = parts[begin];
    uint64_t mask = 0;
    uint64_t last = first.address;
    uint64_t step = 0;
    bool even = true;
    unsigned count = 0;
    std::array<uint64_t, kRowLanes> addresses;
    for (size_t i = begin; i < parts.size(); ++i) {
      const MemoryPart& part = parts[i];
      if (done[i] || place[i] != place[begin] || part.space != first.space ||
          part.bytes != first.bytes)
        continue;
      done[i] = true;
      mask |= uint64_t{1} << part.lane;
      if (count == 1) step = part.address - last;
      if (count > 1) even = even && part.address - last == step;
      last = addresses[count++] = part.address;
    }
    text_ += *is_first ? " " : "+ ";
    *is_first = false;
    text_ += kActions[static_cast<unsigned>(action)];
    text_ += ' ';
    text_ += kSpaces[static_cast<unsigned>(first.space)];
    AddField(&text_, first.bytes, 10);
    AddField(&text_, first.space == MemorySpace::kScalar ? 0 : mask, 16);
    if (count > 1 && even) {
      AddField(&text_, addresses[0], 16);
      const bool down = static_cast<int64_t>(step) < 0;
      text_ += down ? '-' : '+';
      AddNumber(&text_, down ? 0 - step : step, 16);
    } else {
      for (unsigned i = 0; i < count; ++i) AddField(&text_, addresses[i], 16);
    }
    text_ += '\n';
  }
}

}  // namespace rochound::softgpu
