// SPDX-License-Identifier: Apache-2.0
#include "html/confidential.h"

#include <algorithm>
#include <string_view>

#include "text/dump/headline.h"

namespace tensorscope::html {

namespace {

bool ends_path(char c) { return std::string_view(" \t\n\"'`,;:()[]{}<>|=").find(c) != std::string_view::npos; }

// Where a path may begin: at the begin of a word.
bool begins_path(const std::string& text, size_t at) {
  if (at > 0 && !ends_path(text[at - 1])) return false;
  const std::string_view rest = std::string_view(text).substr(at);
  return rest.starts_with("/") || rest.starts_with("~") || rest.starts_with("../") || rest.starts_with("./");
}

std::string last_part(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  const std::string above = path.substr(0, slash == std::string::npos ? 0 : slash);
  const bool is_home = above == "/home" || above == "/Users" || (path[0] == '~' && slash == std::string::npos);
  return is_home ? "" : path.substr(slash + 1);
}

}  // namespace

void WithoutFolders::add(const analyzer::Dump& dump) {
  auto note = [&](const std::string& path) {
    const std::string folder = path.substr(0, path.find_last_of('/') + 1);
    if (folder.find(' ') == std::string::npos) return;
    if (std::find(with_blanks_.begin(), with_blanks_.end(), folder) == with_blanks_.end())
      with_blanks_.push_back(folder);
  };
  note(dump.process.working_directory + "/");
  note(dump.process.executable);
  for (const analyzer::Code& code : dump.codes) note(code.file);
  for (const analyzer::SharedObject& object : dump.shared_objects) note(object.path);
  std::sort(with_blanks_.begin(), with_blanks_.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::string WithoutFolders::in_text(std::string text) const {
  if (text.find_first_of("/~") == std::string::npos) return text;
  for (const std::string& folder : with_blanks_) {
    for (size_t at; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
  }
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (!begins_path(text, at)) {
      out += text[at++];
      continue;
    }
    size_t end = at;
    while (end < text.size() && !ends_path(text[end])) ++end;
    out += last_part(text.substr(at, end - at));
    at = end;
  }
  return out;
}

Json WithoutFolders::in_json(const Json& json) const {
  if (json.is_string()) return in_text(json.get<std::string>());
  if (json.is_array()) {
    Json out = Json::array();
    for (const Json& entry : json) out.push_back(in_json(entry));
    return out;
  }
  if (!json.is_object()) return json;
  Json out = Json::object();
  for (const auto& [key, value] : json.items()) out[in_text(key)] = in_json(value);
  return out;
}

void make_confidential(analyzer::Dump& dump) {
  dump.path = dump.path.substr(dump.path.find_last_of('/') + 1);
  analyzer::Process& process = dump.process;
  process.program = text::program_name(process);  // reads the command line
  process.host.clear();
  process.command_line.clear();
  process.options.clear();
  process.executable = process.executable.substr(process.executable.find_last_of('/') + 1);
  dump.sources = {};
  dump.sources.present = true;  // a moment takes those of other dumps where it has none
}

}  // namespace tensorscope::html
