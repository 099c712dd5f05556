// SPDX-License-Identifier: Apache-2.0
// What analyzer/web/build.py makes of the sources under analyzer/web.
#pragma once

#include <cstddef>

namespace tensorscope::html {

extern const char kWebPage[];  // "" where there is none
extern const size_t kWebPageSize;
extern const char kWhyNoWebPage[];  // one sentence; "" where there is a page

}  // namespace tensorscope::html
