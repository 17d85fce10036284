// SPDX-License-Identifier: MIT
#include "doctor/outcome.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/hash.h"

namespace rochound::doctor {
namespace {

using Json = nlohmann::ordered_json;

// What the runtimes, PyTorch and the C library write when something breaks, the most telling first.
constexpr const char* kTelling[] = {"Memory access fault by GPU",
                                    "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION",
                                    "HSA_STATUS_ERROR",
                                    "HSA exception",
                                    "Queue error",
                                    "no kernel image",
                                    "invalid device function",
                                    "hipError",
                                    "HIP error",
                                    "out of memory",
                                    "No HIP GPUs are available",
                                    "illegal memory access",
                                    "error while loading shared libraries",
                                    "Traceback",
                                    "terminate called",
                                    "Assertion"};

// What the runtimes write about a GPU that failed, and nobody else.
constexpr const char* kGpuFailed[] = {"Memory access fault by GPU", "HSA_STATUS_ERROR_EXCEPTION",
                                      "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION",
                                      "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION",
                                      "HSA_STATUS_ERROR_MEMORY_FAULT"};

// A difference as unlikely as this is no chance.
constexpr double kSignificant = 0.05;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    while (!line.empty() && isspace(static_cast<unsigned char>(line.back())) != 0) line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

std::string OutcomeOf(const Attempt& attempt) {
  if (attempt.timed_out) return fmt::format("time-out after {:.0f} s", attempt.seconds);
  if (attempt.signal != 0)
    return fmt::format("signal {} ({})", attempt.signal, strsignal(attempt.signal));
  if (attempt.exit_code == 0 && attempt.gpu_failed()) return "exit code 0, but a GPU failed";
  return attempt.worked() ? "ok" : fmt::format("exit code {}", attempt.exit_code);
}

Json AttemptJson(const Attempt& attempt) {
  const std::vector<std::string> lines = LinesOf(attempt.err);
  const size_t first = lines.size() > 20 ? lines.size() - 20 : 0;
  Json json = {{"outcome", OutcomeOf(attempt)}, {"seconds", attempt.seconds}};
  if (attempt.exit_code >= 0) json["exit_code"] = attempt.exit_code;
  if (attempt.signal != 0) json["signal"] = attempt.signal;
  json["timed_out"] = attempt.timed_out;
  json["output_hash"] = base::Hex64(base::Fnv1a64(attempt.out));
  json["last_errors"] =
      std::vector<std::string>(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end());
  return json;
}

std::vector<const Row*> Helping(const std::vector<Row>& rows) {
  std::vector<const Row*> helping;
  for (size_t i = 1; i < rows.size(); ++i)
    if (Helps(rows, i)) helping.push_back(&rows[i]);
  return helping;
}

bool SameOutput(const Row& a, const Row& b) {
  return a.attempts.empty() || b.attempts.empty() || a.attempts[0].out == b.attempts[0].out;
}

// Of two rows, whether the second succeeds more often than chance allows. Each of the other rows
// could have been the lucky one.
bool Better(const Row& first, const Row& second, size_t rows) {
  const double chance = ChanceOf(first.successes(), first.attempts.size(), second.successes(),
                                 second.attempts.size());
  return chance < kSignificant / static_cast<double>(std::max<size_t>(rows, 2) - 1);
}

}  // namespace

bool Attempt::gpu_failed() const {
  return std::any_of(std::begin(kGpuFailed), std::end(kGpuFailed), [&](const char* text) {
    return err.find(text) != std::string::npos || out.find(text) != std::string::npos;
  });
}

double ChanceOf(size_t first_ok, size_t first_runs, size_t second_ok, size_t second_runs) {
  const auto log_choose = [](size_t n, size_t k) {
    const auto gamma = [](size_t x) { return std::lgamma(static_cast<double>(x) + 1); };
    return gamma(n) - gamma(k) - gamma(n - k);
  };
  const size_t ok = first_ok + second_ok;
  const size_t runs = first_runs + second_runs;
  double chance = 0;
  for (size_t more = second_ok; more <= std::min(ok, second_runs); ++more)
    if (ok - more <= first_runs)
      chance += std::exp(log_choose(second_runs, more) + log_choose(first_runs, ok - more) -
                         log_choose(runs, ok));
  return chance;
}

bool Helps(const std::vector<Row>& rows, size_t row) {
  return rows[row].works() && Better(rows[0], rows[row], rows.size());
}

bool Harms(const std::vector<Row>& rows, size_t row) {
  return Better(rows[row], rows[0], rows.size());
}

size_t Row::successes() const {
  return static_cast<size_t>(std::count_if(attempts.begin(), attempts.end(),
                                           [](const auto& one) { return one.worked(); }));
}

std::string Row::Outcome() const {
  for (const Attempt& attempt : attempts) {
    if (attempt.worked()) continue;
    if (successes() == 0) return OutcomeOf(attempt);
    return fmt::format("{} of {} ok, else {}", successes(), attempts.size(), OutcomeOf(attempt));
  }
  return "ok";
}

std::string Row::Message() const {
  for (const Attempt& attempt : attempts)
    if (!attempt.worked()) return FailureMessage(attempt.out, attempt.err);
  return {};
}

std::string FailureMessage(const std::string& out, const std::string& err) {
  const std::vector<std::string> errors = LinesOf(err);
  const std::vector<std::string> lines = LinesOf(out);
  for (const char* telling : kTelling) {
    for (const auto* list : {&errors, &lines}) {
      for (const std::string& line : *list) {
        if (line.find(telling) == std::string::npos) continue;
        // Of a Python traceback, the last line has the exception.
        return strcmp(telling, "Traceback") == 0 ? list->back() : line;
      }
    }
  }
  if (!errors.empty()) return errors.back();
  return lines.empty() ? "" : lines.back();
}

Conclusion Conclude(const std::vector<Row>& rows) {
  if (rows.empty() || rows[0].works()) return Conclusion::kWorks;
  if (!Helping(rows).empty()) return Conclusion::kSomeHelp;
  const bool never =
      std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.successes() == 0; });
  return never ? Conclusion::kNoneHelps : Conclusion::kByChance;
}

