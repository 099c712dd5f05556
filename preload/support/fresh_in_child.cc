// SPDX-License-Identifier: Apache-2.0
#include "support/fresh_in_child.h"

namespace tensorscope {

namespace {
constinit FreshInChild* g_fresh_states = nullptr;
}  // namespace

FreshInChild::FreshInChild(void (*make)(void*), void* object) : make_(make), object_(object), next_(g_fresh_states) {
  g_fresh_states = this;
}

void FreshInChild::make_all_anew() {
  for (const FreshInChild* each = g_fresh_states; each != nullptr; each = each->next_) each->make_(each->object_);
}

}  // namespace tensorscope
