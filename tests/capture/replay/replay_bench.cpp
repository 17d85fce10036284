// SPDX-License-Identifier: MIT
//
// `./dev bench replay [--json]`: replay's loop without restoring beside a bare loop of the same
// kernel, and what a replay costs before its first launch. In turns, on the software GPU; the best
// of each counts, so that a neighbour's work on the machine does not.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"

namespace {

namespace fs = std::filesystem;

constexpr int kTurns = 20;
constexpr int kIterations = 300;

// What the command prints; empty if it fails.
std::string Output(const std::string& command) {
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  while (const size_t got = fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), got);
  return pclose(pipe) == 0 ? text : "";
}

double Best(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
  const auto self = rochound::base::ExecutablePath();
  const auto folder = rochound::base::TempDir::Create(fs::temp_directory_path(), "replay-bench-");
  if (!self.ok() || !folder.ok()) return 1;
  const fs::path bin = self.value().parent_path();
  const std::string rochound = (bin / "rochound").string();
  const std::string bundle = (folder.value().path() / "bundle").string();
  const std::string on_gpu = rochound + " softgpu --gpu mi300x -- ";
  const std::string object = ROCHOUND_BENCH_OBJECT;
  Output(on_gpu + (bin / "make_bundle").string() + " scale " + object + " " + bundle);

  std::vector<double> bare, loop, startup;
  for (int turn = 0; turn < kTurns; ++turn) {
    bare.push_back(atof(
        Output(fmt::format("{}{} {} {}", on_gpu, (bin / "bare_loop").string(), object, kIterations))
            .c_str()));
    const auto answer = nlohmann::json::parse(
        Output(fmt::format("{} replay run {} --no-restore --iterations {} --softgpu mi300x --json",
                           rochound, bundle, kIterations + 1)),
        nullptr, false);
    if (!answer.is_object() || bare.back() <= 0) {
      fmt::print(stderr, "bench: a replay or the bare loop failed\n");
      return 1;
    }
    loop.push_back(answer["loop_ns_per_iteration"]);
    double sum = 0;
    for (const auto& [name, milliseconds] : answer["startup_ms"].items())
      sum += milliseconds.get<double>();
    startup.push_back(sum);
  }
  const nlohmann::ordered_json result = {{"bare_loop_ns", Best(bare)},
                                         {"replay_loop_ns", Best(loop)},
                                         {"replay_over_bare", Best(loop) / Best(bare)},
                                         {"replay_over_bare_goal", 1.1},
                                         {"startup_ms", Best(startup)}};
  if (json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    fmt::print("bare loop {:.1f} us, replay's {:.1f} us per launch: {:.3f} times (goal 1.1)\n",
               Best(bare) / 1e3, Best(loop) / 1e3, Best(loop) / Best(bare));
    fmt::print("before the first launch: {:.1f} ms\n", Best(startup));
  }
  return 0;
}
