// SPDX-License-Identifier: MIT
#include "report/html.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "analysis/findings/finding.h"
#include "analysis/health.h"
#include "analysis/trace_facts.h"
#include "base/files.h"
#include "report/page.h"
#include "report/profile_part.h"
#include "report/software_gpu.h"
#include "report/timeline_pack.h"

namespace rochound::report {
namespace {

using analysis::Answer;
using analysis::Table;
using analysis::Timeline;
using analysis::Unit;
using analysis::Value;
using base::Result;
using nlohmann::ordered_json;

// The question that is about two traces, not about one.
constexpr std::string_view kTwoTraces = "diff";

// The one that is asked last, because it is made of the answers to others, and shown first.
constexpr std::string_view kFindings = "findings";

// Numbers beyond this are not exact in a browser.
constexpr int64_t kLargestExact = int64_t{1} << 53;

const char* UnitName(Unit unit) {
  switch (unit) {
    case Unit::kNanoseconds:
      return "ns";
    case Unit::kBytes:
      return "bytes";
    case Unit::kPercent:
      return "percent";
    case Unit::kBytesPerSecond:
      return "bytes_per_second";
    case Unit::kNone:
      break;
  }
  return "none";
}

ordered_json JsonValue(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    if (*integer > kLargestExact || *integer < -kLargestExact) return std::to_string(*integer);
    return *integer;
  }
  if (const auto* real = std::get_if<double>(&value)) {
    // Six digits are more than anybody reads.
    if (!std::isfinite(*real)) return nullptr;
    return ordered_json::parse(fmt::format("{:.6g}", *real));
  }
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

ordered_json JsonTable(const Table& table) {
  ordered_json columns = ordered_json::array();
  for (const analysis::Column& column : table.columns)
    columns.push_back({{"name", column.name}, {"unit", UnitName(column.unit)}});
  ordered_json rows = ordered_json::array();
  for (const std::vector<Value>& row : table.rows) {
    ordered_json cells = ordered_json::array();
    for (const Value& value : row) cells.push_back(JsonValue(value));
    rows.push_back(std::move(cells));
  }
  return {{"id", table.id},
          {"title", table.title},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)},
          {"left_out", table.more}};
}

ordered_json JsonAnswer(const Answer& answer) {
  ordered_json tables = ordered_json::array();
  for (const Table& table : answer.tables) tables.push_back(JsonTable(table));
  const analysis::Question* question = analysis::FindQuestion(answer.question);
  return {{"question", answer.question},
          {"section", question != nullptr ? question->section : ""},
          {"title", question != nullptr ? question->title : answer.question.c_str()},
          {"lead", question != nullptr ? question->lead : ""},
          {"notes", answer.notes},
          {"tables", std::move(tables)}};
}

ordered_json JsonTimeline(const Timeline& timeline) {
  ordered_json tracks = ordered_json::array();
  for (const analysis::TimelineTrack& track : timeline.tracks) {
    const bool gpu = track.kind == analysis::TimelineTrack::Kind::kGpu;
    tracks.push_back({{"group", track.group},
                      {"title", track.title},
                      {"kind", gpu ? "gpu" : "thread"},
                      {"gpu", track.gpu},
                      {"note", track.note},
                      {"rows", track.rows}});
  }
  ordered_json unfinished = ordered_json::array();
  for (size_t i = 0; i < timeline.events.size(); ++i)
    if (timeline.events[i].unfinished) unfinished.push_back(i);
  ordered_json shapes = ordered_json::array();
  for (const analysis::TimelineShape& shape : timeline.shapes)
    shapes.push_back({{"grid", shape.grid}, {"workgroup", shape.workgroup}, {"lds", shape.lds}});
  uint64_t all = 0;
  for (const analysis::TimelineEvent& event : timeline.events) all += event.merged;
  return {{"events", timeline.events.size()},
          {"all_events", all},
          {"quantum", timeline.quantum},
          {"length", timeline.length},
          {"names", timeline.names},
          {"shapes", std::move(shapes)},
          {"unfinished", std::move(unfinished)},
          {"tracks", std::move(tracks)}};
}

ordered_json JsonFlame(const Flame& flame) {
  ordered_json json{{"names", flame.names}, {"folded", flame.folded}};
  for (const char* column : {"parent", "name", "calls", "below", "host", "gpu"})
    json[column] = ordered_json::array();
  for (const Flame::Node& node : flame.nodes) {
    json["parent"].push_back(node.parent);
    json["name"].push_back(node.name);
    json["calls"].push_back(node.calls);
    json["below"].push_back(node.calls_below);
    json["host"].push_back(node.host_ns);
    json["gpu"].push_back(node.gpu_ns);
  }
  return json;
}

// Nothing that a browser could take for markup, whatever is in the data.
std::string Harmless(const std::string& json) {
  std::string text;
  text.reserve(json.size() + json.size() / 64);
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      fmt::format_to(std::back_inserter(text), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text.push_back(c);
    }
  }
  return text;
}

