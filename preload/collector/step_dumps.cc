// SPDX-License-Identifier: Apache-2.0
#include "collector/step_dumps.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "collector/features.h"
#include "support/fresh_in_child.h"
#include "support/message.h"
#include "support/options.h"
#include "support/private_descriptor_table.h"
#include "torch_events/steps.h"

namespace tensorscope::collector {

namespace {

constexpr size_t kMaxSteps = 64;
struct DueSteps {
  std::atomic<uint32_t> steps[kMaxSteps];  // 0: none; a step's number is one more than that of the step before its end
  struct stat file_seen = {};              // activation and collector: of the file when it was read last
};
constinit DueSteps g_due;
void (*g_write_dump)(const char* detail) = nullptr;
const char* g_file = nullptr;

void add(uint32_t step) {
  for (std::atomic<uint32_t>& due : g_due.steps) {
    uint32_t none = 0;
    if (due.load(std::memory_order_relaxed) == step || due.compare_exchange_strong(none, step)) return;
  }
}

// Numbers, separated by anything. False: there is none.
bool add_all(const char* text) {
  bool any = false;
  while (*text != 0) {
    if (*text < '0' || *text > '9') {
      ++text;
      continue;
    }
    char* end = nullptr;
    const unsigned long step = strtoul(text, &end, 10);
    if (step > 0 && step < UINT32_MAX) add(uint32_t(step));
    any = any || step > 0;
    text = end;
  }
  return any;
}

// A forked child counts its own steps, and what was asked for holds for these. It reads a file anew by itself.
FreshInChild g_fresh_due{[] {
  make_anew(g_due);
  if (g_write_dump && !g_file) add_all(options().dump_at_step);
}};

// After a step has ended.
void dump_at_step() {
  const uint32_t step = torch_events::current_step().number;
  bool due = false;
  for (std::atomic<uint32_t>& each : g_due.steps) {
    uint32_t wanted = each.load(std::memory_order_relaxed);
    if (wanted != 0 && wanted <= step && each.compare_exchange_strong(wanted, 0)) due = true;
  }
  if (!due) return;
  char detail[32];
  snprintf(detail, sizeof detail, "step %u", step);
  g_write_dump(detail);
}

// The new text of the file; false: there is none.
bool read_step_file(char* text, size_t size) {
  const int file = open(g_file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return false;
  const struct stat& seen = g_due.file_seen;
  struct stat facts = {};
  const bool changed = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
                       (facts.st_ino != seen.st_ino || facts.st_size != seen.st_size ||
                        facts.st_mtim.tv_sec != seen.st_mtim.tv_sec || facts.st_mtim.tv_nsec != seen.st_mtim.tv_nsec);
  const ssize_t length = changed ? read(file, text, size - 1) : 0;
  close(file);
  if (length <= 0) return false;
  g_due.file_seen = facts;
  text[length] = 0;
  return true;
}

// Once a second.
void look_at_step_file() {
  if (!g_file) return;
  char text[1024];
  bool is_new = false;
  with_private_descriptors([&] { is_new = read_step_file(text, sizeof text); });
  if (is_new) add_all(text);
}

constexpr Feature kStepFile = {.look = look_at_step_file};

}  // namespace

void start_step_dumps(void (*write)(const char* detail)) {
  const char* text = options().dump_at_step;
  if (!text || *text == 0) return;
  g_write_dump = write;
  torch_events::listen_to_step_ends(dump_at_step);
  if (*text == '@') {
    g_file = text + 1;
    add_feature(kStepFile);
    return look_at_step_file();
  }
  if (!add_all(text)) say("TENSORSCOPE_DUMP_AT_STEP: '%s' has no step; use 100,200 or @FILE", text);
}

}  // namespace tensorscope::collector
