// SPDX-License-Identifier: Apache-2.0
// Built with AddressSanitizer: says what is preloaded.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const char* preload = getenv("LD_PRELOAD");
  return puts(preload ? preload : "nothing") < 0;
}
