// SPDX-License-Identifier: MIT
//
// Launches `scale` of kernels.hip in the way that its argument names, and prints for each launch
// what ones became of: "launch 1: 2". Anything that is wrong about the memory is "launch 1:
// broken".
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "kernels.hip"

#define CHECK(call)                                             \
  do {                                                          \
    if (const hipError_t error = (call); error != hipSuccess) { \
      printf("FAIL %s: %s\n", #call, hipGetErrorString(error)); \
      exit(1);                                                  \
    }                                                           \
  } while (0)

namespace {

constexpr int kCount = 1024;
int launches = 0;

class Buffer {
 public:
  explicit Buffer(int count = kCount) : count_(count) {
    CHECK(hipMalloc(&values_, count_ * sizeof(float)));
    Reset();
  }
  void Reset() {
    const std::vector<float> ones(count_, 1);
    CHECK(hipMemcpy(values_, ones.data(), count_ * sizeof(float), hipMemcpyHostToDevice));
  }
  float* get() const { return values_; }
  // What all of it holds; nothing: they differ.
  std::string Value() const {
    std::vector<float> values(count_);
    CHECK(hipMemcpy(values.data(), values_, count_ * sizeof(float), hipMemcpyDeviceToHost));
    for (const float value : values)
      if (value != values[0]) return "broken";
    char text[32];
    snprintf(text, sizeof text, "%g", values[0]);
    return text;
  }
  void Print() const { printf("launch %d: %s\n", ++launches, Value().c_str()); }

 private:
  float* values_ = nullptr;
  int count_;
};

void Launch(const Buffer& buffer, hipStream_t stream = nullptr, int block = 64, int lds = 0) {
  scale<<<kCount / block, block, lds, stream>>>(buffer.get(), kCount);
  CHECK(hipGetLastError());
}

void Plain(int lds) {
  for (int i = 0; i < 4; ++i) {
    const Buffer buffer;
    Launch(buffer, nullptr, 64, lds);
    buffer.Print();
  }
}

// With a last block that is not full.
void Large() {
  constexpr int kLarge = (1 << 18) - 3;
  for (int i = 0; i < 2; ++i) {
    const Buffer buffer(kLarge);
    scale<<<(kLarge + 255) / 256, 256>>>(buffer.get(), kLarge);
    CHECK(hipGetLastError());
    buffer.Print();
  }
}

void Many(int count) {
  const Buffer buffer;
  for (int i = 0; i < count; ++i) Launch(buffer);
  CHECK(hipDeviceSynchronize());
}

void Blocks() {
  for (const int block : {64, 512}) {
    const Buffer buffer;
    Launch(buffer, nullptr, block);
    buffer.Print();
  }
}

void Graph() {
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  Buffer buffers[3];
  hipGraph_t graph;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  for (const Buffer& buffer : buffers) Launch(buffer, stream);
  CHECK(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t ready;
  CHECK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 2; ++i) {
    for (Buffer& buffer : buffers) buffer.Reset();
    CHECK(hipGraphLaunch(ready, stream));
    CHECK(hipStreamSynchronize(stream));
    for (const Buffer& buffer : buffers) buffer.Print();
  }
}

void Streams() {
  hipStream_t streams[3];
  Buffer buffers[3];
  for (hipStream_t& stream : streams) CHECK(hipStreamCreate(&stream));
  for (int i = 0; i < 3; ++i)
    for (int each = 0; each < 3; ++each) Launch(buffers[i], streams[i]);
  CHECK(hipDeviceSynchronize());
  for (const Buffer& buffer : buffers) buffer.Print();
}

void Threads() {
  std::vector<Buffer> buffers(4);
  std::vector<std::thread> threads;
  for (const Buffer& buffer : buffers) threads.emplace_back([&] { Launch(buffer); });
  for (std::thread& thread : threads) thread.join();
  CHECK(hipDeviceSynchronize());
  for (const Buffer& buffer : buffers) buffer.Print();
}

void Gpus() {
  int count = 0;
  CHECK(hipGetDeviceCount(&count));
  for (int gpu = 0; gpu < count; ++gpu) {
    CHECK(hipSetDevice(gpu));
    const Buffer buffer;
    Launch(buffer);
    buffer.Print();
  }
}

void Typed() {
  const Buffer buffer;
  typed<<<kCount / 64, 64>>>(buffer.get(), kCount);
  CHECK(hipGetLastError());
  buffer.Print();
}

void Cooperative() {
  const Buffer buffer;
  float* values = buffer.get();
  int count = kCount;
  void* arguments[] = {&values, &count};
  CHECK(hipLaunchCooperativeKernel(reinterpret_cast<const void*>(scale), dim3(kCount / 64),
                                   dim3(64), arguments, 0, nullptr));
  buffer.Print();
}

// Loads a code object from memory and forgets the memory, as Triton does.
void Module(const char* path) {
  std::vector<char> bytes;
  FILE* file = fopen(path, "rb");
  if (file == nullptr) exit(1);
  char part[4096];
  while (const size_t got = fread(part, 1, sizeof part, file))
    bytes.insert(bytes.end(), part, part + got);
  fclose(file);
  hipModule_t module;
  CHECK(hipModuleLoadData(&module, bytes.data()));
  std::vector<char>().swap(bytes);
  hipFunction_t function;
  CHECK(hipModuleGetFunction(&function, module, "scale"));
  const Buffer buffer;
  float* values = buffer.get();
  int count = kCount;
  void* arguments[] = {&values, &count};
  CHECK(
      hipModuleLaunchKernel(function, kCount / 64, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  buffer.Print();
}

// Until somebody adds a candidate.
void Wait() {
  const Buffer first;
  Launch(first);
  first.Print();
  const std::string before = first.Value();
  fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  Buffer buffer;
  while (std::chrono::steady_clock::now() - start < std::chrono::seconds(60)) {
    buffer.Reset();
    Launch(buffer);
    if (buffer.Value() != before) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  buffer.Print();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "plain";
  const char* const more = argc > 2 ? argv[2] : "";
#if defined(VARIABLE)
  const int value = 70;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(gain), &value, sizeof value));
#endif
  if (mode == "plain") Plain(0);
  if (mode == "dynamic") Plain(64 * sizeof(float));
  if (mode == "large") Large();
  if (mode == "many") Many(atoi(more));
  if (mode == "blocks") Blocks();
  if (mode == "graph") Graph();
  if (mode == "streams") Streams();
  if (mode == "threads") Threads();
  if (mode == "gpus") Gpus();
  if (mode == "typed") Typed();
  if (mode == "cooperative") Cooperative();
  if (mode == "module") Module(more);
  if (mode == "wait") Wait();
  printf("end\n");
  return 0;
}
