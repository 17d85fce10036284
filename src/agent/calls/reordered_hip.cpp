// SPDX-License-Identifier: MIT
//
// For tests: a library that exports functions of HIP as HIP does, by way of a table, in another
// order than HIP's headers have it, and with functions that these do not know.
#include <cstddef>
#include <cstdint>

namespace {

struct Table {
  size_t size;
  int (*free)(void*);
  int (*new_one)(int, double, const char*, int64_t, int64_t, int64_t, int64_t, int64_t);
  int (*get_device)(int*);
  int (*device_synchronize)();
  void* gap[40];
  int (*malloc)(void**, size_t);
  int (*stream_synchronize)(void*);
  int (*set_device)(int);
  int (*newer)();
  int (*nameless)();
};

Table* Get() {
  static Table made;
  static Table* const filled = [] {
    made.size = sizeof(Table);
    made.free = [](void*) { return 0; };
    made.new_one = [](int a, double b, const char*, int64_t, int64_t, int64_t, int64_t,
                      int64_t last) { return a + static_cast<int>(b) + static_cast<int>(last); };
    made.get_device = [](int* device) {
      *device = 6;
      return 0;
    };
    made.device_synchronize = [] { return 0; };
    made.malloc = [](void** pointer, size_t size) {
      *pointer = reinterpret_cast<void*>(size + 1);
      return 0;
    };
    made.stream_synchronize = [](void*) { return 0; };
    made.set_device = [](int device) { return device; };
    made.newer = [] { return 11; };
    made.nameless = [] { return 12; };
    return &made;
  }();
  return filled;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED void* TheTable() { return Get(); }
EXPORTED int hipFree(void* pointer) { return Get()->free(pointer); }
EXPORTED int hipNewOne(int a, double b, const char* c, int64_t d, int64_t e, int64_t f, int64_t g,
                       int64_t h) {
  return Get()->new_one(a, b, c, d, e, f, g, h);
}
EXPORTED int hipGetDevice(int* device) { return Get()->get_device(device); }
EXPORTED int hipDeviceSynchronize() { return Get()->device_synchronize(); }
EXPORTED int hipMalloc(void** pointer, size_t size) { return Get()->malloc(pointer, size); }
EXPORTED int hipStreamSynchronize(void* stream) { return Get()->stream_synchronize(stream); }
EXPORTED int hipSetDevice(int device) { return Get()->set_device(device); }
EXPORTED int hipNewer() { return Get()->newer(); }
