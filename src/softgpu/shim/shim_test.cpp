// SPDX-License-Identifier: MIT
//
// The shim as a program meets it: this binary starts itself again with the shim preloaded and a
// device tree of two GPUs, once per test; the second process does what `Scene` says and tells by
// its exit code.
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "softgpu/driver/kfd_abi.h"

namespace rochound::softgpu {
namespace {

namespace fs = std::filesystem;

constexpr char kTopology[] = "/sys/devices/virtual/kfd/kfd/topology";

// --- in the second process

int g_failures = 0;

#define SCENE_CHECK(condition)                                                \
  do {                                                                        \
    if (!(condition)) {                                                       \
      ++g_failures;                                                           \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                         \
  } while (false)

std::string Slurp(const char* path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

bool CoreIsLoaded() {
  return Slurp("/proc/self/maps").find("rochound_softgpu_core") != std::string::npos;
}

int GetVersion(int fd) {
  kfd::GetVersionArgs version{};
  if (ioctl(fd, _IOR('K', kfd::kGetVersion, kfd::GetVersionArgs), &version) != 0) return -errno;
  return static_cast<int>(version.major * 100 + version.minor);
}

void SceneFiles() {
  const std::string generation = std::string(kTopology) + "/generation_id";
  const char* path = generation.c_str();
  char text[16] = {};
  const int fd = open(path, O_RDONLY);
  SCENE_CHECK(fd >= 0 && read(fd, text, sizeof(text)) == 2 && strcmp(text, "7\n") == 0);
  close(fd);
  FILE* file = fopen(path, "r");
  SCENE_CHECK(file != nullptr && fgetc(file) == '7');
  if (file != nullptr) fclose(file);
  SCENE_CHECK(Slurp(path) == "7\n");
  SCENE_CHECK(Slurp("/sys/class/kfd/kfd/topology/generation_id") == "7\n");
  SCENE_CHECK(Slurp("/proc/modules") == "amdgpu 1 0 - Live 0x0\n");
  SCENE_CHECK(access(path, R_OK) == 0);
  struct stat status;
  SCENE_CHECK(stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 2);
  SCENE_CHECK(lstat("/sys/class/kfd/kfd", &status) == 0 && S_ISLNK(status.st_mode));
  SCENE_CHECK(fstatat(AT_FDCWD, path, &status, 0) == 0);
  struct statx extended;
  SCENE_CHECK(statx(AT_FDCWD, path, 0, STATX_SIZE, &extended) == 0 && extended.stx_size == 2);
  char link[256] = {};
  SCENE_CHECK(readlink("/sys/class/kfd/kfd", link, sizeof(link)) > 0);
  SCENE_CHECK(fs::exists(kTopology) && fs::is_directory(kTopology));

  std::map<std::string, int> names;
  DIR* directory = opendir((std::string(kTopology) + "/nodes").c_str());
  SCENE_CHECK(directory != nullptr);
  if (directory != nullptr) {
    while (dirent* entry = readdir(directory)) ++names[entry->d_name];
    closedir(directory);
  }
  SCENE_CHECK(names.count("0") == 1 && names.count("1") == 1 && names.count("9") == 0);

  // What the tree does not have does not exist, and what is no business of ours is the machine's.
  SCENE_CHECK(open("/sys/class/kfd/nothing", O_RDONLY) == -1 && errno == ENOENT);
  SCENE_CHECK(open("/sys/class/drm/card0", O_RDONLY) == -1 && errno == ENOENT);
  SCENE_CHECK(!Slurp("/proc/self/maps").empty());
  SCENE_CHECK(!CoreIsLoaded());
}

void SceneDevices() {
  SCENE_CHECK(!CoreIsLoaded());
  struct stat status;
  SCENE_CHECK(stat("/dev/kfd", &status) == 0 && S_ISCHR(status.st_mode));
  SCENE_CHECK(access("/dev/dri/renderD129", R_OK | W_OK) == 0);
  SCENE_CHECK(access("/dev/dri/renderD130", F_OK) == -1 && errno == ENOENT);
  SCENE_CHECK(!CoreIsLoaded());

  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  SCENE_CHECK(kfd >= 0 && CoreIsLoaded());
  SCENE_CHECK(GetVersion(kfd) == 118);
  SCENE_CHECK((fcntl(kfd, F_GETFD) & FD_CLOEXEC) != 0);
  SCENE_CHECK(ioctl(kfd, FIONCLEX) == 0 && (fcntl(kfd, F_GETFD) & FD_CLOEXEC) == 0);
  const int render = open("/dev/dri/renderD128", O_RDWR);
  SCENE_CHECK(render >= 0 && render != kfd);
  SCENE_CHECK(open("/dev/dri/renderD130", O_RDWR) == -1 && errno == ENOENT);
  SCENE_CHECK(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, render, 0) == MAP_FAILED &&
              errno == EINVAL);

  // A descriptor's number that serves another file afterwards.
  SCENE_CHECK(close(kfd) == 0);
  const int other = open("/dev/null", O_RDWR);
  SCENE_CHECK(other == kfd && GetVersion(other) == -ENOTTY);
  close(other);
  SCENE_CHECK(GetVersion(kfd) == -EBADF);
  // The same behind the shim's back.
  const int plain = memfd_create("plain", 0);
  SCENE_CHECK(ftruncate(plain, 4096) == 0 && dup2(plain, render) == render);
  void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, render, 0);
  SCENE_CHECK(mapped != MAP_FAILED);
}

void SceneChildren() {
  const int kfd = open("/dev/kfd", O_RDWR);
  int status = 0;
  pid_t child = vfork();  // NOLINT: the point of the test
  if (child == 0) {
    close(kfd);  // what a careful program does before exec
    _exit(0);
  }
  waitpid(child, &status, 0);
  SCENE_CHECK(GetVersion(kfd) == 118);

  child = fork();
  if (child == 0) {
    if (GetVersion(kfd) != -EBADF) _exit(1);
    close(kfd);
    const int own = open("/dev/kfd", O_RDWR);
    _exit(own >= 0 && GetVersion(own) == 118 ? 0 : 2);
  }
  waitpid(child, &status, 0);
  SCENE_CHECK(status == 0);
  SCENE_CHECK(GetVersion(kfd) == 118);
  // exec keeps the environment, and with it the GPU.
  const std::string command = std::string("cat ") + kTopology + "/generation_id";
  FILE* output = popen(command.c_str(), "r");
  SCENE_CHECK(output != nullptr && fgetc(output) == '7');
  if (output != nullptr) pclose(output);
}

void SceneWithoutTree() {
  SCENE_CHECK(Slurp("/sys/class/kfd/kfd/topology/generation_id") != "7\n");
  const int kfd = open("/dev/kfd", O_RDWR);
  SCENE_CHECK(kfd == -1 || GetVersion(kfd) != 118 || fs::exists("/sys/module/amdgpu"));
  SCENE_CHECK(!CoreIsLoaded());
}

// After static destructors, as HIP frees its memory.
struct AtTheVeryEnd {
  ~AtTheVeryEnd() {
    if (fd >= 0 && GetVersion(fd) != 118) _exit(3);
  }
  int fd = -1;
} g_at_the_very_end;

void SceneExit() { g_at_the_very_end.fd = open("/dev/kfd", O_RDWR); }

const std::map<std::string, std::function<void()>> kScenes = {
    {"files", SceneFiles},         {"devices", SceneDevices}, {"children", SceneChildren},
    {"no-tree", SceneWithoutTree}, {"exit", SceneExit},
};

// --- in the first process

class ShimTest : public testing::Test {
 protected:
  ShimTest()
      : directory_(std::move(
            base::TempDir::Create(fs::temp_directory_path(), "softgpu-shim-test").value())) {
    const fs::path root = directory_.path();
    const fs::path topology = root.string() + kTopology;
    fs::create_directories(root / "devices");
    for (const char* node : {"0", "1", "2"}) fs::create_directories(topology / "nodes" / node);
    for (uint32_t node : {1u, 2u}) {
      const std::string minor = std::to_string(127 + node);
      fs::create_directories(root / "sys/class/drm" / ("renderD" + minor));
      Write(root / "devices" / (std::to_string(node) + ".conf"),
            "name test\nmarketing_name Test\ntarget gfx1030\nnode " + std::to_string(node) +
                "\ngpu_id " + std::to_string(50000 + node) + "\nrender_minor " + minor +
                "\ndevice_id 1\nrevision_id 2\nfamily_id 143\nasic_revision 1\n"
                "vram_bytes 1073741824\nvram_type 9\nvram_width_bits 256\nvram_host_visible 1\n"
                "memory_clock_mhz 1\nengine_clock_mhz 1\ncounter_khz 100000\ncu_count 72\n"
                "num_xcc 1\nshader_engines 4\narrays_per_engine 2\nsimd_per_cu 2\n"
                "max_waves_per_simd 16\nlds_bytes 65536\ngws 64\n");
    }
    Write(topology / "generation_id", "7\n");
    fs::create_directories(root / "proc");
    Write(root / "proc/modules", "amdgpu 1 0 - Live 0x0\n");
    fs::create_directories(root / "sys/class/kfd");
    fs::create_symlink("../../devices/virtual/kfd/kfd", root / "sys/class/kfd/kfd");
  }

