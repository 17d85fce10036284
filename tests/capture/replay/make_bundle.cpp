// SPDX-License-Identifier: MIT
//
// Writes a bundle of one launch of a kernel in kernels.hip, without the agent: it makes the memory,
// so that it knows all of it. usage: make_bundle SCENARIO CODE_OBJECT BUNDLE. Prints nothing if it
// works.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "capture/bundle_writer.h"
#include "capture/replay/launcher.h"
#include "capture/replay/runtime.h"
#include "codeobj/code_object.h"

namespace {

namespace capture = rochound::capture;
namespace replay = rochound::capture::replay;
namespace codeobj = rochound::codeobj;

void Require(bool good, const std::string& what) {
  if (good) return;
  fprintf(stderr, "make_bundle: %s\n", what.c_str());
  exit(1);
}

template <typename T>
T Get(rochound::base::Result<T> result) {
  Require(result.ok(), result.ok() ? "" : result.error().message);
  return std::move(result).value();
}

void Check(const rochound::base::Result<void>& result) {
  Require(result.ok(), result.ok() ? "" : result.error().message);
}

class Maker {
 public:
  Maker(const std::string& code_object, const std::string& kernel)
      : runtime_(Get(replay::Runtime::Start())),
        gpu_(runtime_->gpus().front()),
        copier_(Get(replay::Copier::Create(*runtime_, gpu_))),
        launcher_(Get(replay::Launcher::Create(gpu_, 60))),
        file_(Get(rochound::base::ReadFile(code_object))),
        object_(Get(codeobj::CodeObject::Parse(file_))) {
    for (const codeobj::Kernel& each : object_.kernels())
      if (each.name.find(kernel) != std::string::npos) kernel_ = &each;
    Require(kernel_ != nullptr, "no kernel " + kernel);
    loaded_ = Get(launcher_->Load(Bytes(), kernel_->symbol));
    Check(launcher_->MakeQueue());
    kernarg_.resize(kernel_->kernarg_segment_size);
    kernarg_place_ = Get(runtime_->AllocateKernarg(gpu_, 4096));
    memset(kernarg_place_, 0, 4096);
    AddRegion(Address(kernarg_place_), 4096, "kernarg");
    AddRegion(loaded_.base, loaded_.size, "code_object");
  }

  std::span<const std::byte> Bytes() const {
    return {reinterpret_cast<const std::byte*>(file_.data()), file_.size()};
  }
  static uint64_t Address(const std::byte* pointer) { return reinterpret_cast<uint64_t>(pointer); }

  template <typename T>
  uint64_t Buffer(const std::vector<T>& values) {
    const size_t size = (values.size() * sizeof(T) + 4095) / 4096 * 4096;
    const uint64_t address = Address(Get(runtime_->AllocateDevice(gpu_, size)));
    Check(copier_->WriteZeros(address, size));
    Check(copier_->Write(address, std::as_bytes(std::span(values))));
    AddRegion(address, size, "pool");
    return address;
  }

  uint64_t Variable(const std::string& name) const {
    for (const codeobj::Symbol& symbol : object_.variables())
      if (symbol.name == name) return symbol.address + loaded_.delta;
    Require(false, "no variable " + name);
    return 0;
  }

  template <typename T>
  void Write(uint64_t address, const std::vector<T>& values) {
    Check(copier_->Write(address, std::as_bytes(std::span(values))));
  }

  template <typename T>
  void Argument(size_t index, T value) {
    memcpy(kernarg_.data() + kernel_->arguments.at(index).offset, &value, sizeof(value));
  }

  // Memory in the arguments' page. As in a real capture, what it is afterwards is not kept.
  uint64_t BesideArguments() {
    keep_kernarg_ = false;
    return Address(kernarg_place_) + 2048;
  }

  // What is captured is the second of two launches.
  void LaunchTwice() { twice_ = true; }
  void LeaveOut(uint64_t address) { left_out_.push_back(address); }
  // What the bundle says instead of the truth, with good checksums.
  void LieAboutByte(uint64_t address) { false_byte_ = address; }
  void LieAboutKernel(const std::string& name) { false_kernel_ = name; }
  void LieAboutKernarg() { kernarg_lie_ = true; }
  void LieAboutCode() { code_lie_ = true; }

