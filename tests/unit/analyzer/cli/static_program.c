// SPDX-License-Identifier: Apache-2.0
// A program without a dynamic loader. With an absolute path it becomes that program.
#include <stdio.h>
#include <unistd.h>

int main(int count, char** arguments) {
  if (count > 1 && arguments[1][0] == '/') execv(arguments[1], arguments + 1);
  puts("static");
  return 0;
}
