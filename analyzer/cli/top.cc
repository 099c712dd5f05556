// SPDX-License-Identifier: Apache-2.0
// top: what a running program holds, again and again.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "cli/dump_options.h"
#include "cli/metrics_server.h"
#include "cli/verb.h"
#include "export/profiles/openmetrics.h"
#include "text/units.h"
#include "top/sampler.h"
#include "top/screen.h"
#include "top/view.h"

namespace tensorscope::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kShareOfProgram = 20;  // a refresh may take the program a twentieth of the interval
constexpr uint64_t kMinIntervalNs = 100'000'000;
constexpr int kPollMs = 50;

struct TopOptions {
  pid_t pid = 0;
  bool once = false;
  std::optional<uint16_t> serve;
  size_t lines = 20;
  std::optional<uint64_t> interval_ns = 2'000'000'000;
  analyzer::GroupBy by = analyzer::GroupBy::line;
  top::TopSort sort = top::TopSort::bytes;
  std::string filter;
  analyzer::SymbolOptions symbols;
};

volatile std::sig_atomic_t g_stopped = 0;

// While it lives, signals that would end the program end the loop instead, so that the terminal is restored.
class StopSignals {
 public:
  StopSignals() {
    struct sigaction action {};
    action.sa_handler = [](int) { g_stopped = 1; };
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  ~StopSignals() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kSignals)];
};

class Top {
 public:
  Top(const TopOptions& options, top::TopSampler& sampler, Invocation& invocation)
      : options_(options),
        sampler_(sampler),
        invocation_(invocation),
        view_(options.by, options.sort, options.filter),
        interval_ns_(*options.interval_ns) {}

  int plain();
  int interactive(top::TopTerminal& terminal);
  int serve(MetricsServer& server);
  // What of the last sample's stacks could not be read.
  analyzer::UnreadFiles unread() const {
    analyzer::UnreadFiles files = view_.unread();
    files.add(unread_when_served_);
    return files;
  }

 private:
  enum class State { waiting, idle, paused };

  bool ask();
  bool take();
  // The interval, longer where a refresh is dear to the program.
  uint64_t interval() const {
    const top::TopCost& cost = sampler_.cost();
    return std::max(interval_ns_, (view_.needs_names() ? cost.all() : cost.paused_ns) * kShareOfProgram);
  }
  // Refreshes at once, with names.
  void look_at_names() {
    wanted_names_ = true;
    next_ = Clock::now();
  }
  std::vector<std::string> screen(size_t most_rows, const text::Terminal& terminal, size_t& titles);
  bool put(const std::string& text);
  void draw(top::TopTerminal& terminal);
  bool press(int key, top::TopTerminal& terminal);
  void press_while_typing(int key);
  void change_interval(bool longer);
  void mark();
  int ended();

  const TopOptions& options_;
  top::TopSampler& sampler_;
  Invocation& invocation_;
  top::TopView view_;
  uint64_t interval_ns_;
  State state_ = State::idle;
  Clock::time_point next_ = Clock::now();
  bool quit_ = false, typing_ = false;
  bool wanted_names_ = false, mark_with_names_ = false;
  std::string typed_;
  analyzer::UnreadFiles unread_when_served_;
};

bool Top::ask() {
  const bool names = std::exchange(wanted_names_, false) || view_.needs_names() || sampler_.names_due();
  return sampler_.ask(names);
}

bool Top::take() {
  std::shared_ptr<analyzer::OpenedDump> sample = sampler_.take();
  if (!sample) return false;
  view_.take(std::move(sample));
  if (mark_with_names_ && !sampler_.older_names()) {
    mark_with_names_ = false;
    view_.mark();
  }
  return true;
}

// A program that ends while it is watched is no mistake.
int Top::ended() {
  if (!sampler_.alive()) {
    invocation_.say(fmt::format("process {} has ended.", options_.pid));
    return view_.empty() ? kBadInput : kOk;
  }
  invocation_.say(sampler_.problem());
  return kBadInput;
}

std::vector<std::string> Top::screen(size_t most_rows, const text::Terminal& terminal, size_t& titles) {
  top::TopView::Screen screen = view_.screen(most_rows);
  screen.head.cost = sampler_.cost();
  screen.head.names = sampler_.older_names();
  screen.head.names_interval_ns = view_.needs_names() ? 0 : sampler_.names_interval_ns();
  screen.head.interval_ns = options_.once ? 0 : interval();
  screen.head.slowed = !options_.once && interval() > interval_ns_;
  std::vector<std::string> lines = top::top_head(screen.head, terminal);
  titles = lines.size();
  for (std::string& line : top::top_table(screen.rows, screen.total, screen.by, terminal)) {
    lines.push_back(std::move(line));
  }
  return lines;
}