  void Launch(uint32_t groups, uint32_t items, uint32_t dynamic_lds, const std::string& path) {
    for (const codeobj::Argument& argument : kernel_->arguments) {
      const auto set = [&](const char* kind, uint64_t value) {
        if (argument.value_kind == kind)
          memcpy(kernarg_.data() + argument.offset, &value, argument.size);
      };
      set("hidden_block_count_x", groups);
      set("hidden_block_count_y", 1);
      set("hidden_block_count_z", 1);
      set("hidden_group_size_x", items);
      set("hidden_group_size_y", 1);
      set("hidden_group_size_z", 1);
      set("hidden_grid_dims", 1);
    }
    memcpy(kernarg_place_, kernarg_.data(), kernarg_.size());
    replay::Packet packet;
    packet.setup = 1;
    packet.grid = {groups * items, 1, 1};
    packet.workgroup = {items, 1, 1};
    packet.group_bytes = loaded_.group_bytes + dynamic_lds;
    packet.private_bytes = loaded_.private_bytes;
    packet.object = loaded_.object;
    packet.kernarg = Address(kernarg_place_);

    std::sort(regions_.begin(), regions_.end(),
              [](const auto& one, const auto& other) { return one.base < other.base; });
    for (capture::Region& region : regions_)
      for (const uint64_t address : left_out_)
        if (region.base == address) region.taken = false;
    if (twice_) Run(packet);
    std::string error;
    writer_ = capture::BundleWriter::Create(path, &error);
    Require(writer_ != nullptr, error);
    Snapshot(capture::Phase::kBefore);
    const replay::LaunchResult result = Run(packet);
    Snapshot(capture::Phase::kAfter);
    Finish(packet, result);
  }

 private:
  replay::LaunchResult Run(const replay::Packet& packet) {
    const replay::LaunchResult result = launcher_->Launch(packet);
    Require(result.state == replay::LaunchResult::State::kDone, "the launch failed");
    return result;
  }

  void AddRegion(uint64_t base, uint64_t size, const char* kind) {
    capture::Region region;
    region.base = base;
    region.size = size;
    region.kind = kind;
    region.owner = 0;
    region.taken = true;
    regions_.push_back(region);
  }

  uint64_t TextOffset() const {
    for (const codeobj::Segment& segment : object_.segments())
      if (segment.executable) return segment.offset + kernel_->code_address - segment.address;
    Require(false, "there is no code");
    return 0;
  }

  void Snapshot(capture::Phase phase) {
    for (uint32_t i = 0; i < regions_.size(); ++i) {
      if (!regions_[i].taken) continue;
      if (phase == capture::Phase::kAfter && regions_[i].kind == "kernarg" && !keep_kernarg_)
        continue;
      std::vector<std::byte> bytes(regions_[i].size);
      Check(copier_->Read(regions_[i].base, bytes));
      if (false_byte_ - regions_[i].base < regions_[i].size)
        bytes[false_byte_ - regions_[i].base] ^= std::byte{0x40};
      Require(writer_->AddRegionBytes(phase, i, 0, bytes), writer_->error());
    }
  }

  void Finish(const replay::Packet& packet, const replay::LaunchResult& result) {
    capture::Manifest manifest;
    manifest.made_by = "make_bundle";
    manifest.created = "2026-01-01T00:00:00Z";
    manifest.kernel = false_kernel_.empty() ? kernel_->name : false_kernel_;
    manifest.memory = "all";
    capture::Agent agent;
    agent.name = gpu_.name;
    agent.isa = gpu_.isa;
    agent.product = gpu_.product;
    agent.device = "gpu";
    agent.node = gpu_.node;
    manifest.agents = {agent};
    manifest.regions = regions_;
    manifest.code_object = {{loaded_.base, loaded_.size}, loaded_.delta, "memory://"};
    capture::Launch& launch = manifest.launch;
    launch.setup = packet.setup;
    launch.grid = packet.grid;
    launch.workgroup = packet.workgroup;
    launch.group_bytes = packet.group_bytes;
    launch.private_bytes = packet.private_bytes;
    launch.kernel_object = packet.object;
    launch.kernarg = packet.kernarg;
    launch.kernarg_bytes = static_cast<uint32_t>(kernarg_.size());
    launch.duration_ns = static_cast<uint64_t>(result.gpu_ns);
    launch.dispatch = launch.match = 1;
    hsa_kernel_dispatch_packet_t raw{};
    raw.header = HSA_PACKET_TYPE_KERNEL_DISPATCH;
    raw.setup = packet.setup;
    raw.workgroup_size_x = static_cast<uint16_t>(packet.workgroup[0]);
    raw.workgroup_size_y = raw.workgroup_size_z = 1;
    raw.grid_size_x = packet.grid[0];
    raw.grid_size_y = raw.grid_size_z = 1;
    raw.private_segment_size = packet.private_bytes;
    raw.group_segment_size = packet.group_bytes;
    raw.kernel_object = packet.object;
    raw.kernarg_address = kernarg_place_;
    static_assert(sizeof(raw) == sizeof(launch.packet));
    memcpy(launch.packet.data(), &raw, sizeof(raw));
    if (kernarg_lie_) kernarg_[8] ^= std::byte{1};
    if (code_lie_) file_[TextOffset()] ^= 1;
    Require(writer_->Finish(manifest, kernarg_, Bytes()), writer_->error());
  }

