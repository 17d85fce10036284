/* SPDX-License-Identifier: MIT */
/*
 * What kernels did on a software GPU (rochound softgpu), read by the program itself: exact counts
 * per dispatch, and the cycles of a simple model. docs/softgpu-counters.md says what each one
 * means. Include it anywhere (C99, C++11); there is nothing to link (-ldl with a C library older
 * than glibc 2.34). Any thread may call any function.
 *
 *   rochound_softgpu_counters c = {sizeof c};
 *   rochound_softgpu_counters_start();                    after the first HIP or HSA call
 *   kernel<<<...>>>(...); hipDeviceSynchronize();
 *   while (rochound_softgpu_counters_read(&c, NULL, 0) == 1) printf("%s %llu\n", c.kernel, ...);
 *   rochound_softgpu_counters_stop();
 *
 * The software GPU's library comes with the first GPU call. Before it, and on a real GPU, start
 * returns 0 and nothing is counted.
 */
#ifndef ROCHOUND_SOFTGPU_COUNTERS_H
#define ROCHOUND_SOFTGPU_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): names for C */

/* Since 0.1.0: all below.
 *
 * Indices of `instructions`. New classes are added at the end. */
enum {
  ROCHOUND_SOFTGPU_SALU,
  ROCHOUND_SOFTGPU_SMEM,
  ROCHOUND_SOFTGPU_VALU,
  ROCHOUND_SOFTGPU_VALU_TRANSCENDENTAL,
  ROCHOUND_SOFTGPU_MATRIX,
  ROCHOUND_SOFTGPU_LDS_LOAD,
  ROCHOUND_SOFTGPU_LDS_STORE,
  ROCHOUND_SOFTGPU_LDS_ATOMIC,
  ROCHOUND_SOFTGPU_LDS_EXCHANGE,
  ROCHOUND_SOFTGPU_GLOBAL_LOAD,
  ROCHOUND_SOFTGPU_GLOBAL_STORE,
  ROCHOUND_SOFTGPU_GLOBAL_ATOMIC,
  ROCHOUND_SOFTGPU_FLAT_LOAD,
  ROCHOUND_SOFTGPU_FLAT_STORE,
  ROCHOUND_SOFTGPU_FLAT_ATOMIC,
  ROCHOUND_SOFTGPU_SCRATCH_LOAD,
  ROCHOUND_SOFTGPU_SCRATCH_STORE,
  ROCHOUND_SOFTGPU_SCRATCH_ATOMIC,
  ROCHOUND_SOFTGPU_BUFFER_LOAD,
  ROCHOUND_SOFTGPU_BUFFER_STORE,
  ROCHOUND_SOFTGPU_BUFFER_ATOMIC,
  ROCHOUND_SOFTGPU_BRANCH,
  ROCHOUND_SOFTGPU_BARRIER,
  ROCHOUND_SOFTGPU_WAIT,
  ROCHOUND_SOFTGPU_OTHER,
  ROCHOUND_SOFTGPU_CLASSES
};

/* Indices of `memory`. */
enum {
  ROCHOUND_SOFTGPU_GLOBAL,
  ROCHOUND_SOFTGPU_LDS,
  ROCHOUND_SOFTGPU_SCRATCH,
  ROCHOUND_SOFTGPU_SCALAR,
  ROCHOUND_SOFTGPU_SPACES
};

typedef struct rochound_softgpu_memory {
  uint64_t read_bytes;
  uint64_t written_bytes;
  uint64_t atomic_bytes;
  uint64_t lines_read;
  uint64_t lines_written;
  uint64_t lines_atomic;
} rochound_softgpu_memory;

typedef struct rochound_softgpu_counters {
  size_t size;       /* set by the caller: sizeof of this structure */
  size_t json_bytes; /* of the record as JSON, with the terminating zero */
  uint64_t lost;     /* records that were dropped, unread, so far */

  uint64_t order; /* of the dispatch's start in this process */
  uint32_t queue;
  uint32_t gpu_id;
  char target[16];
  char kernel[256]; /* cut if it is longer; the JSON has all of it */
  uint32_t completed;
  uint32_t wave_size;
  uint32_t grid[3];
  uint32_t workgroup[3];
  uint64_t workgroups;
  uint64_t waves;

  uint64_t instructions[ROCHOUND_SOFTGPU_CLASSES];
  uint64_t instructions_total;
  uint64_t dual_issued;
  uint64_t lanes_active;
  uint64_t lanes_possible;
  uint32_t line_bytes;
  uint32_t scalar_line_bytes;
  rochound_softgpu_memory memory[ROCHOUND_SOFTGPU_SPACES];
  uint64_t lds_instructions;
  uint64_t lds_lane_accesses;
  uint64_t lds_cycles;
  uint64_t lds_bank_conflicts;
  uint64_t lds_address_conflicts;
  uint64_t branches_taken;
  uint64_t branches_not_taken;
  uint64_t branches_divergent;
  uint64_t exec_splits;
  uint64_t barriers;
  uint64_t atomic_lane_operations;

  uint64_t modelled_cycles;
} rochound_softgpu_counters;

/* NOLINTEND(readability-identifier-naming) */

#ifdef ROCHOUND_SOFTGPU_COUNTERS_IMPLEMENTATION

int rochound_softgpu_counters_start(void);
int rochound_softgpu_counters_stop(void);
int rochound_softgpu_counters_read(rochound_softgpu_counters* out, char* json, size_t json_bytes);

#else

#include <dlfcn.h>

/* --- how the library is found: not interface --- */
static inline void* rochound_softgpu_find_(const char* name) {
  void* core = dlopen("librochound_softgpu_core.so", RTLD_NOLOAD | RTLD_LAZY);
  void* function = core == NULL ? NULL : dlsym(core, name);
  if (core != NULL) dlclose(core); /* it is never unloaded */
  return function;
}

/* Dispatches that start from now on are counted and kept until they are read. Counted: it goes on
 * until each start was answered by a stop. 1: done; 0: there is no software GPU, or not yet. */
static inline int rochound_softgpu_counters_start(void) {
  int (*start)(void) = NULL;
  *(void**)&start = rochound_softgpu_find_("rochound_softgpu_counters_start");
  return start == NULL ? 0 : start();
}

static inline int rochound_softgpu_counters_stop(void) {
  int (*stop)(void) = NULL;
  *(void**)&stop = rochound_softgpu_find_("rochound_softgpu_counters_stop");
  return stop == NULL ? 0 : stop();
}

/* Takes the oldest record. 1: it is in *out, and as text in `json` unless that is NULL; 0: there is
 * none; -1: json_bytes is too small (out->json_bytes says what it takes) or out->size is unknown,
 * and the record stays. A dispatch has its record before its completion can be seen. */
static inline int rochound_softgpu_counters_read(rochound_softgpu_counters* out, char* json,
                                                 size_t json_bytes) {
  int (*read)(rochound_softgpu_counters*, char*, size_t) = NULL;
  *(void**)&read = rochound_softgpu_find_("rochound_softgpu_counters_read");
  return read == NULL ? 0 : read(out, json, json_bytes);
}

#endif

#ifdef __cplusplus
}
#endif
#endif
