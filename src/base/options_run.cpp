// SPDX-License-Identifier: MIT
#include "base/options_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace rochound::base {
namespace {

// One write per line: lines of processes that run at the same time do not mix.
void Append(const std::string& text) {
  const char* const path = getenv("ROCHOUND_TEST_OPTIONS_RUN");
  if (path == nullptr || *path == '\0') return;
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  const std::string line = std::to_string(getpid()) + " " + text + "\n";
  (void)!write(file, line.data(), line.size());
  close(file);
}

}  // namespace

void RecordOptionsRun(const std::vector<std::string>& words) {
  std::string text = "ran";
  for (const std::string& word : words) text += " " + word;
  Append(text);
}

void RecordRefusal() { Append("refused"); }

}  // namespace rochound::base
