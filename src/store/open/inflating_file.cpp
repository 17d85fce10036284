// SPDX-License-Identifier: MIT
#include "store/open/inflating_file.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/files.h"

namespace rochound::store {
namespace {

constexpr size_t kInputBytes = 1 << 18;
constexpr size_t kOutputBytes = 1 << 20;
constexpr int kGzip = 16 + MAX_WBITS;  // what zlib wants to hear for gzip and nothing else

}  // namespace

struct InflatingFile::State {
  std::filesystem::path path;
  int fd = -1;
  bool gzipped = false;
  bool inflating = false;  // `stream` is set up
  bool in_member = false;
  uint64_t read = 0;
  uint64_t bytes = 0;
  std::vector<char> input;
  std::vector<char> output;
  size_t begin = 0;  // what of `input` is not used yet
  size_t end = 0;
  z_stream stream{};

  ~State() {
    if (inflating) inflateEnd(&stream);
    if (fd >= 0) close(fd);
  }

  base::Result<void> Fill() {
    begin = end = 0;
    ssize_t got = 0;
    do {
      got = ::read(fd, input.data(), input.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return base::ErrnoError("cannot read", path, errno);
    end = static_cast<size_t>(got);
    read += end;
    return {};
  }

  base::Error Damaged(const char* what) const {
    return base::Error{fmt::format("'{}': {} after {} of {} bytes; what comes before is good",
                                   path.string(), what, read - (end - begin), bytes)};
  }
};

InflatingFile::InflatingFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
InflatingFile::InflatingFile(InflatingFile&&) noexcept = default;
InflatingFile::~InflatingFile() = default;

uint64_t InflatingFile::bytes_read() const { return state_->read; }
uint64_t InflatingFile::file_bytes() const { return state_->bytes; }

base::Result<InflatingFile> InflatingFile::Open(const std::filesystem::path& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  ROCHOUND_TRY(state->fd, base::OpenRegularFile(path, &state->bytes));
  state->input.resize(kInputBytes);
  ROCHOUND_CHECK(state->Fill());
  state->gzipped = state->end >= 2 && state->input[0] == '\x1f' && state->input[1] == '\x8b';
  if (state->gzipped) {
    state->output.resize(kOutputBytes);
    if (inflateInit2(&state->stream, kGzip) != Z_OK) {
      return base::Error{
          fmt::format("'{}': zlib cannot be set up; is memory short?", path.string())};
    }
    state->inflating = state->in_member = true;
  }
  return InflatingFile(std::move(state));
}

base::Result<std::string_view> InflatingFile::Next() {
  State& s = *state_;
  if (!s.gzipped) {
    if (s.begin == s.end && s.end != 0) ROCHOUND_CHECK(s.Fill());
    const std::string_view piece(s.input.data() + s.begin, s.end - s.begin);
    s.begin = s.end;
    return piece;
  }
  s.stream.next_out = reinterpret_cast<Bytef*>(s.output.data());
  s.stream.avail_out = static_cast<uInt>(s.output.size());
  while (s.stream.avail_out == s.output.size()) {
    if (s.begin == s.end) {
      ROCHOUND_CHECK(s.Fill());
      if (s.end == 0) {
        if (s.in_member) return s.Damaged("the gzip stream is cut off");
        return std::string_view();
      }
    }
    if (!s.in_member) {
      // gzip itself lets zeros are after the last member, and so do we.
      while (s.begin < s.end && s.input[s.begin] == '\0') ++s.begin;
      if (s.begin == s.end) continue;
      if (inflateReset(&s.stream) != Z_OK) return s.Damaged("zlib cannot go on");
      s.in_member = true;
    }
    s.stream.next_in = reinterpret_cast<Bytef*>(s.input.data() + s.begin);
    s.stream.avail_in = static_cast<uInt>(s.end - s.begin);
    const int result = inflate(&s.stream, Z_NO_FLUSH);
    s.begin = s.end - s.stream.avail_in;
    if (result == Z_STREAM_END) {
      s.in_member = false;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      // What was inflated before is given out first; the next call meets the same damage.
      if (s.stream.avail_out != s.output.size()) break;
      return s.Damaged("the gzip stream is damaged");
    }
  }
  return std::string_view(s.output.data(), s.output.size() - s.stream.avail_out);
}

}  // namespace rochound::store