bool Top::put(const std::string& text) {
  if (!invocation_.stream) {
    invocation_.out += text;
    return true;
  }
  *invocation_.stream << text << std::flush;
  return bool(*invocation_.stream);
}

int Top::plain() {
  while (g_stopped == 0) {
    if (!ask()) return ended();
    while (g_stopped == 0 && !sampler_.look()) std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
    if (g_stopped != 0) break;
    if (!take()) return ended();
    size_t titles = 0;
    std::string text;
    for (const std::string& line : screen(options_.lines, invocation_.terminal, titles)) text += line + "\n";
    if (!put(text + (options_.once ? "" : "\n")) || options_.once) break;
    const Clock::time_point next = Clock::now() + std::chrono::nanoseconds(interval());
    while (g_stopped == 0 && Clock::now() < next && sampler_.alive()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
    }
  }
  return kOk;
}

// A refresh for each client, at most one an interval: in between a client gets the last one.
int Top::serve(MetricsServer& server) {
  std::string last;
  const auto metrics = [&] {
    if (!last.empty() && Clock::now() < next_) return last;
    last.clear();
    if (!ask()) return last;
    while (g_stopped == 0 && !sampler_.look()) std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
    const std::shared_ptr<analyzer::OpenedDump> sample = g_stopped == 0 ? sampler_.take() : nullptr;
    if (sample) {
      last = exports::openmetrics(*sample, options_.lines);
      unread_when_served_ = sample->places.unread().files();
    }
    next_ = Clock::now() + std::chrono::nanoseconds(interval());
    return last;
  };
  if (!put(fmt::format("http://127.0.0.1:{}/metrics\n", server.port()))) return kOk;
  while (g_stopped == 0) {
    if (!sampler_.alive()) {
      invocation_.say(fmt::format("process {} has ended.", options_.pid));
      return kOk;
    }
    server.serve_one(kPollMs, metrics);
  }
  return kOk;
}

void Top::draw(top::TopTerminal& terminal) {
  const size_t height = size_t(std::max(1, terminal.height()));
  std::vector<std::string> lines;
  size_t titles = SIZE_MAX;
  if (view_.empty()) {
    lines = {fmt::format("process {}: waiting for its first answer", options_.pid)};
  } else {
    constexpr size_t kAround = 7;  // lines above the table, its titles, the keys
    lines = screen(height > kAround ? height - kAround : 1, {.width = std::max(40, terminal.width())}, titles);
  }
  lines.resize(height - 1);
  lines.push_back(typing_                   ? "filter: " + typed_ + "_  (Enter; Esc: none)"
                  : state_ == State::paused ? "paused (space goes on)   " + top::top_keys(terminal.width() - 25)
                                            : top::top_keys(terminal.width()));
  terminal.draw(lines, titles);
}

void Top::change_interval(bool longer) {
  interval_ns_ = longer ? interval_ns_ * 2 : std::max(kMinIntervalNs, interval_ns_ / 2);
  next_ = Clock::now() + std::chrono::nanoseconds(interval());
}

// A mark with old names would show tensors that have names since then as growth. What is paused stays as it is shown.
void Top::mark() {
  if (view_.empty()) return;
  view_.mark();
  if (!sampler_.older_names() || state_ == State::paused) return;
  mark_with_names_ = true;
  look_at_names();
}

void Top::press_while_typing(int key) {
  if (key == top::TopTerminal::kEnter || key == top::TopTerminal::kEscape) {
    if (key == top::TopTerminal::kEscape) typed_.clear();
    view_.set_filter(typed_);
    typing_ = false;
  } else if (key == top::TopTerminal::kBackspace) {
    if (!typed_.empty()) typed_.pop_back();
  } else if (key >= ' ' && key < 256) {
    typed_ += char(key);
  }
}