std::string Json(const HtmlContent& content) {
  const Timeline& timeline = content.timeline;
  ordered_json answers = ordered_json::array();
  for (const Answer& answer : content.answers) answers.push_back(JsonAnswer(answer));
  const ordered_json json{
      {"version", 1},
      {"title", content.title},
      {"sources", content.sources},
      {"health", content.doubts},
      {"facts",
       {{"length", timeline.facts.length},
        {"calls", timeline.facts.calls},
        {"ops", timeline.facts.operations},
        {"processes", timeline.facts.processes},
        {"gpus", timeline.facts.gpus},
        {"layers", timeline.facts.layers}}},
      {"answers", std::move(answers)},
      {"timeline", JsonTimeline(timeline)},
      {"flame", JsonFlame(content.flame)},
      {"profile", content.profile.empty() ? ordered_json() : ordered_json::parse(content.profile)},
      {"optimize",
       content.optimize.empty() ? ordered_json() : ordered_json::parse(content.optimize)},
      {"probe", content.probe.empty() ? ordered_json() : ordered_json::parse(content.probe)}};
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// On every page that shows a time.
void SayOnSoftwareGpu(HtmlContent* content) {
  content->title += " (software GPU)";
  content->doubts.insert(content->doubts.begin(), kSoftwareGpuTimes);
  for (Answer& answer : content->answers)
    answer.notes.insert(answer.notes.begin(), kSoftwareGpuTimes);
  for (analysis::TimelineTrack& track : content->timeline.tracks) {
    if (track.kind == analysis::TimelineTrack::Kind::kGpu) track.group += " (software GPU)";
  }
}

}  // namespace

Result<HtmlContent> Collect(store::TraceDatabase& trace, const HtmlOptions& options) {
  HtmlContent content;
  if (!options.probe.empty()) {
    ROCHOUND_TRY(content.probe, ReadProbe(options.probe));
  }
  if (!options.profile.empty()) {
    ROCHOUND_TRY(content.profile, ReadProfile(options.profile));
  }
  content.optimize = options.optimize;
  for (const std::filesystem::path& source : trace.sources())
    content.sources.push_back(source.string());
  content.title = content.sources.empty() ? "trace" : trace.sources()[0].filename().string();
  if (content.sources.size() > 1)
    content.title += fmt::format(" and {} more", content.sources.size() - 1);
  analysis::AskOptions ask = options.ask;
  ask.limit = options.most_rows;
  // Every answer would bring the same doubts; they are looked for once.
  ROCHOUND_TRY(content.doubts, analysis::Doubts(trace));
  for (const analysis::Question& question : analysis::Questions()) {
    if (question.name == kTwoTraces || question.name == kFindings) continue;
    auto answer = question.ask(trace, ask);
    if (answer.ok()) {
      answer.value().question = question.name;
      content.answers.push_back(std::move(answer).value());
    } else {
      content.failures.push_back(
          fmt::format("{} was not answered: {}", question.name, answer.error().message));
    }
  }
  if (const auto findings = analysis::FindFindings(trace, ask, content.answers); findings.ok()) {
    content.answers.insert(content.answers.begin(), analysis::FindingsAnswer(findings.value()));
  } else {
    content.failures.push_back(
        fmt::format("{} was not answered: {}", kFindings, findings.error().message));
  }
  content.doubts.insert(content.doubts.end(), content.failures.begin(), content.failures.end());
  ROCHOUND_TRY(content.timeline, analysis::ReadTimeline(trace, options.most_events, options.lanes));
  ROCHOUND_TRY(const analysis::CallStacks stacks, analysis::LoadCallStacks(trace.connection()));
  content.flame = MakeFlame(stacks);
  if (analysis::OnSoftwareGpu(trace)) SayOnSoftwareGpu(&content);
  return content;
}

std::string Html(const HtmlContent& content) {
  const Page page = ReportPage();
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'sha256-{}'; style-src 'sha256-{}'; font-src data:; img-src data:; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>rochound</title>\n",
      page.script_hash, page.style_hash);
  html.append("<style>").append(page.style).append("</style>\n</head>\n<body>\n");
  html.append("<noscript>This report needs JavaScript; it runs from this file alone.</noscript>\n");
  html.append("<script type=\"application/json\" id=\"report-data\">");
  html.append(Harmless(Json(content)));
  html.append("</script>\n<script type=\"application/octet-stream\" id=\"report-timeline\">");
  html.append(Base64(Deflate(PackColumns(content.timeline))));
  html.append("</script>\n<script>").append(page.script).append("</script>\n</body>\n</html>\n");
  return html;
}

Result<HtmlSummary> WriteHtml(store::TraceDatabase& trace, const std::filesystem::path& path,
                              const HtmlOptions& options) {
  ROCHOUND_TRY(const HtmlContent content, Collect(trace, options));
  const std::string html = Html(content);
  ROCHOUND_CHECK(base::WriteFileAtomically(path, html));
  HtmlSummary summary;
  const analysis::Facts& facts = content.timeline.facts;
  summary.events = static_cast<uint64_t>(facts.calls + facts.operations);
  summary.kept = content.timeline.events.size();
  summary.bytes = html.size();
  summary.doubts = content.doubts;
  return summary;
}

}  // namespace rochound::report
