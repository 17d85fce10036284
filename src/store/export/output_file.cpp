// SPDX-License-Identifier: MIT
#include "store/export/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files.h"

namespace rochound::store {
namespace {

constexpr int kGzipWindow = 16 + MAX_WBITS;

}  // namespace

struct OutputFile::State {
  std::filesystem::path path;
  std::filesystem::path beside;
  int fd = -1;
  int error = 0;
  bool packing = false;
  z_stream stream{};
  std::vector<unsigned char> packed;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (packing) deflateEnd(&stream);
    if (fd >= 0) close(fd);
    if (!beside.empty()) {
      std::error_code ignored;
      std::filesystem::remove(beside, ignored);
    }
  }

  void Write(const void* data, size_t size) {
    const char* bytes = static_cast<const char*>(data);
    while (size > 0 && error == 0) {
      const ssize_t wrote = write(fd, bytes, size);
      if (wrote < 0) {
        if (errno != EINTR) error = errno;
        continue;
      }
      bytes += wrote;
      size -= static_cast<size_t>(wrote);
    }
  }

  void Pack(std::string_view text, bool last) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    do {
      stream.next_out = packed.data();
      stream.avail_out = static_cast<uInt>(packed.size());
      deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
      Write(packed.data(), packed.size() - stream.avail_out);
    } while (stream.avail_out == 0 && error == 0);
  }
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

base::Result<OutputFile> OutputFile::Create(const std::filesystem::path& path) {
  ROCHOUND_CHECK(base::CheckReplaceable(path));
  auto state = std::make_unique<State>();
  state->path = path;
  std::filesystem::path beside = path;
  beside += fmt::format(".{}.part", getpid());
  state->fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (state->fd < 0) return base::ErrnoError("cannot create", beside, errno);
  state->beside = beside;
  if (path.extension() == ".gz") {
    // The quickest level: traces are repetitive, and the others take longer than the export itself.
    if (deflateInit2(&state->stream, 1, Z_DEFLATED, kGzipWindow, 9, Z_DEFAULT_STRATEGY) != Z_OK)
      return base::Error{"zlib cannot be set up; is memory short?"};
    state->packing = true;
    state->packed.resize(kWriteBytes);
  }
  return OutputFile(std::move(state));
}

bool OutputFile::broken() const { return state_->error != 0; }

void OutputFile::Flush(bool last) {
  if (state_->packing) {
    state_->Pack(buffer_, last);
  } else {
    state_->Write(buffer_.data(), buffer_.size());
  }
  buffer_.clear();
}

base::Result<void> OutputFile::Finish() {
  Flush(true);
  if (state_->error == 0 && close(std::exchange(state_->fd, -1)) != 0) state_->error = errno;
  if (state_->error != 0) return base::ErrnoError("cannot write", state_->path, state_->error);
  if (rename(state_->beside.c_str(), state_->path.c_str()) != 0)
    return base::ErrnoError("cannot create", state_->path, errno);
  state_->beside.clear();
  return {};
}

}  // namespace rochound::store