std::string ConclusionText(const std::vector<Row>& rows) {
  switch (Conclude(rows)) {
    case Conclusion::kWorks: {
      std::vector<std::string> breaking;
      std::vector<std::string> once;
      for (size_t i = 1; i < rows.size(); ++i)
        if (!rows[i].works()) (Harms(rows, i) ? breaking : once).push_back(rows[i].setting.name);
      std::string text = breaking.empty()
                             ? "The program works as it is, and no setting changes that."
                             : fmt::format("The program works as it is; it fails with {}.",
                                           fmt::join(breaking, ", "));
      if (!once.empty())
        text += fmt::format(
            " It also failed with {}, which may be chance: --repeat runs each setting more often.",
            fmt::join(once, ", "));
      return text;
    }
    case Conclusion::kSomeHelp: {
      const std::vector<const Row*> helping = Helping(rows);
      std::vector<std::string> names;
      for (const Row* row : helping)
        names.push_back(fmt::format("{} ({})", row->setting.name, row->setting.Text()));
      return fmt::format(
          "The program fails as it is ({} of {} runs), and works with {} ({} of {} runs). To keep "
          "it: rochound doctor apply {} shows what would be written.",
          rows[0].attempts.size() - rows[0].successes(), rows[0].attempts.size(),
          fmt::join(names, ", "), helping[0]->successes(), helping[0]->attempts.size(),
          helping[0]->setting.name);
    }
    case Conclusion::kByChance: {
      size_t ok = 0;
      size_t runs = 0;
      for (const Row& row : rows) {
        ok += row.successes();
        runs += row.attempts.size();
      }
      return fmt::format(
          "The program fails by chance: {} of {} runs worked, and no setting makes a difference "
          "that is not chance. More runs tell more: --repeat 20.",
          ok, runs);
    }
    case Conclusion::kNoneHelps:
      break;
  }
  return "The program fails as it is, and no setting that was tried helps: look for the cause in "
         "the "
         "program, its code objects (rochound doctor -- PROGRAM) or the installation (rochound "
         "doctor).";
}

