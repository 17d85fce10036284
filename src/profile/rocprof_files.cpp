// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/files.h"
#include "profile/counter_source.h"
#include "profile/csv.h"
#include "profile/find_files.h"
#include "profile/rocpd_counters.h"

namespace rochound::profile {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using nlohmann::json;

std::string WithoutSuffix(std::string name) {
  for (std::string_view suffix : {" [clone .kd]", " (.kd)", ".kd"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return name;
}

// A counter comes once for each instance of its block: their sum is meant.
void AddValue(const std::string& name, double value, Launch* launch) {
  launch->exact[name] += value;
}

std::vector<Launch> InOrder(std::map<std::pair<uint64_t, uint64_t>, Launch>& by_dispatch) {
  std::vector<Launch> launches;
  for (auto& [key, launch] : by_dispatch) launches.push_back(std::move(launch));
  return launches;
}

// A table with its columns' names.
class Table {
 public:
  static Result<Table> Read(const fs::path& file) {
    ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
    Table table;
    table.rows_ = ParseCsv(text);
    if (table.rows_.empty()) return Error{fmt::format("{} is empty", file.string())};
    for (size_t i = 0; i < table.rows_[0].size(); ++i) table.columns_[table.rows_[0][i]] = i;
    return table;
  }
  bool Has(std::string_view column) const { return columns_.contains(column); }
  const std::map<std::string, size_t, std::less<>>& columns() const { return columns_; }
  size_t size() const { return rows_.size(); }  // with the names, which are row 0
  std::string_view Text(size_t row, std::string_view column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end() || found->second >= rows_[row].size()) return {};
    return rows_[row][found->second];
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::map<std::string, size_t, std::less<>> columns_;
};

std::optional<double> TimeOf(const Table& table, size_t row) {
  // rocprofiler-compute has the median of several runs, which may end in .5.
  const auto start = NumberIn<double>(table.Text(row, "Start_Timestamp"));
  const auto end = NumberIn<double>(table.Text(row, "End_Timestamp"));
  if (!start || !end || *end <= *start) return std::nullopt;
  return *end - *start;
}

// rocprofiler-compute has a column for each counter, NAME[3] for each instance, and NAME_3 where
// several of its passes have the same.
void AddColumns(const Table& table, size_t row, Launch* launch) {
  for (const auto& [column, place] : table.columns()) {
    const size_t block = column.find('_');
    const bool is_counter = block != std::string::npos &&
                            std::all_of(column.begin(), column.begin() + static_cast<long>(block),
                                        [](char c) { return (c >= 'A' && c <= 'Z'); }) &&
                            !column.starts_with("LDS_Per") && !column.starts_with("GPU_ID");
    const size_t last = column.rfind('_');
    const bool is_again = is_counter &&
                          NumberIn<uint64_t>(std::string_view(column).substr(last + 1)) &&
                          table.Has(std::string_view(column).substr(0, last));
    if (!is_counter || is_again) continue;
    if (const auto value = NumberIn<double>(table.Text(row, column)))
      AddValue(column.substr(0, column.find('[')), *value, launch);
  }
}

// What rocprofiler-compute has written beside its pmc_perf.csv: the GPU, and times of launches that
// ran without counters.
void AddWhatIsBeside(const fs::path& file,
                     std::map<std::pair<uint64_t, uint64_t>, Launch>* launches) {
  if (const auto info = Table::Read(file.parent_path() / "sysinfo.csv");
      info.ok() && info.value().size() > 1) {
    for (auto& [key, launch] : *launches)
      launch.target = std::string(info.value().Text(1, "gpu_arch"));
  }
  const auto times = Table::Read(file.parent_path() / "timestamps.csv");
  if (!times.ok()) return;
  size_t row = 1;  // both are in the order of launches; their numbers may begin with 0 or 1
  for (auto& [key, launch] : *launches) {
    if (row < times.value().size()) launch.nanoseconds = TimeOf(times.value(), row);
    ++row;
  }
}

Result<CounterSet> ReadCsv(const fs::path& file) {
  ROCHOUND_TRY(const Table table, Table::Read(file));
  const bool of_compute = table.Has("Dispatch_ID");
  const bool is_wide = of_compute && !table.Has("Counter_Name");
  const char* const id = of_compute ? "Dispatch_ID" : "Dispatch_Id";
  for (const char* needed :
       {id, "Kernel_Name", "Grid_Size", "Workgroup_Size", "Counter_Name", "Counter_Value"}) {
    if (is_wide && std::string_view(needed).starts_with("Counter_")) continue;
    if (!table.Has(needed)) {
      return Error{fmt::format(
          "{} has no column {}: it is no counter_collection.csv of rocprofv3 and no pmc_perf.csv "
          "of rocprofiler-compute",
          file.string(), needed)};
    }
  }
  std::map<std::pair<uint64_t, uint64_t>, Launch> by_dispatch;
  for (size_t i = 1; i < table.size(); ++i) {
    const auto text_of = [&](std::string_view column) { return table.Text(i, column); };
    const auto dispatch = NumberIn<uint64_t>(text_of(id));
    const auto grid = NumberIn<uint64_t>(text_of("Grid_Size"));
    const auto group = NumberIn<uint64_t>(text_of("Workgroup_Size"));
    if (!dispatch || !grid || !group) {
      return Error{
          fmt::format("{} record {}: Dispatch_Id, Grid_Size or Workgroup_Size is no number",
                      file.string(), i + 1)};
    }
    const uint64_t process = NumberIn<uint64_t>(text_of("Process_Id")).value_or(0);
    Launch& launch = by_dispatch[{process, *dispatch}];
    launch.kernel = WithoutSuffix(std::string(text_of("Kernel_Name")));
    launch.process = process;
    launch.order = *dispatch;
    launch.grid = {*grid, 1, 1};
    launch.workgroup = {*group, 1, 1};
    if (const auto time = TimeOf(table, i)) launch.nanoseconds = time;
    if (is_wide) {
      AddColumns(table, i, &launch);
      continue;
    }
    const auto value = NumberIn<double>(text_of("Counter_Value"));
    if (value) AddValue(std::string(text_of("Counter_Name")), *value, &launch);
  }
  if (of_compute) AddWhatIsBeside(file, &by_dispatch);
  CounterSet set;
  set.launches = InOrder(by_dispatch);
  return set;
}

std::array<uint64_t, 3> Sizes(const json& object) {
  return {object.at("x").get<uint64_t>(), object.at("y").get<uint64_t>(),
          object.at("z").get<uint64_t>()};
}

// One process of the file.
void ReadTool(const json& tool, CounterSet* set) {
  std::map<uint64_t, std::string> counters;
  for (const json& counter : tool.at("counters"))
    counters[counter.at("id").at("handle").get<uint64_t>()] = counter.at("name").get<std::string>();
  std::map<uint64_t, std::string> uris;  // of code objects
  for (const json& object : tool.value("code_objects", json::array()))
    uris[object.at("code_object_id").get<uint64_t>()] = StableUri(object.value("uri", ""));
  std::map<uint64_t, std::pair<std::string, std::string>> kernels;  // with their code objects
  for (const json& kernel : tool.at("kernel_symbols")) {
    const auto uri = uris.find(kernel.value("code_object_id", uint64_t{0}));
    kernels[kernel.at("kernel_id").get<uint64_t>()] = {
        WithoutSuffix(kernel.at("kernel_name").get<std::string>()),
        uri == uris.end() ? "" : uri->second};
  }
  std::map<uint64_t, std::string> targets;
  for (const json& agent : tool.value("agents", json::array()))
    targets[agent.at("id").at("handle").get<uint64_t>()] = agent.value("name", "");
  const uint64_t process = tool.value("metadata", json::object()).value("pid", uint64_t{0});

  std::map<std::pair<uint64_t, uint64_t>, Launch> by_dispatch;
  for (const json& record : tool.at("callback_records").at("counter_collection")) {
    const json& data = record.at("dispatch_data");
    const json& info = data.at("dispatch_info");
    const auto dispatch = info.at("dispatch_id").get<uint64_t>();
    Launch& launch = by_dispatch[{process, dispatch}];
    std::tie(launch.kernel, launch.code_object) = kernels.at(info.at("kernel_id").get<uint64_t>());
    const auto agent = targets.find(info.at("agent_id").at("handle").get<uint64_t>());
    if (agent != targets.end()) launch.target = agent->second;
    launch.process = process;
    launch.order = dispatch;
    launch.grid = Sizes(info.at("grid_size"));
    launch.workgroup = Sizes(info.at("workgroup_size"));
    const auto start = data.value("start_timestamp", uint64_t{0});
    const auto end = data.value("end_timestamp", uint64_t{0});
    if (end > start) launch.nanoseconds = static_cast<double>(end - start);
    for (const json& value : record.at("records")) {
      const auto id = value.at("counter_id").at("handle").get<uint64_t>();
      AddValue(counters.at(id), value.at("value").get<double>(), &launch);
    }
  }
  std::vector<Launch> launches = InOrder(by_dispatch);
  set->launches.insert(set->launches.end(), launches.begin(), launches.end());
}

Result<CounterSet> ReadJson(const fs::path& file) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  const json results = json::parse(text, nullptr, false);
  if (!results.is_object() || !results.contains("rocprofiler-sdk-tool"))
    return Error{fmt::format("{} is no *_results.json of rocprofv3", file.string())};
  CounterSet set;
  try {
    for (const json& tool : results.at("rocprofiler-sdk-tool")) ReadTool(tool, &set);
  } catch (const json::exception& problem) {
    return Error{
        fmt::format("{} is not as rocprofv3 writes it: {}", file.string(), problem.what())};
  } catch (const std::out_of_range&) {
    return Error{
        fmt::format("{} names a counter or a kernel that it does not describe", file.string())};
  }
  return set;
}

// pass_2, as rocprofv3 calls the folder of a pass; pmc_2 of ROCm 6.2.
bool IsPassName(std::string_view name) {
  const size_t end = name.find('_');
  if (end == std::string_view::npos) return false;
  const std::string_view word = name.substr(0, end);
  return (word == "pass" || word == "pmc") && NumberIn<uint64_t>(name.substr(end + 1)).has_value();
}

// out/pass_2 of out/pass_2/host/1234_counter_collection.csv; "" if there is none.
std::string PassOf(const fs::path& file) {
  fs::path folder;
  for (const fs::path& part : file.parent_path()) {
    folder /= part;
    if (IsPassName(part.string())) return folder.string();
  }
  return {};
}

// All say the same; csv knows sizes only as products.
Result<std::vector<fs::path>> FindCounterFiles(const fs::path& path) {
  const auto ends_with = [](const char* end) {
    return [end](std::string_view name) { return name.ends_with(end); };
  };
  return FindFiles(
      path,
      {ends_with("_results.json"), ends_with("_results.db"), ends_with("counter_collection.csv"),
       ends_with("pmc_perf.csv")},
      "*counter_collection.csv, *_results.json or *_results.db, which rocprofv3 --pmc writes, and "
      "no pmc_perf.csv of rocprofiler-compute");
}

class RocprofSource final : public CounterSource {
 public:
  explicit RocprofSource(std::vector<fs::path> paths) : paths_(std::move(paths)) {}

  Result<CounterSet> Read() const override {
    std::vector<CounterSet> passes;
    std::map<std::string, size_t> places;
    bool of_compute = false;
    for (const fs::path& path : paths_) {
      ROCHOUND_TRY(const std::vector<fs::path> files, FindCounterFiles(path));
      for (const fs::path& file : files) {
        ROCHOUND_TRY(CounterSet set, file.extension() == ".json" ? ReadJson(file)
                                     : file.extension() == ".db" ? ReadRocpdCounters(file)
                                                                 : ReadCsv(file));
        of_compute = of_compute || file.filename() == "pmc_perf.csv";
        const std::string pass = PassOf(file);
        const auto [place, is_new] = places.try_emplace(pass, passes.size());
        if (is_new || pass.empty()) {
          passes.push_back(std::move(set));
        } else {
          CounterSet& whole = passes[place->second];
          whole.launches.insert(whole.launches.end(), set.launches.begin(), set.launches.end());
        }
      }
    }
    CounterSet merged = MergePasses(passes);
    merged.source = fmt::format("{}, {} {}", of_compute ? "rocprofiler-compute" : "rocprofv3",
                                passes.size(), passes.size() == 1 ? "pass" : "passes");
    return merged;
  }

 private:
  std::vector<fs::path> paths_;
};

}  // namespace

std::unique_ptr<CounterSource> RocprofFiles(std::vector<fs::path> paths) {
  return std::make_unique<RocprofSource>(std::move(paths));
}

}  // namespace rochound::profile
