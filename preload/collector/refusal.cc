// SPDX-License-Identifier: Apache-2.0
#include "collector/refusal.h"

#include <stdarg.h>
#include <stdio.h>

#include "collector/request_file.h"
#include "support/message.h"

namespace tensorscope::collector {

void refuse(const DumpRequest& request, const char* format, ...) {
  char text[448];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (!request.passing) say("%s", text);
  if (request.by_file || request.reason == Reason::signal) answer_request(request.requested_ns, text);
}

}  // namespace tensorscope::collector
