/* SPDX-License-Identifier: MIT */
/*
 * Start, stop and mark from inside a program that rochound records. Include it anywhere (C99,
 * C++11); there is nothing to link (-ldl with a C library older than glibc 2.34). Without the
 * recorder every function does nothing and costs a load and a branch. Any thread may call any
 * function; none fails.
 *
 *   rochound run --start-off -- ./program     records from the first rochound_start() on
 *
 * How the recorder is found. The HSA runtime loads it with its symbols hidden from everybody, and
 * only at the first GPU call, so neither weak symbols nor dlsym(RTLD_DEFAULT) would find it. It is
 * asked for by its name among the libraries that are loaded already, and otherwise loaded from
 * where HSA_TOOLS_LIB says that the runtime is going to load it from: the runtime then gets the
 * same one. Where the environment does not name it, it will not come, and is not looked for again.
 *
 * A program that was built with this header works with every later recorder. Each part says since
 * which version of rochound it is there; with an older recorder a newer function does nothing.
 */
#ifndef ROCHOUND_ROCHOUND_H
#define ROCHOUND_ROCHOUND_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Since 0.1.0: all below.
 *
 * Counted: it records until each start was answered by a stop. Starts before the first GPU call
 * count. */
static inline void rochound_start(void);
static inline void rochound_stop(void);

/* Brings what the GPU has finished into the log; waits up to 0.2 s for work in flight. */
static inline void rochound_flush(void);

/* A range on the calling thread; ranges nest. The name is copied. */
static inline void rochound_range_push(const char* name);
static inline void rochound_range_pop(void);

/* An instant. */
static inline void rochound_mark(const char* text);

/* 1: what the program does now is being recorded. */
static inline int rochound_is_recording(void);

/* --- what follows is not interface --- */

#define ROCHOUND_AGENT_ "librochound_agent.so"

/* Loads the recorder if it is the word of `length` characters at `path`, which may have a backslash
 * before what is meant as it is. *named: it is the recorder's name, loaded or not. */
static inline void* rochound_load_(const char* path, size_t length, int* named) {
  const size_t name = sizeof ROCHOUND_AGENT_ - 1;
  void* agent = NULL;
  char* plain;
  size_t from;
  size_t to = 0;
  if (length < name || memcmp(path + length - name, ROCHOUND_AGENT_, name) != 0) return NULL;
  *named = 1;
  plain = (char*)malloc(length + 1);
  if (plain == NULL) return NULL;
  for (from = 0; from < length; ++from) {
    if (path[from] == '\\' && from + 1 < length) ++from;
    plain[to++] = path[from];
  }
  plain[to] = '\0';
  agent = dlopen(plain, RTLD_LAZY | RTLD_LOCAL);
  free(plain);
  return agent;
}

/* The recorder among the words of HSA_TOOLS_LIB, which are separated by spaces. */
static inline void* rochound_load_listed_(const char* list, int* named) {
  void* agent = NULL;
  while (list != NULL && *list != '\0' && agent == NULL) {
    size_t length = 0;
    while (list[length] != '\0' && list[length] != ' ')
      length += list[length] == '\\' && list[length + 1] != '\0' ? 2 : 1;
    agent = rochound_load_(list, length, named);
    list += length;
    while (*list == ' ') ++list;
  }
  return agent;
}

/* The address of a function of the recorder, kept in *found. One that will never come is kept as
 * `found` itself; null: perhaps later. */
static inline void* rochound_find_(const char* function, void** found) {
  const char* whole = getenv("ROCPROFILER_REGISTER_LIBRARY");
  int named = 0;
  void* address = NULL;
  void* agent = dlopen(ROCHOUND_AGENT_, RTLD_LAZY | RTLD_NOLOAD);
  if (agent == NULL) agent = rochound_load_listed_(getenv("HSA_TOOLS_LIB"), &named);
  if (agent == NULL && whole != NULL) agent = rochound_load_(whole, strlen(whole), &named);
  if (agent != NULL) address = dlsym(agent, function);
  if (address == NULL && (agent != NULL || !named)) address = (void*)found;
  if (address != NULL) __atomic_store_n(found, address, __ATOMIC_RELEASE);
  return address;
}

/* Declares `call`, null if there is nothing to call. */
#define ROCHOUND_FIND_(type, function)                             \
  static void* found;                                              \
  type call = NULL;                                                \
  void* address = __atomic_load_n(&found, __ATOMIC_ACQUIRE);       \
  if (address == NULL) address = rochound_find_(function, &found); \
  if (address != (void*)&found) memcpy((void*)&call, (const void*)&address, sizeof call)

typedef void (*rochound_function_)(void);
typedef void (*rochound_text_function_)(const char*);
typedef int (*rochound_question_)(void);

static inline void rochound_start(void) {
  ROCHOUND_FIND_(rochound_function_, "rochound_start");
  if (call != NULL) call();
}

static inline void rochound_stop(void) {
  ROCHOUND_FIND_(rochound_function_, "rochound_stop");
  if (call != NULL) call();
}

static inline void rochound_flush(void) {
  ROCHOUND_FIND_(rochound_function_, "rochound_flush");
  if (call != NULL) call();
}

static inline void rochound_range_push(const char* name) {
  ROCHOUND_FIND_(rochound_text_function_, "rochound_range_push");
  if (call != NULL) call(name);
}

static inline void rochound_range_pop(void) {
  ROCHOUND_FIND_(rochound_function_, "rochound_range_pop");
  if (call != NULL) call();
}

static inline void rochound_mark(const char* text) {
  ROCHOUND_FIND_(rochound_text_function_, "rochound_mark");
  if (call != NULL) call(text);
}

static inline int rochound_is_recording(void) {
  ROCHOUND_FIND_(rochound_question_, "rochound_is_recording");
  return call != NULL ? call() : 0;
}

#undef ROCHOUND_FIND_

#ifdef __cplusplus
}
#endif

#endif
