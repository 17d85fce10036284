// SPDX-License-Identifier: MIT
#include "mcp/call.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>

#include "base/files.h"
#include "base/utf8.h"
#include "launch/limited_run.h"
#include "optimize/confinement.h"

namespace rochound::mcp {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using launch::LimitedRun;

constexpr size_t kMostMessages = 40;  // lines of stderr in a result
constexpr size_t kMostMessageBytes = 8192;

std::string Utf8(std::string_view text) {
  std::string scratch;
  return std::string(base::ToUtf8(text, &scratch));
}

// The last lines, oldest first.
Json LastLines(const std::string& text) {
  std::vector<std::string> lines;
  size_t bytes = 0;
  for (size_t end = text.size(); end > 0 && lines.size() < kMostMessages;) {
    const size_t line_end = text.rfind('\n', end - 1);
    const size_t begin = line_end == std::string::npos ? 0 : line_end + 1;
    std::string line = Utf8(std::string_view(text).substr(begin, end - begin));
    bytes += line.size();
    if (bytes > kMostMessageBytes) break;
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(std::move(line));
    if (line_end == std::string::npos) break;
    end = line_end;
  }
  return Json(std::vector<std::string>(lines.rbegin(), lines.rend()));
}

std::string LastLine(const std::string& text) {
  const Json lines = LastLines(text.substr(text.size() - std::min<size_t>(text.size(), 1024)));
  return lines.empty() ? "" : lines.back().get<std::string>();
}

std::string WithoutPaging(Json arguments) {
  arguments.erase("cursor");
  arguments.erase("limit");
  return arguments.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<optimize::Confinement> Confine(const Tool& tool, const CallSettings& settings,
                                      const fs::path& scratch) {
  optimize::Limits limits;
  limits.writable = {scratch};
  limits.cpu_seconds = static_cast<uint64_t>(settings.timeout.count()) *
                       std::max(1U, std::thread::hardware_concurrency());
  if (std::string_view(tool.name) != "doctor") {
    limits.readable = settings.folders.all();
    // The command with its data, libraries, and what they ask about the machine.
    limits.readable.push_back(settings.rochound.parent_path().parent_path());
    for (const char* const folder :
         {"/usr", "/lib", "/lib64", "/bin", "/etc", "/opt", "/proc", "/sys"}) {
      std::error_code error;
      if (fs::is_directory(folder, error)) limits.readable.emplace_back(folder);
    }
  }
  return optimize::Confinement::Prepare(limits);
}

Result<Json> ReadLines(const fs::path& file, bool* all) {
  ROCHOUND_TRY(const int descriptor, base::OpenRegularFile(file));
  std::string text(launch::kMostOutput, '\0');
  size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<size_t>(got)) {
    got = read(descriptor, text.data() + size, text.size() - size);
    if (got < 0) got = 0;
  }
  close(descriptor);
  text.resize(size);
  *all = size < launch::kMostOutput;
  Json entries = Json::array();
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos && !*all) break;  // the last line is not whole
    Json entry = Json::parse(text.substr(at, end - at), nullptr, /*allow_exceptions=*/false);
    if (!entry.is_discarded()) entries.push_back(std::move(entry));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return entries;
}

// Another one after the file was made anew; nothing: there is none.
using FileIdentity = std::optional<std::tuple<ino_t, int64_t, int64_t>>;
FileIdentity IdentityOf(const fs::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  return std::tuple(status.st_ino, int64_t{status.st_mtim.tv_sec}, int64_t{status.st_mtim.tv_nsec});
}

// The answer as JSON, or that there is none. before: the identity of what was to be made.
Result<Json> ReadAnswer(const Invocation& invocation, const LimitedRun& run,
                        const FileIdentity& before) {
  using Kind = Invocation::Answer;
  if (invocation.answer == Kind::kOutput || invocation.answer == Kind::kFile) {
    std::string text = run.out;
    if (invocation.answer == Kind::kFile) {
      if (IdentityOf(invocation.file) == before) return Error{"no answer"};
      ROCHOUND_TRY(text, base::ReadFile(invocation.file, launch::kMostOutput));
    }
    Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_discarded()) return json;
    if (text.size() >= launch::kMostOutput)
      return Error{"the answer is larger than 4 MiB: ask for less"};
    return Error{"no answer"};
  }
  if (invocation.answer == Kind::kLines) {
    bool all = true;
    ROCHOUND_TRY(Json entries, ReadLines(invocation.file, &all));
    if (entries.empty() && !run.ok()) return Error{"no answer"};
    return Json{{"complete", all}, {"entries", std::move(entries)}};
  }
  Json made = Json::object();
  if (!invocation.file.empty()) {
    const FileIdentity now = IdentityOf(invocation.file);
    if (!now || now == before) return Error{"nothing was made"};
    made[invocation.made] = invocation.file.string();
  } else if (!run.ok()) {
    return Error{"it failed"};
  }
  if (!run.out.empty()) made["output"] = LastLines(run.out);
  return made;
}

Json ToolResult(const Json& structured, bool is_error) {
  const std::string text = structured.dump(-1, ' ', false, Json::error_handler_t::replace);
  return {{"content", {{{"type", "text"}, {"text", text}}}},
          {"structuredContent", structured},
          {"isError", is_error}};
}

