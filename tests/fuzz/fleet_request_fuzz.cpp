// SPDX-License-Identifier: MIT
//
// Requests to a daemon, one on each line, for cards, windows, recorders and code objects: it answers
// or stays silent, and commands understand what it answers. The daemon follows one small log.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/parse.h"
#include "fleet/command/daemon_message.h"
#include "fleet/daemon/code_store.h"
#include "fleet/daemon/control.h"
#include "fleet/daemon/host_watch.h"
#include "fleet/daemon/test_records.h"
#include "fuzz/folder.h"
#include "fuzz/must.h"

namespace {

using namespace rochound;
using namespace rochound::fleet;
using fuzz::Must;
using nlohmann::json;

constexpr const char* kHash = "0123456789abcdef0123456789abcdef";

Control* control = nullptr;
CodeStore* store = nullptr;

// Windows are written to a folder of ours, whatever the request says: who may ask for one may name
// any place, so a fuzzer would write anywhere.
std::string WithOwnFolder(std::string_view line) {
  json request = json::parse(line, nullptr, false);
  if (!request.is_object() || !request.contains("folder")) return std::string(line);
  const auto windows = fuzz::Folder() / "windows";
  std::filesystem::remove_all(windows);
  request["folder"] = windows.string();
  return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  setenv("ROCHOUND_CONTROL_DIR", (fuzz::Folder() / "control").c_str(), 1);
  setenv("ROCHOUND_LOG", "error", 1);  // it reports each request that it does not understand
  static TestLog log(fuzz::Folder() / "run");
  log.Queue(1);
  log.Kernel(1, "kernel");
  log.Anchors(0);
  log.Anchors(100);
  log.Dispatch(1, 1);
  log.Time(1, 100);
  log.Dispatch(2, 1);
  WatchOptions options;
  options.state = fuzz::Folder() / "state";
  options.host = "host";
  options.logs = {fuzz::Folder() / "run"};
  options.find_recorders = false;
  HostWatch watch(options);
  Must(watch.Open().ok() && watch.Step().ok());
  static Control made("host", fuzz::Folder() / "staging");
  control = &made;
  control->Update(watch);
  static CodeStore kept(fuzz::Folder() / "code", 1 << 20);
  store = &kept;
  store->Keep(kHash, "bytes", "file:///somewhere");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMaxInput = 4096;
  if (size > kMaxInput) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::string request = WithOwnFolder(base::TakeUntil(&rest, '\n'));
    if (const auto answer = control->Answer(request)) Must(ParseDaemonMessage(*answer).has_value());
    if (const auto answer = store->Answer(request))
      Must(json::accept(answer->substr(0, answer->find('\n'))));
  }
  return 0;
}
