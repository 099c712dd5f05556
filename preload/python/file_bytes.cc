// SPDX-License-Identifier: Apache-2.0
#include "python/file_bytes.h"

#include <errno.h>

#include "support/pages.h"
#include "support/small_file.h"

namespace tensorscope::python {

namespace {

constexpr size_t kMaxFileBytes = size_t{16}
                                 << 20;  // no source file of a program is larger; only what is read is touched

Object* file_bytes(Object*, Object* path) {
  const Api& api = *known_interpreter();
  ptrdiff_t size = 0;
  const char* const name = api.PyUnicode_AsUTF8AndSize(path, &size);
  if (name == nullptr) return nullptr;
  auto* const buffer = static_cast<char*>(map_pages(kMaxFileBytes));
  size_t length = 0;
  const int error = buffer != nullptr ? read_file(name, buffer, kMaxFileBytes, length) : ENOMEM;
  Object* const answer =
      error == 0 ? api.PyBytes_FromStringAndSize(buffer, ptrdiff_t(length)) : api.PyLong_FromLongLong(error);
  if (buffer != nullptr) unmap_pages(buffer, kMaxFileBytes);
  return answer;
}

}  // namespace

MethodDefinition g_file_bytes = {"file_bytes", file_bytes, kOneArgument, nullptr};

}  // namespace tensorscope::python
