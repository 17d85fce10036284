// SPDX-License-Identifier: MIT
//
// What somebody writes who has installed librochound-dev.
#include <rochound/rochound.h>
#include <stdio.h>

int main(void) {
  rochound_mark("here");
  puts(rochound_is_recording() ? "recording" : "not recording");
  return 0;
}
