// SPDX-License-Identifier: Apache-2.0
#include "watch/watch.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "python/gil_thread.h"
#include "python/interpreter.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/message.h"
#include "support/options.h"
#include "support/pages.h"
#include "support/small_file.h"
#include "support/state.h"
#include "tensorscope/rules/watch_argument.h"
#include "tensorscope/rules/watch_file.h"
#include "torch_events/backward_calls.h"
#include "torch_events/module_calls.h"
#include "torch_events/step_hook.h"
#include "torch_events/steps.h"
#include "values_file/source_places.h"
#include "values_file/value_store.h"
#include "values_file/values_switch.h"
#include "watch/callbacks.h"
#include "watch/device_values.h"
#include "watch/operation_values.h"
#include "watch/tensor_capture.h"
#include "watch/variables/variable_watch.h"
#include "watch/watched_calls.h"

namespace tensorscope::watch {

constinit std::atomic<bool> g_waits_for_torch{false};

namespace {

using torch_events::step_hook_is_wanted;
using values_file::start_store;
using values_file::StoreSettings;

std::atomic<bool> g_wanted{false};
void (*g_wake_writer)() = nullptr;

// What threads are at. In a forked child they are not.
struct Starting {
  std::atomic<bool> starting{false}, failed{false}, said_in_python{false};
  std::atomic<bool> registering{false};
  std::atomic<bool> pending{false};  // the main thread has a pending call that registers the hooks
  std::atomic<bool> posted{false};   // the thread that waits for the GIL has a job that registers them
};
constinit Starting g_starting;
FreshInChild g_fresh_starting{g_starting};

constexpr timespec kMillisecond = {0, 1'000'000};
constexpr int kMaxMilliseconds = 2000;  // for Python text of a page
constexpr size_t kLongestFile = size_t{1} << 20;

// Returns errno, or 0.
int read_watch_text(const char* path, std::string& out) {
  char* const buffer = static_cast<char*>(map_pages(kLongestFile));
  if (buffer == nullptr) return ENOMEM;
  size_t length = 0;
  const int error = read_file(path, buffer, kLongestFile, length);
  out.assign(buffer, length);
  unmap_pages(buffer, kLongestFile);
  return error;
}

// A watch file where the text ends as one, else paths, each on a line or behind a comma.
rules::WatchSettings read_settings(std::string_view text) {
  rules::WatchSettings settings;
  if (text.ends_with(".toml")) {
    std::string file;
    const std::string path(text);
    if (const int error = read_watch_text(path.c_str(), file); error == 0) {
      rules::read_watch_file(file, path, settings);
    } else {
      settings.errors.push_back({path, strerror(error)});
    }
    return settings;
  }
  while (!text.empty()) {
    const size_t end = text.find_first_of(",\n");
    if (const std::string_view path = text.substr(0, end); !path.empty()) {
      rules::read_watch_path(path, "TENSORSCOPE_WATCH", settings);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return settings;
}

// Of a watch file, absolute.
std::string folder_of(std::string_view file) {
  const size_t slash = file.rfind('/');
  const std::string folder(file.substr(0, slash == std::string_view::npos ? 0 : slash == 0 ? 1 : slash));
  if (folder.starts_with('/')) return folder;
  char here[PATH_MAX];  // process_info() comes later
  if (!getcwd(here, sizeof here)) return folder;
  return folder.empty() ? here : std::string(here) + "/" + folder;
}

void try_to_register(const python::Gil& gil) {
  // The source of the hooks may give the GIL up, and there are two who ask.
  if (!waits_for_torch() || g_starting.registering.exchange(true, std::memory_order_acq_rel)) return;
  if (torch_events::register_hooks(gil) && torch_events::register_step_hook(gil)) {
    register_variable_watch(gil);
    g_waits_for_torch.store(false, std::memory_order_release);
  }
  g_starting.registering.store(false, std::memory_order_release);
}

// On the main thread, between two of its instructions.
int at_next_chance(void*) {
  const python::Api& api = *python::known_interpreter();
  const InsideScope inside;
  g_starting.pending.store(false, std::memory_order_release);
  try_to_register(python::Gil::held(api));
  // The other thread is in the middle of it: a module that is called now would not be seen.
  for (int i = 0; i < kMaxMilliseconds && g_starting.registering.load(std::memory_order_acquire); ++i) {
    const python::ReleasedGil released;
    nanosleep(&kMillisecond, nullptr);
  }
  return 0;
}

// Another thread is at it.
void wait_for_start() {
  for (int i = 0; !g_wanted.load(std::memory_order_acquire); ++i) {
    if (g_starting.failed.load(std::memory_order_relaxed)) return;
    if (i == kMaxMilliseconds) return g_starting.failed.store(true, std::memory_order_relaxed);
    nanosleep(&kMillisecond, nullptr);
  }
}

class RegisterJob : public python::GilJob {
 public:
  void run(const python::Gil& gil) override {
    try_to_register(gil);
    g_starting.posted.store(false, std::memory_order_release);
  }
};

std::vector<values_file::UnmatchedWatch> unmatched_watches() {
  std::vector<values_file::UnmatchedWatch> all;
  const std::vector<rules::WatchSpec>& watches = all_watches();
  for (uint32_t i = 0; i < watches.size(); ++i) {
    if (is_watch_matched(i)) continue;
    all.push_back({i, rules::is_of_code(watches[i].of) ? nearest_code(watches[i]) : nearest_paths(watches[i].path)});
  }
  return all;
}

}  // namespace

void start(void (*wake_writer)()) {
  g_wake_writer = wake_writer;
  const char* text = options().watch;
  const bool calls = options().calls;
  const bool find_nan = options().find_nan != FindNanMode::off;
  const bool steps = options().record;
  if (step_hook_is_wanted()) torch_events::want_step_hook();
  if ((!text || *text == 0) && !calls && !find_nan && !steps) {
    g_waits_for_torch.store(step_hook_is_wanted(), std::memory_order_release);
    return;
  }
  run_or_abandon_on_oom([&] {
    rules::WatchSettings settings = read_settings(text ? text : "");
    for (const rules::WatchError& error : settings.errors) say("%s: %s", error.origin.c_str(), error.what.c_str());
    const bool watched = !settings.watches.empty() || calls;
    if (!watched && !find_nan && !steps) return say("nothing is watched");
    const bool hooks = watched || steps;
    StoreSettings store;
    for (const rules::WatchSpec& watch : settings.watches) {
      store.watches.push_back({watch.text, watch.path, watch.origin, watch.full});
    }
    store.find_nan = find_nan;
    store.calls = calls;
    store.wait_when_full = settings.wait_when_full;
    store.flush_ms = settings.flush_ms;
    store.most_bytes = settings.most_bytes;
    store.wake_writer = wake_writer;
    start_store(std::move(store));
    start_tensor_capture();
    const bool operations =
        std::any_of(settings.watches.begin(), settings.watches.end(),
                    [](const rules::WatchSpec& watch) { return watch.of == rules::WatchOf::operations; });
    start_callbacks(settings.watches, folder_of(text ? text : ""));
    if (hooks) start_watched_calls(std::move(settings.watches), calls);
    if (operations) start_operation_values();
    g_starting.starting.store(true, std::memory_order_release);
    g_wanted.store(true, std::memory_order_release);
    g_waits_for_torch.store(hooks, std::memory_order_release);
  });
}

void start_for_api_values(const python::Gil* gil) {
  if (!g_wanted.load(std::memory_order_acquire)) {
    if (g_starting.starting.exchange(true, std::memory_order_acq_rel)) return wait_for_start();
    StoreSettings store;
    store.wake_writer = g_wake_writer;
    start_store(std::move(store));
    start_tensor_capture();
    g_wanted.store(true, std::memory_order_release);
  }
  // Optimizers' steps and the module that is running are known from now on.
  if (!gil || g_starting.said_in_python.exchange(true, std::memory_order_acq_rel) || torch_events::has_module_calls())
    return;
  start_watched_calls({}, false);
  g_waits_for_torch.store(true, std::memory_order_release);
  try_to_register(*gil);
}

void ask_main_thread() {
  const python::Api* api = python::find_interpreter();
  if (!api || !api->Py_AddPendingCall || g_starting.pending.exchange(true, std::memory_order_acq_rel)) return;
  if (api->Py_AddPendingCall(at_next_chance, nullptr) != 0) g_starting.pending.store(false, std::memory_order_release);
}

void ask_by_gil_thread() {
  if (!python::find_interpreter() || g_starting.posted.exchange(true, std::memory_order_acq_rel)) return;
  if (!python::post_with_gil(new RegisterJob)) g_starting.posted.store(false, std::memory_order_release);
}

bool values_are_taken() { return g_wanted.load(std::memory_order_acquire); }

void end_values() {
  if (!values_are_taken()) return;
  const InsideScope inside;
  torch_events::end_running_calls();
  finish_callbacks();
  values_file::finish_values_switch();
}

void finish() {
  if (!values_are_taken()) return;
  values_file::finish_file(unmatched_watches());
  const values_file::StoreTotals totals = values_file::store_totals();
  if (!totals.path.empty() && !options().quiet) {
    say("wrote %s (%llu values, %llu calls%s)", totals.path.c_str(), static_cast<unsigned long long>(totals.values),
        static_cast<unsigned long long>(totals.calls), totals.findings == 0 ? "" : ", 1 finding");
  }
}

}  // namespace tensorscope::watch
