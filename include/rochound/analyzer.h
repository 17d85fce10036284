/* SPDX-License-Identifier: MIT */
/*
 * An analyzer of your own for `rochound probe -a path/to/library.so`: it receives every message of
 * instrumented kernels and then gives its answer. C99 or C++11; nothing to link. The library
 * exports one function, rochound_analyzer, which returns what the analyzer consists of:
 *
 *   static void count(void* self, const rochound_probe_access* access) { ... }
 *   static int answer(void* self, const rochound_probe_summary* summary) { ... return 0; }
 *   static const rochound_analyzer_functions kFunctions = {
 *       .version = ROCHOUND_ANALYZER_VERSION, .create = ..., .on_access = count, .answer = answer};
 *   const rochound_analyzer_functions* rochound_analyzer(void) { return &kFunctions; }
 *
 * Compile it with `cc -shared -fPIC`. docs/guides/probe.md has a whole one.
 *
 * It runs after the program, on one thread of a process of its own: if it crashes, exits or takes
 * too long (--analyzer-limit), rochound says so, and nothing else happens. Messages of one wave
 * come in the order of its instructions, those of different waves in any order.
 *
 * Versions: fields are added at the end of structures that rochound hands over, and at the end of
 * rochound_analyzer_functions together with a new version number. An analyzer of an older version
 * is run as before; one of a newer version than rochound's is refused.
 */
#ifndef ROCHOUND_ANALYZER_H
#define ROCHOUND_ANALYZER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): names for C */

/* Since 0.2.0: all below. */
#define ROCHOUND_ANALYZER_VERSION 1

/* What is asked for: -t, --json, or the ending of the output's name. */
enum { ROCHOUND_FORMAT_TABLE = 0, ROCHOUND_FORMAT_JSONL = 1 };

/* Which probes an analyzer needs. A program without them is an error instead of an answer. */
enum { ROCHOUND_NEEDS_ANY = 0, ROCHOUND_NEEDS_ACCESSES = 1, ROCHOUND_NEEDS_BLOCKS = 2 };

typedef struct rochound_probe_location {
  const char* file;
  const char* function;
  uint64_t line, column;
} rochound_probe_location;

/* A place in a kernel that sends messages. One address per place: pointers may be compared. Lives,
 * like dispatches, until `answer` has returned; everything else until the call returns. */
typedef struct rochound_probe_site {
  const char* action;  /* load, store, atomic, barrier, block, value */
  const char* pointer; /* how it is addressed: flat, global, lds, constant, buffer */
  uint64_t bytes;      /* of each lane */
  int32_t argument;    /* of the kernel, that the pointer was made of; -1: not known */
  uint8_t is_volatile, is_atomic;
  uint8_t branches; /* a block whose end leads to several others */
  uint8_t reserved;
  const rochound_probe_location* at;     /* innermost first, then where that was inlined */
  size_t at_count;                       /* 0: there is no debug information */
  uint64_t block;                        /* a block's number in its function */
  const rochound_probe_location* branch; /* where the branch at its end is */
  size_t branch_count;
} rochound_probe_site;

typedef struct rochound_probe_dispatch {
  uint64_t process;
  uint64_t number;    /* in the order of their first messages, from 0 */
  const char* kernel; /* symbol; empty: not known */
  const char* target; /* gfx942; empty: not known */
  uint32_t grid[3], workgroup[3];
  uint32_t lds_bytes; /* of a workgroup */
  uint32_t wave_size;
} rochound_probe_dispatch;

typedef struct rochound_probe_wave {
  const rochound_probe_dispatch* dispatch;
  const char* function; /* symbol of the function that the place is in */
  uint32_t group[3];
  uint64_t group_number; /* x fastest */
  uint64_t wave;         /* in its workgroup */
} rochound_probe_wave;

/* What one wave did with one instruction, as far as it went to one kind of memory. */
typedef struct rochound_probe_access {
  rochound_probe_wave wave;
  const rochound_probe_site* site;
  const char* space;         /* where it went: global, lds, scratch */
  uint64_t mask;             /* lanes, as far as they were asked for */
  const uint64_t* addresses; /* one per lane, lowest first; lds, scratch: offsets */
  size_t address_count;
} rochound_probe_access;

/* A wave came to a barrier of its workgroup. Its group and function are not told. */
typedef struct rochound_probe_barrier {
  const rochound_probe_dispatch* dispatch;
  const rochound_probe_site* site;
  uint64_t group_number, wave;
} rochound_probe_barrier;

/* A wave has executed a basic block (rochound probe build --blocks). */
typedef struct rochound_probe_block {
  rochound_probe_wave wave;
  const rochound_probe_site* site;
  uint64_t began_with; /* lanes that the function began with */
  uint64_t mask;       /* the block's */
  uint64_t way;        /* of these, lanes that take one of the ways at its end */
  uint64_t clock;      /* the cycle counter when it began */
  uint64_t cycles;
} rochound_probe_block;

/* What the source asked to be told: __builtin_annotation(x, "rochound: name"). */
typedef struct rochound_probe_value {
  rochound_probe_wave wave;
  const rochound_probe_site* site; /* action is value, bytes those of x */
  const char* name;
  uint64_t mask;
  const uint64_t* values; /* one per lane, lowest first */
  size_t value_count;
} rochound_probe_value;

/* Memory that GPUs may see came, or went. */
typedef struct rochound_probe_memory {
  uint64_t process, base;
  uint64_t size; /* 0: it goes */
} rochound_probe_memory;

typedef struct rochound_probe_summary {
  uint64_t dispatches, waves, accesses, barriers, blocks;
  uint64_t incomplete; /* not 0: messages are missing, so an answer may be wrong */
} rochound_probe_summary;

typedef struct rochound_analyzer_host {
  int32_t format; /* ROCHOUND_FORMAT_... */
  /* Where output goes, also while messages come. */
  void (*write)(const struct rochound_analyzer_host* host, const char* text, size_t length);
} rochound_analyzer_host;

/* All may be null but create and answer. self is what create has returned. */
typedef struct rochound_analyzer_functions {
  uint32_t version;                                    /* ROCHOUND_ANALYZER_VERSION */
  uint32_t needs;                                      /* ROCHOUND_NEEDS_... */
  void* (*create)(const rochound_analyzer_host* host); /* host lives as long as the analyzer */
  void (*on_access)(void* self, const rochound_probe_access* access);
  void (*on_barrier)(void* self, const rochound_probe_barrier* barrier);
  void (*on_block)(void* self, const rochound_probe_block* block);
  void (*on_memory)(void* self, const rochound_probe_memory* memory);
  /* After the last message. 0: all is well; otherwise rochound probe ends with 125. */
  int (*answer)(void* self, const rochound_probe_summary* summary);
  void (*destroy)(void* self);
  void (*on_value)(void* self, const rochound_probe_value* value);
} rochound_analyzer_functions;

/* What the library exports. Called once, before anything else. */
const rochound_analyzer_functions* rochound_analyzer(void);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* ROCHOUND_ANALYZER_H */
