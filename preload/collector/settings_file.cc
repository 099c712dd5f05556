// SPDX-License-Identifier: Apache-2.0
#include "collector/settings_file.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "support/pages.h"
#include "support/private_descriptor_table.h"
#include "tensorscope/rules/request_name.h"

namespace tensorscope::collector {

namespace {

constinit const char* g_settings = nullptr;  // a copy, permanently
constinit size_t g_settings_size = 0;

}  // namespace

void keep_settings(const char* settings) {
  if (settings == nullptr || *settings == 0) return;
  size_t size = 0;
  while (settings[size] != 0) size += strlen(settings + size) + 1;
  void* const copy = map_pages(size);
  if (copy == nullptr) return;
  memcpy(copy, settings, size);
  g_settings_size = size;
  g_settings = static_cast<const char*>(copy);
}

void open_settings_file() {
  if (g_settings == nullptr) return;
  const int file = move_to_high_number(memfd_create(rules::kSettingsName, MFD_CLOEXEC));
  if (file >= 0) [[maybe_unused]]
    const ssize_t written = write(file, g_settings, g_settings_size);
}

}  // namespace tensorscope::collector
