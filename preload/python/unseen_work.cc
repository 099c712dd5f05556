#include "python/unseen_work.h"

#include <new>

#include "python/objects.h"

namespace tensorscope::watch {

namespace {

struct Nested {
  UnseenWork work;
  Nested* outer;
};
constinit thread_local Nested* t_innermost = nullptr;

python::Object* begins(python::Object*, python::Object*) {
  const python::Api& api = *python::known_interpreter();
  t_innermost = new Nested{UnseenWork(api), t_innermost};
  return python::new_none(api);
}

python::Object* ends(python::Object*, python::Object*) {
  if (Nested* const ended = t_innermost) {
    t_innermost = ended->outer;
    delete ended;
  }
  return python::new_none(*python::known_interpreter());
}

}  // namespace

python::MethodDefinition g_unseen_begins = {"unseen_begins", begins, python::kNoArguments, nullptr};
python::MethodDefinition g_unseen_ends = {"unseen_ends", ends, python::kNoArguments, nullptr};

}  // namespace tensorscope::watch
