/* SPDX-License-Identifier: MIT */
/*
 * An analyzer as somebody else may write it: counts lanes per source line. ROCHOUND_TEST_ANALYZER
 * makes it a bad one.
 */
#include <rochound/analyzer.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLines = 1000 };
struct counting {
  const rochound_analyzer_host* host;
  uint64_t lanes[kLines], barriers, blocks, allocations, values;
  const rochound_probe_dispatch* last;
};

static int is(const char* mode) {
  const char* const asked = getenv("ROCHOUND_TEST_ANALYZER");
  return asked != NULL && strcmp(asked, mode) == 0;
}

static void* create(const rochound_analyzer_host* host) {
  struct counting* const self = calloc(1, sizeof *self);
  self->host = host;
  return self;
}

static void on_access(void* data, const rochound_probe_access* access) {
  struct counting* const self = data;
  const rochound_probe_site* const site = access->site;
  if (is("crash")) raise(SIGSEGV);
  if (is("exit")) exit(0);
  if (is("slow"))
    for (;;) pause();
  if (is("closes")) {
    for (int i = 3; i < 100; ++i) close(i);
    for (;;) pause();
  }
  if (site->at_count != 0 && site->at[site->at_count - 1].line < kLines)
    self->lanes[site->at[site->at_count - 1].line] += access->address_count;
  self->last = access->wave.dispatch;
}

static void on_barrier(void* data, const rochound_probe_barrier* barrier) {
  (void)barrier;
  ++((struct counting*)data)->barriers;
}

static void on_block(void* data, const rochound_probe_block* block) {
  ((struct counting*)data)->blocks += block->site->block < 1000;
}

static void on_memory(void* data, const rochound_probe_memory* memory) {
  ((struct counting*)data)->allocations += memory->size != 0;
}

static void on_value(void* data, const rochound_probe_value* value) {
  struct counting* const self = data;
  if (strcmp(value->name, "square") == 0 && value->site->bytes == 4)
    for (size_t i = 0; i < value->value_count; ++i) self->values += value->values[i];
}

static int answer(void* data, const rochound_probe_summary* summary) {
  struct counting* const self = data;
  char text[256];
  for (int line = 0; line < kLines; ++line) {
    if (self->lanes[line] == 0) continue;
    const int length =
        snprintf(text, sizeof text,
                 self->host->format == ROCHOUND_FORMAT_JSONL ? "{\"line\":%d,\"lanes\":%llu}\n"
                                                             : "%d %llu\n",
                 line, (unsigned long long)self->lanes[line]);
    self->host->write(self->host, text, (size_t)length);
  }
  fprintf(stderr, "%llu accesses, %llu barriers of %llu, %llu blocks, last %s on %s\n",
          (unsigned long long)summary->accesses, (unsigned long long)self->barriers,
          (unsigned long long)summary->barriers, (unsigned long long)self->blocks,
          self->last != NULL ? self->last->kernel : "",
          self->last != NULL ? self->last->target : "");
  fprintf(stderr, "squares %llu\n", (unsigned long long)self->values);
  return is("fails");
}

const rochound_analyzer_functions* rochound_analyzer(void) {
  static rochound_analyzer_functions functions = {ROCHOUND_ANALYZER_VERSION,
                                                  ROCHOUND_NEEDS_ACCESSES,
                                                  create,
                                                  on_access,
                                                  on_barrier,
                                                  on_block,
                                                  on_memory,
                                                  answer,
                                                  free,
                                                  on_value};
  if (is("newer")) functions.version = ROCHOUND_ANALYZER_VERSION + 1;
  if (is("crash-early")) abort();
  return &functions;
}