  std::unique_ptr<replay::Runtime> runtime_;
  replay::Gpu gpu_;
  std::unique_ptr<replay::Copier> copier_;
  std::unique_ptr<replay::Launcher> launcher_;
  std::string file_;
  codeobj::CodeObject object_;
  const codeobj::Kernel* kernel_ = nullptr;
  replay::LoadedKernel loaded_;
  std::vector<std::byte> kernarg_;
  std::byte* kernarg_place_ = nullptr;
  std::vector<capture::Region> regions_;
  std::vector<uint64_t> left_out_;
  uint64_t false_byte_ = 0;
  std::string false_kernel_;
  bool keep_kernarg_ = true;
  bool twice_ = false;
  bool kernarg_lie_ = false;
  bool code_lie_ = false;
  std::unique_ptr<capture::BundleWriter> writer_;
};

std::vector<float> Ramp(size_t count, float step) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) * step;
  return values;
}

void Scale(const std::string& object, const std::string& path, const std::string& wrong) {
  Maker maker(object, "Scale");
  constexpr int kCount = 5000;
  // More than a few of the pieces that memory is moved in.
  const size_t size = wrong == "large" ? 6'300'000 : kCount;
  const uint64_t add = maker.Buffer(Ramp(size, 0.25F));
  maker.Argument(0, maker.Buffer(Ramp(size, 1.5F)));
  maker.Argument(1, add);
  maker.Argument(2, 2.0F);
  maker.Argument(3, kCount);
  if (wrong == "left_out") maker.LeaveOut(add);
  if (wrong == "false_memory") maker.LieAboutByte(add + 3 * sizeof(float) + 2);
  if (wrong == "false_kernel") maker.LieAboutKernel("_Z7GlobalsPiS_");
  if (wrong == "false_kernarg") maker.LieAboutKernarg();
  if (wrong == "false_code") maker.LieAboutCode();
  maker.Launch((kCount + 63) / 64, 64, 0, path);
}

void Plain(const std::string& object, const std::string& path) {
  Maker maker(object, "plain_add");
  maker.Argument(0, maker.Buffer(Ramp(64, 1.5F)));
  maker.Argument(1, 0.3F);
  maker.Launch(1, 64, 0, path);
}

void BesideArguments(const std::string& object, const std::string& path) {
  Maker maker(object, "plain_add");
  maker.Argument(0, maker.BesideArguments());
  maker.Argument(1, 0.3F);
  maker.Launch(1, 64, 0, path);
}

void Globals(const std::string& object, const std::string& path) {
  Maker maker(object, "Globals");
  maker.Write(maker.Variable("table"), std::vector<int>{10, 20, 30, 40});
  maker.Argument(0, maker.Buffer(std::vector<int>(512)));
  maker.Argument(1, maker.Variable("counter"));
  maker.Launch(1, 64, 0, path);
}

void Chase(const std::string& object, const std::string& path) {
  struct Node {
    uint64_t next;
    int value;
    int padding;
  };
  Maker maker(object, "Chase");
  // Several allocations, each node in another one than the last.
  uint64_t next = 0;
  std::vector<uint64_t> buffers;
  for (int i = 0; i < 5; ++i) buffers.push_back(maker.Buffer(std::vector<int>(4096)));
  for (int i = 0; i < 40; ++i) {
    const uint64_t place = buffers[i % 5] + i * 96;
    maker.Write(place, std::vector<Node>{{next, i * i, 0}});
    next = place;
  }
  maker.Argument(0, next);
  maker.Argument(1, maker.Buffer(std::vector<int>(1)));
  maker.Launch(1, 1, 0, path);
}

void DynamicLds(const std::string& object, const std::string& path) {
  Maker maker(object, "DynamicLds");
  maker.Argument(0, maker.Buffer(std::vector<int>(256)));
  maker.Launch(1, 256, 1024, path);
}

