// SPDX-License-Identifier: MIT
//
// A daemon follows a log that somebody else wrote (log_input.h): it says what it saw, what it says is
// understood by the aggregator and by commands, and the next daemon goes on from what it left on
// disk. The highest bit of the first byte: the log is of a process that has not ended.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/process_stat.h"
#include "fleet/bus/packed.h"
#include "fleet/command/daemon_message.h"
#include "fleet/daemon/control.h"
#include "fleet/daemon/host_watch.h"
#include "fleet/hang/hang.h"
#include "fleet/lake/lake.h"
#include "fuzz/asan_with_duckdb.h"
#include "fuzz/log_input.h"
#include "fuzz/must.h"

namespace {

using namespace rochound;
using namespace rochound::fleet;
using fuzz::Must;
using nlohmann::json;

constexpr uint8_t kRunning = 128;
constexpr uint8_t kOfRccl = 32;  // log_input.h has no functions of its own then

constexpr const char* kFunctions =
    "1\trccl\tncclAllReduce\tenum\tsendbuff:ptr,recvbuff:ptr,count:u64,datatype:enum,op:enum,"
    "comm:ptr,stream:ptr\n"
    "2\trccl\tncclCommInitRank\tenum\tnewcomm:*ptr,nranks:i32,commId:struct128,myrank:i32\n"
    "3\trccl\tncclGroupStart\tenum\t\n"
    "4\trccl\tncclGroupEnd\tenum\t\n"
    "5\trccl\tncclSend\tenum\tsendbuff:ptr,count:u64,datatype:enum,peer:i32,comm:ptr,stream:ptr\n"
    "6\trccl\tncclCommSplit\tenum\tcomm:ptr,color:i32,key:i32,newcomm:*ptr,config:ptr\n"
    "7\trccl\tncclCommDestroy\tenum\tcomm:ptr\n";

// Of a process that is not there the daemon reads the log to its end; we are there.
std::string LogOf(bool running) {
  static const std::string own = "run/process-" + std::to_string(getpid()) + "-" +
                                 std::to_string(base::ReadProcessStat(getpid())->start_ticks);
  return running ? own : "run/process-1-1";
}

void MustBeTaken(const Spool::Message& message) {
  Must(Unpack(Pack(message.text)).value() == message.text);
  const json content = json::parse(message.text);
  if (LakeRows(content, 1).ok()) return;
  // Of times that no clock has: the log's own are damaged.
  Must(content.at("from_ns").get<uint64_t>() > uint64_t{1} << 62);
}

void MustBeUnderstood(HostWatch& watch) {
  for (const auto& [job, text] : BeatMessages("host", -1, watch.Beats()))
    Must(ParseDaemonMessage(text).has_value());
  static Control control("host", fuzz::Folder() / "staging");
  control.Update(watch);
  if (const auto answer = control.Answer(R"({"what": "cards", "job": "none"})")) {
    const std::vector<Card> cards = CardsOf({json::parse(*answer)});
    Must(cards.size() == 1 && !ExplainHang(cards).conclusion.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fs = std::filesystem;
  if (size == 0) return 0;
  for (const char* name : {"run", "state"}) fs::remove_all(fuzz::Folder() / name);
  const bool running = (data[0] & kRunning) != 0;
  const std::string log = LogOf(running);
  fs::create_directories(fuzz::Folder() / log);
  if (!fuzz::WriteLog(data, size, log)) return 0;
  if ((data[0] & kOfRccl) != 0) fuzz::Write((log + "/functions").c_str(), kFunctions);
  WatchOptions options;
  options.state = fuzz::Folder() / "state";
  options.host = "host";
  options.logs = {fuzz::Folder() / "run"};
  options.find_recorders = false;
  {
    HostWatch watch(options);
    Must(watch.Open().ok() && watch.Step().ok());
    MustBeUnderstood(watch);
  }
  HostWatch next(options);
  Must(next.Open().ok() && next.Step(true).ok());
  next.spool().ForEach([](const Spool::Message& message) {
    MustBeTaken(message);
    return true;
  });
  return 0;
}