Json ToJson(const std::vector<Row>& rows, const BootAdvice& boot) {
  constexpr const char* kNames[] = {"works", "some-help", "none-helps", "by-chance"};
  Json json = {{"conclusion", kNames[static_cast<int>(Conclude(rows))]},
               {"text", ConclusionText(rows)},
               {"rows", Json::array()}};
  for (const Row& row : rows) {
    Json variables = Json::object();
    for (const auto& [name, value] : row.setting.variables)
      variables[name] = value ? Json(*value) : Json(nullptr);
    Json attempts = Json::array();
    for (const Attempt& attempt : row.attempts) attempts.push_back(AttemptJson(attempt));
    json["rows"].push_back({{"name", row.setting.name},
                            {"variables", variables},
                            {"about", row.setting.about},
                            {"works", row.works()},
                            {"outcome", row.Outcome()},
                            {"message", row.Message()},
                            {"unread", row.unread},
                            {"attempts", attempts}});
  }
  json["boot_parameters"] = Json::array();
  for (const BootSuggestion& one : boot.parameters)
    json["boot_parameters"].push_back(
        {{"parameter", one.parameter}, {"about", one.about}, {"sure", one.sure}});
  if (!boot.grub_line.empty()) json["grub_line"] = boot.grub_line;
  return json;
}

std::string ToText(const std::vector<Row>& rows, const BootAdvice& boot, size_t width) {
  size_t name = 7;
  size_t outcome = 7;
  for (const Row& row : rows) {
    name = std::max(name, row.setting.name.size());
    outcome = std::max(outcome, row.Outcome().size());
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  {:>7}  {}\n", "SETTING", name, "OUTCOME", outcome,
                                 "SECONDS", "");
  for (const Row& row : rows) {
    double seconds = 0;
    for (const Attempt& attempt : row.attempts)
      seconds += attempt.seconds / static_cast<double>(row.attempts.size());
    std::string remark = row.Message();
    if (row.works() && !rows[0].attempts.empty() && rows[0].works() && !SameOutput(row, rows[0]))
      remark = "its output differs";
    if (!row.unread.empty())
      remark += fmt::format("{}(nobody here reads {})", remark.empty() ? "" : " ",
                            fmt::join(row.unread, ", "));
    const size_t before = name + outcome + 13;
    const size_t room = width > before + 20 ? width - before : 60;
    if (remark.size() > room) remark = remark.substr(0, room - 3) + "...";
    text += fmt::format("{:<{}}  {:<{}}  {:>7.1f}  {}\n", row.setting.name, name, row.Outcome(),
                        outcome, seconds, remark);
  }
  text += "\n" + ConclusionText(rows) + "\n";
  if (boot.parameters.empty()) return text;
  text += "\nNot tried, since they need a reboot; suggestions only:\n";
  std::string all;
  for (const BootSuggestion& one : boot.parameters) {
    text += fmt::format("  {}: {}\n    How sure: {}\n", one.parameter, one.about, one.sure);
    all += " " + one.parameter;
  }
  text +=
      boot.grub_line.empty()
          ? fmt::format("  To add to the kernel's command line, in your boot loader:\n   {}\n", all)
          : fmt::format(
                "  The line in /etc/default/grub, then sudo update-grub and reboot:\n"
                "    {}\n",
                boot.grub_line);
  return text;
}

}  // namespace rochound::doctor