// shared: input and output are in one allocation, as with PyTorch's allocator. nothing: it has no
// elements to work on.
void Fill(const std::string& object, const std::string& path, const std::string& how) {
  Maker maker(object, "Fill");
  constexpr int kCount = 1000;
  std::vector<int> in(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = i * 7 - 300;
  if (how == "shared_again") {
    std::vector<int> both = in;
    both.resize(8192);
    const uint64_t buffer = maker.Buffer(both);
    maker.Argument(0, buffer + 4096);
    maker.Argument(1, buffer);
  } else {
    maker.Argument(1, maker.Buffer(in));
    maker.Argument(0, maker.Buffer(std::vector<int>(3000)));
  }
  maker.Argument(2, how == "nothing" ? 0 : kCount);
  if (how != "fill") maker.LaunchTwice();
  maker.Launch((kCount + 63) / 64, 64, 0, path);
}

void GatherAgain(const std::string& object, const std::string& path) {
  Maker maker(object, "Gather");
  constexpr int kCount = 500;
  std::vector<int> in(kCount);
  std::vector<int64_t> index(kCount);
  for (int i = 0; i < kCount; ++i) {
    in[i] = i * 11 + 5;
    index[i] = (i * 37) % kCount;
  }
  maker.Argument(0, maker.Buffer(std::vector<int>(kCount)));
  maker.Argument(1, maker.Buffer(in));
  maker.Argument(2, maker.Buffer(index));
  maker.Argument(3, kCount);
  maker.LaunchTwice();
  maker.Launch((kCount + 63) / 64, 64, 0, path);
}

void HalvesAgain(const std::string& object, const std::string& path) {
  Maker maker(object, "Halves");
  constexpr int kCount = 500;
  std::vector<int> data(2 * kCount);
  for (int i = 0; i < kCount; ++i) data[i] = i * 13 - 70;
  maker.Argument(0, maker.Buffer(data));
  maker.Argument(1, kCount);
  maker.LaunchTwice();
  maker.Launch((kCount + 63) / 64, 64, 0, path);
}

void ClampAgain(const std::string& object, const std::string& path) {
  Maker maker(object, "Clamp");
  std::vector<int> data(1024);  // to the end of its page, so that nothing is left untouched
  for (int i = 0; i < 1024; ++i) data[i] = i % 3 == 0 ? -i : i;
  maker.Argument(0, maker.Buffer(data));
  maker.Argument(1, 1024);
  maker.LaunchTwice();
  maker.Launch(16, 64, 0, path);
}

void Integers(const std::string& object, const std::string& path) {
  Maker maker(object, "Integers");
  maker.Argument(0, maker.Buffer(std::vector<int>(64)));
  maker.Launch(1, 64, 0, path);
}

void Clock(const std::string& object, const std::string& path) {
  Maker maker(object, "Clock");
  maker.Argument(0, maker.Buffer(std::vector<uint64_t>(64)));
  maker.Launch(1, 64, 0, path);
}

void FloatAtomics(const std::string& object, const std::string& path) {
  Maker maker(object, "FloatAtomics");
  constexpr int kCount = 40000;
  std::vector<float> values(kCount);
  for (int i = 0; i < kCount; ++i)
    values[i] = (i % 2 != 0 ? -1.0F : 1.0F) * static_cast<float>(1 + i * 7919 % 10007) * 0.37F;
  maker.Argument(0, maker.Buffer(std::vector<float>(1)));
  maker.Argument(1, maker.Buffer(values));
  maker.Argument(2, kCount);
  maker.Launch((kCount + 63) / 64, 64, 0, path);
}

}  // namespace

int main(int argc, char** argv) {
  using Scenario = std::function<void(const std::string&, const std::string&)>;
  std::map<std::string, Scenario> scenarios = {
      {"plain", Plain},
      {"beside_arguments", BesideArguments},
      {"globals", Globals},
      {"chase", Chase},
      {"dynamic_lds", DynamicLds},
      {"gather_again", GatherAgain},
      {"halves_again", HalvesAgain},
      {"clamp_again", ClampAgain},
      {"integers", Integers},
      {"clock", Clock},
      {"float_atomics", FloatAtomics},
  };
  for (const char* scale : {"scale", "large", "left_out", "false_memory", "false_kernel",
                            "false_kernarg", "false_code"}) {
    scenarios[scale] = [scale](const auto& object, const auto& path) {
      Scale(object, path, scale);
    };
  }
  for (const char* fill : {"fill", "fill_again", "shared_again", "nothing"})
    scenarios[fill] = [fill](const auto& object, const auto& path) { Fill(object, path, fill); };
  Require(argc == 4 && scenarios.contains(argv[1]), "SCENARIO CODE_OBJECT BUNDLE");
  scenarios.at(argv[1])(argv[2], argv[3]);
  fflush(nullptr);
  _Exit(0);
}