  static void Write(const fs::path& path, const std::string& content) {
    ASSERT_TRUE(base::WriteFile(path, content).ok());
  }

  // The second process's wait status.
  int Play(const char* scene, bool with_tree = true) {
    const pid_t child = fork();
    if (child == 0) {
      std::string preload = ROCHOUND_SANITIZER_RUNTIME;
      if (!preload.empty()) preload += ":";
      setenv("LD_PRELOAD", (preload + ROCHOUND_SHIM).c_str(), 1);
      if (with_tree)
        setenv("ROCHOUND_SOFTGPU_ROOT", directory_.path().c_str(), 1);
      else
        unsetenv("ROCHOUND_SOFTGPU_ROOT");
      execl("/proc/self/exe", "scene", scene, static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  base::TempDir directory_;
};

TEST_F(ShimTest, AnswersFileLookUpsFromTheTree) { EXPECT_EQ(Play("files"), 0); }
TEST_F(ShimTest, OpensTheDevicesAndLoadsTheCoreOnlyThen) { EXPECT_EQ(Play("devices"), 0); }
TEST_F(ShimTest, LivesThroughForkVforkAndExec) { EXPECT_EQ(Play("children"), 0); }
TEST_F(ShimTest, StepsAsideWithoutATree) { EXPECT_EQ(Play("no-tree", false), 0); }
TEST_F(ShimTest, AnswersAfterStaticDestructors) { EXPECT_EQ(Play("exit"), 0); }

TEST(Shim, NeedsNothingButTheCLibrary) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime is linked into everything";
#endif
  const auto content = base::ReadFile(ROCHOUND_SHIM);
  ASSERT_TRUE(content.ok());
  const char* data = content.value().data();
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(data);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(data + header->e_shoff);
  std::vector<std::string> needed;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNAMIC) continue;
    const char* strings = data + sections[sections[i].sh_link].sh_offset;
    const auto* entry = reinterpret_cast<const Elf64_Dyn*>(data + sections[i].sh_offset);
    for (; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_NEEDED) needed.emplace_back(strings + entry->d_un.d_val);
  }
  EXPECT_EQ(needed, std::vector<std::string>{"libc.so.6"});
}

}  // namespace
}  // namespace rochound::softgpu

int main(int argc, char** argv) {
  using namespace rochound::softgpu;  // NOLINT: main
  if (argc == 2 && strcmp(argv[0], "scene") == 0) {
    kScenes.at(argv[1])();
    return g_failures == 0 ? 0 : 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
