// SPDX-License-Identifier: MIT
//
// A daemon follows a log that somebody else wrote (log_input.h): it says what it saw, and what it
// says is understood by the aggregator and by commands.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

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

// The process is not there: the daemon reads its log to the end.
constexpr const char* kLog = "run/process-1-1";
constexpr const char* kFunctions =
    "1\trccl\tncclAllReduce\tenum\tsendbuff:ptr,recvbuff:ptr,count:u64,datatype:enum,op:enum,"
    "comm:ptr,stream:ptr\n"
    "2\trccl\tncclCommInitRank\tenum\tnewcomm:*ptr,nranks:i32,commId:struct128,myrank:i32\n"
    "3\trccl\tncclGroupStart\tenum\t\n"
    "4\trccl\tncclGroupEnd\tenum\t\n"
    "5\trccl\tncclSend\tenum\tsendbuff:ptr,count:u64,datatype:enum,peer:i32,comm:ptr,stream:ptr\n"
    "6\trccl\tncclCommSplit\tenum\tcomm:ptr,color:i32,key:i32,newcomm:*ptr,config:ptr\n"
    "7\trccl\tncclCommDestroy\tenum\tcomm:ptr\n";

void MustBeTaken(const Spool::Message& message) {
  Must(Unpack(Pack(message.text)).value() == message.text);
  const json content = json::parse(message.text);
  if (LakeRows(content, 1).ok()) return;
  // Of times that no clock has: the log's own are damaged.
  Must(content.at("from_ns").get<uint64_t>() > uint64_t{1} << 62);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fs = std::filesystem;
  fs::create_directories(fuzz::Folder() / kLog);
  fs::remove_all(fuzz::Folder() / "state");
  if (!fuzz::WriteLog(data, size, kLog)) return 0;
  if ((data[0] & 32) != 0) fuzz::Write((std::string(kLog) + "/functions").c_str(), kFunctions);
  WatchOptions options;
  options.state = fuzz::Folder() / "state";
  options.host = "host";
  options.logs = {fuzz::Folder() / "run"};
  options.find_recorders = false;
  HostWatch watch(options);
  Must(watch.Open().ok() && watch.Step(true).ok());
  watch.spool().ForEach([](const Spool::Message& message) {
    MustBeTaken(message);
    return true;
  });
  for (const auto& [job, text] : BeatMessages("host", -1, watch.Beats()))
    Must(ParseDaemonMessage(text).has_value());
  static Control control("host", fuzz::Folder() / "staging");
  control.Update(watch);
  if (const auto answer = control.Answer(R"({"what": "cards", "job": "none"})")) {
    const std::vector<Card> cards = CardsOf({json::parse(*answer)});
    Must(cards.size() == 1 && !ExplainHang(cards).conclusion.empty());
  }
  // What is on disk is what the next daemon goes on from.
  HostWatch next(options);
  Must(!next.Open().ok());  // while this one has it
  return 0;
}