// Whether the screen is another one now.
bool Top::press(int key, top::TopTerminal& terminal) {
  const int64_t page = std::max(1, terminal.height() - 8);
  if (key == top::TopTerminal::kNone) return false;
  if (typing_) {
    press_while_typing(key);
    return true;
  }
  switch (key) {
    case 'q':
      quit_ = true;
      break;
    case 's':
      view_.next_sort();
      break;
    case 'v':
      view_.next_view();
      if (view_.needs_names() && sampler_.older_names()) look_at_names();
      break;
    case '/':
      typing_ = true;
      typed_ = view_.filter();
      break;
    case 'm':
      mark();
      break;
    case 'n':
      look_at_names();
      break;
    case 'r':
      next_ = Clock::now();
      break;
    case ' ':
      if (state_ == State::paused) {
        state_ = State::idle;
      } else if (state_ == State::idle) {
        state_ = State::paused;
      }
      break;
    case '+':
    case '-':
      change_interval(key == '+');
      break;
    case top::TopTerminal::kUp:
      view_.scroll(-1);
      break;
    case top::TopTerminal::kDown:
      view_.scroll(1);
      break;
    case top::TopTerminal::kPageUp:
      view_.scroll(-page);
      break;
    case top::TopTerminal::kPageDown:
      view_.scroll(page);
      break;
    default:
      break;
  }
  return true;
}

int Top::interactive(top::TopTerminal& terminal) {
  draw(terminal);
  while (!quit_ && g_stopped == 0) {
    if (!sampler_.alive() && state_ != State::waiting) return ended();
    if (state_ == State::idle && Clock::now() >= next_) {
      if (!ask()) return ended();
      state_ = State::waiting;
    }
    if (state_ == State::waiting && sampler_.look()) {
      if (!take()) return ended();
      state_ = State::idle;
      next_ = Clock::now() + std::chrono::nanoseconds(wanted_names_ ? 0 : interval());
      draw(terminal);
    }
    if (press(terminal.key(kPollMs), terminal)) draw(terminal);
  }
  return kOk;
}

int run_top(Top& top, const TopOptions& options) {
  if (options.serve) {
    MetricsServer server = MetricsServer::open(*options.serve);
    return top.serve(server);
  }
  if (options.once) return top.plain();
  const std::unique_ptr<top::TopTerminal> terminal = top::TopTerminal::open();
  return terminal ? top.interactive(*terminal) : top.plain();
}

int top(const TopOptions& options, Invocation& invocation) {
  const std::unique_ptr<top::TopSampler> sampler = top::TopSampler::open(options.pid, options.symbols);
  g_stopped = 0;
  const StopSignals signals;
  Top top(options, *sampler, invocation);
  const int status = run_top(top, options);
  report_unread(invocation, top.unread());
  return status;
}

}  // namespace

void add_top_verb(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "top", "what a running program holds, refreshed", top);
  verb->add_option("PID", options->pid, "process id of a program started under tensorscope")
      ->required()
      ->check(CLI::Range(1, 1 << 22).description(""))
      ->type_name("");
  verb->add_flag("--once", options->once, "print it once, as plain lines");
  verb->add_option_function<std::string>(
          "--serve",
          [options = options](const std::string& text) {
            uint16_t port = 0;
            const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), port);
            if (wrong != std::errc() || end != text.data() + text.size()) {
              throw CLI::ValidationError(
                  "invalid value '" + text +
                  "' for --serve; choose a port, 0 for any that is free; it is on loopback only");
            }
            options->serve = port;
          },
          "serve OpenMetrics on http://127.0.0.1:PORT/metrics instead; 0: any free port")
      ->excludes("--once")
      ->type_name("PORT");
  verb->add_option("--lines", options->lines, "rows of plain lines (--once, a pipe), sites of --serve. Default: 20")
      ->check(CLI::Range(1, 1 << 20).description(""))
      ->type_name("N");
  add_time(*verb, "--interval", options->interval_ns, "time between refreshes. Default: 2s; longer where one is dear")
      ->type_name("TIME");
  add_grouping(*verb, options->by);
  add_choice(*verb, "--sort", options->sort,
             {{"bytes", top::TopSort::bytes},
              {"growth", top::TopSort::growth},
              {"count", top::TopSort::count},
              {"name", top::TopSort::name}},
             "bytes (default), growth (since the mark), count or name")
      ->type_name("KEY");
  verb->add_option("--filter", options->filter, "only rows that contain this")->type_name("TEXT");
  add_frame_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope top 4242\n"
      "  tensorscope top 4242 --by module --sort growth\n"
      "  tensorscope top 4242 --once --lines 5\n"
      "  tensorscope top 4242 --serve 9400 --interval 15s\n"
      "\n"
      "Keys: q quit, s sort, v view, / filter, m mark (growth is measured from it), r refresh, n look at names,\n"
      "space pause, + and - interval, arrows scroll. A pipe, or a terminal that cannot be drawn on, gets plain lines.");
}

}  // namespace tensorscope::cli
