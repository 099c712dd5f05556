// SPDX-License-Identifier: Apache-2.0
/* Writes a byte to the pipe of SLOW_LIBRARY_PIPE when its constructor begins, and another one when that ends. */
#include <stdlib.h>
#include <unistd.h>

static void say(void) {
  const char* number = getenv("SLOW_LIBRARY_PIPE");
  if (number != NULL && write(atoi(number), "x", 1) != 1) abort();
}

__attribute__((constructor)) static void begin(void) {
  say();
  usleep(100000);
  say();
}
