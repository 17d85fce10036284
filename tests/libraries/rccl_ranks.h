// SPDX-License-Identifier: MIT
//
// What programs of several ranks share: a launcher that starts one process per rank, as mpirun and
// torchrun do (RANK and WORLD_SIZE in the environment), and a communicator of all of them. Ranks
// meet by a file in a folder that the launcher made. A call that fails ends the rank with 1.
#pragma once

#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK_HIP(call)                                                                         \
  do {                                                                                          \
    if (const hipError_t status_ = (call); status_ != hipSuccess) {                             \
      fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(status_)); \
      _exit(1);                                                                                 \
    }                                                                                           \
  } while (false)

#define CHECK_RCCL(call)                                                                         \
  do {                                                                                           \
    if (const ncclResult_t status_ = (call); status_ != ncclSuccess) {                           \
      fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #call, ncclGetErrorString(status_)); \
      _exit(1);                                                                                  \
    }                                                                                            \
  } while (false)

namespace ranks {

struct Place {
  int rank = 0, ranks = 1;
  std::string folder;
};

inline Place OfThisProcess() {
  return {atoi(getenv("RANK")), atoi(getenv("WORLD_SIZE")), getenv("RANKS_FOLDER")};
}

// Starts a rank per process; `program` says what each of them is (nothing: it is not started at
// all). The launcher's exit code: 0 if all ranks ended with 0.
template <typename Program>
int Launch(int ranks, Program program) {
  char folder[] = "/tmp/rochound-ranks-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  setenv("RANKS_FOLDER", folder, 1);
  setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  for (int rank = 0; rank < ranks; ++rank) {
    setenv("RANK", std::to_string(rank).c_str(), 1);
    const std::vector<std::string> words = program(rank);
    if (words.empty() || fork() != 0) continue;
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    perror(arguments[0]);
    _exit(127);
  }
  int status = 0, failed = 0;
  while (wait(&status) > 0) failed |= status;
  const std::string id = std::string(folder) + "/id";
  unlink(id.c_str());
  rmdir(folder);
  return failed == 0 ? 0 : 1;
}

// Rank 0 makes the id, the others read it. It appears whole.
inline ncclUniqueId MeetById(const Place& place, const char* name = "id") {
  ncclUniqueId id{};
  const std::string path = place.folder + "/" + name, draft = path + ".draft";
  if (place.rank == 0) {
    CHECK_RCCL(ncclGetUniqueId(&id));
    FILE* const file = fopen(draft.c_str(), "wb");
    if (file == nullptr || fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) != 0) _exit(1);
    if (rename(draft.c_str(), path.c_str()) != 0) _exit(1);
    return id;
  }
  for (;;) {
    if (FILE* const file = fopen(path.c_str(), "rb")) {
      const bool read = fread(&id, sizeof id, 1, file) == 1;
      fclose(file);
      if (read) return id;
    }
    usleep(10000);
  }
}

inline ncclComm_t Connect(const Place& place) {
  CHECK_HIP(hipSetDevice(place.rank));
  const ncclUniqueId id = MeetById(place);
  ncclComm_t communicator = nullptr;
  CHECK_RCCL(ncclCommInitRank(&communicator, place.ranks, id, place.rank));
  return communicator;
}

}  // namespace ranks
