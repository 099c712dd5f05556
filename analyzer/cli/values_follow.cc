// SPDX-License-Identifier: Apache-2.0
#include "cli/values_follow.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "cli/replaced_file.h"
#include "export/arrays/values_export.h"
#include "support/error.h"
#include "text/units.h"
#include "values/name_rows.h"

namespace tensorscope::cli {

namespace {

constexpr std::chrono::milliseconds kInterval{200};
constexpr int kQuietRounds = 10;  // after the process is gone: what it wrote at last may still arrive, over a network

std::string this_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Of a process of another machine nothing is known.
bool process_gone(const values::ValuesFile& file) {
  const analyzer::Process& process = file.process();
  return process.host == this_host() && process.pid != 0 && kill(pid_t(process.pid), 0) != 0 && errno == ESRCH;
}

class Follower {
 public:
  Follower(const text::ValuesFiles& files, Invocation& invocation)
      : files_(files), invocation_(invocation), quiet_(files.size(), 0) {}
  virtual ~Follower() = default;

  int run() {
    for (;;) {
      if (!take()) return kBadInput;
      bool more = false, any_left = false;
      for (size_t i = 0; i < files_.size(); ++i) {
        const bool grown = files_[i]->read_more();
        more |= grown;
        if (files_[i]->closed() || !files_[i]->problems().empty()) continue;
        quiet_[i] = grown || !process_gone(*files_[i]) ? 0 : quiet_[i] + 1;
        any_left |= quiet_[i] < kQuietRounds;
      }
      if (more) continue;
      if (!any_left) break;
      std::this_thread::sleep_for(kInterval);
    }
    return end();
  }

 protected:
  // Writes what is new. Returns false, after a message, if no more can be written.
  virtual bool take() = 0;
  virtual void summary() {}

  bool put(const std::string& text) {
    if (invocation_.stream == nullptr) {
      invocation_.out += text;
      return true;
    }
    *invocation_.stream << text << std::flush;
    return invocation_.stream->good();
  }

  const text::ValuesFiles& files_;
  Invocation& invocation_;

 private:
  int end() {
    summary();
    bool sound = true;
    for (const auto& file : files_) {
      for (const std::string& problem : file->problems()) {
        invocation_.say(problem);
        sound = false;
      }
      if (sound && !file->closed()) put(file->name() + ": its process is gone and did not end the file\n");
    }
    return sound ? kOk : kBadInput;
  }

  std::vector<int> quiet_;
};

class TextFollower final : public Follower {
 public:
  TextFollower(const text::ValuesFiles& files, const values::ValueFilter& filter,
               const std::vector<values::Stat>& stats, Invocation& invocation)
      : Follower(files, invocation), filter_(filter), stats_(stats), last_(files.size(), 0) {}

 private:
  bool take() override {
    std::string text;
    for (size_t file = 0; file < files_.size(); ++file) {
      values::NameCache names(filter_);
      files_[file]->for_each_value_after(last_[file], [&](const values::Value& value) {
        last_[file] = std::max(last_[file], value.serial);
        if (!names.takes(value)) return true;
        text += text::followed_line(files_, {file, value, values::statistics_of(*files_[file], value)}, stats_);
        return true;
      });
    }
    return text.empty() || put(text);
  }

  const values::ValueFilter& filter_;
  const std::vector<values::Stat>& stats_;
  std::vector<uint64_t> last_;
};

class Hdf5Follower final : public Follower {
 public:
  Hdf5Follower(const text::ValuesFiles& files, const values::ValueFilter& filter, const ValuesExportOptions& options,
               Invocation& invocation)
      : Follower(files, invocation),
        path_(options.output),
        columns_(files, filter),
        export_(options.output, {.compress = options.compress, .grows = true}) {}

 private:
  bool take() override {
    if (!columns_.take_new() && begun_) return true;
    begun_ = true;
    exports::ExportNotes notes;
    try {
      export_.write(columns_, notes);
    } catch (const analyzer::OutputError& error) {
      invocation_.say("cannot write " + path_ + ": " + error.what() + ".");
      return false;
    }
    return true;
  }
  void summary() override {
    put(fmt::format("{}: {} of {}\n", path_, text::counted(columns_.rows(), "value"),
                    text::counted(columns_.columns().size(), "name")));
  }

  std::string path_;
  values::ValueColumns columns_;
  exports::Hdf5Export export_;
  bool begun_ = false;
};

}  // namespace

int follow_values(const text::ValuesFiles& files, const values::ValueFilter& filter,
                  const std::vector<values::Stat>& stats, const ValuesExportOptions& output, Invocation& invocation) {
  if (output.output.empty()) return TextFollower(files, filter, stats, invocation).run();
  if (!output.output.ends_with(".h5") && !output.output.ends_with(".hdf5")) {
    invocation.say("--follow exports to .h5 alone.");
    return kBadInput;
  }
  if (!may_write(output.output, output.force, invocation)) return kBadInput;
  return Hdf5Follower(files, filter, output, invocation).run();
}

}  // namespace tensorscope::cli
