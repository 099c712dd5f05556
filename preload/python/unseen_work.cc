// SPDX-License-Identifier: Apache-2.0
#include "python/unseen_work.h"

#include <new>

#include "python/objects.h"

namespace tensorscope::python {

namespace {

struct Nested {
  UnseenWork work;
  Nested* outer;
};
constinit thread_local Nested* t_innermost = nullptr;

Object* begins(Object*, Object*) {
  const Api& api = *known_interpreter();
  t_innermost = new Nested{UnseenWork(api), t_innermost};
  return new_none(api);
}

Object* ends(Object*, Object*) {
  if (Nested* const ended = t_innermost) {
    t_innermost = ended->outer;
    delete ended;
  }
  return new_none(*known_interpreter());
}

}  // namespace

MethodDefinition g_unseen_begins = {"unseen_begins", begins, kNoArguments, nullptr};
MethodDefinition g_unseen_ends = {"unseen_ends", ends, kNoArguments, nullptr};

}  // namespace tensorscope::python