// A page of an answer that was kept, or is worth keeping if it has more pages.
Json PageOf(const Answer& answer, std::optional<uint64_t> number, size_t offset, size_t limit,
            KeptAnswers* kept) {
  const Page page = CutPage(Json::parse(answer.result, nullptr, false), offset, limit);
  Json structured = {{"exitCode", answer.exit_code}, {"result", page.content}};
  if (!answer.messages.empty()) structured["messages"] = answer.messages;
  if (page.total > 0) structured["total"] = page.total;
  if (page.cut) structured["cut"] = true;
  if (page.next != 0) {
    if (!number) number = kept->Keep(answer);
    structured["nextCursor"] = CursorText({*number, page.next});
  }
  return ToolResult(structured, false);
}

Json NextPage(const Tool& tool, const Json& arguments, size_t limit, KeptAnswers* kept) {
  const Json& text = arguments["cursor"];
  const auto cursor = text.is_string() ? ParseCursor(text.get<std::string>()) : std::nullopt;
  if (!cursor) return ErrorResult("cursor: this is no nextCursor");
  const auto answer = kept->Find(cursor->number);
  if (!answer) return ErrorResult("cursor: that answer is not kept any more; call without cursor");
  if (answer->tool != tool.name || answer->arguments != WithoutPaging(arguments))
    return ErrorResult("cursor: it belongs to a call with other arguments; repeat those");
  return PageOf(*answer, cursor->number, cursor->offset, limit, kept);
}

std::string WhatWentWrong(const Tool& tool, const LimitedRun& run, const std::string& problem,
                          const CallSettings& settings) {
  if (run.timed_out)
    return fmt::format("rochound {} did not end within {} s; rochound mcp --timeout allows more",
                       tool.name, settings.timeout.count());
  return fmt::format("rochound {} {}: {}", tool.name, run.End(), problem);
}

}  // namespace

Json ErrorResult(const std::string& problem) {
  return ToolResult({{"exitCode", -1}, {"messages", {problem}}}, true);
}

std::vector<std::string> ConfinementGaps(const CallSettings& settings) {
  const auto confinement =
      Confine(Tool{"show", "", "", false, false, {}, {}}, settings, settings.folders.first());
  return confinement.ok() ? confinement.value().gaps()
                          : std::vector<std::string>{confinement.error().message};
}

Json CallTool(const Tool& tool, const Json& arguments, const CallSettings& settings,
              KeptAnswers* kept,
              const std::function<bool(double seconds, const std::string& line)>& progress) {
  size_t limit = kUsualLimit;
  if (arguments.contains("limit")) {
    const Json& asked = arguments["limit"];
    if (!asked.is_number_integer() || asked < 1 || asked > kMostLimit)
      return ErrorResult(fmt::format("limit: not an integer from 1 to {}", kMostLimit));
    limit = asked.get<size_t>();
  }
  if (arguments.contains("cursor")) return NextPage(tool, arguments, limit, kept);

  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  const auto scratch = base::TempDir::Create(error ? "/tmp" : temporary, "rochound-mcp-");
  if (!scratch.ok()) return ErrorResult(scratch.error().message);
  const auto invocation = MakeInvocation(tool, arguments, settings.folders, scratch.value().path());
  if (!invocation.ok()) return ErrorResult(invocation.error().message);
  std::vector<std::string> command = {settings.rochound.string()};
  command.insert(command.end(), invocation.value().arguments.begin(),
                 invocation.value().arguments.end());
  std::vector<std::string> environment = settings.environment;
  std::optional<optimize::Confinement> confinement;
  if (!tool.runs) {
    auto prepared = Confine(tool, settings, scratch.value().path());
    if (!prepared.ok()) return ErrorResult(prepared.error().message);
    confinement.emplace(std::move(prepared).value());
    std::erase_if(environment, [](const std::string& line) { return line.starts_with("TMPDIR="); });
    environment.push_back("TMPDIR=" + scratch.value().path().string());
  }
  const FileIdentity before = IdentityOf(invocation.value().file);
  const auto run = launch::RunLimited(
      command, environment, settings.timeout,
      [&](const LimitedRun& so_far) { return progress(so_far.seconds, LastLine(so_far.err)); },
      [&]() -> int {
        signal(SIGPIPE, SIG_DFL);
        if (chdir(settings.folders.first().c_str()) != 0) return errno;
        if (confinement) return confinement->Apply();
        // A recorder passes it on to the program; nothing goes on when the server is gone.
        return prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 ? 0 : errno;
      });
  if (!run.ok()) return ErrorResult(run.error().message);
  if (run.value().stopped) return nullptr;
  const auto read = ReadAnswer(invocation.value(), run.value(), before);
  Answer answer{tool.name, WithoutPaging(arguments), run.value().exit_code, "",
                LastLines(run.value().err)};
  if (!read.ok() || run.value().timed_out) {
    answer.messages.push_back(
        WhatWentWrong(tool, run.value(), read.ok() ? "" : read.error().message, settings));
    return ToolResult({{"exitCode", answer.exit_code}, {"messages", answer.messages}}, true);
  }
  answer.result = read.value().dump(-1, ' ', false, Json::error_handler_t::replace);
  return PageOf(answer, std::nullopt, 0, limit, kept);
}

}  // namespace rochound::mcp
