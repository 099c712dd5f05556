// SPDX-License-Identifier: Apache-2.0
#include "process/elf_program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "support/opened_elf.h"

namespace tensorscope::process {

namespace {

using analyzer::OpenedElf;

constexpr int kMaxInterpreters = 5;                              // as the kernel
constexpr const char* kVersionSection = ".tensorscope.version";  // preload/support/state.cc

// Calls visit(entry, text) for each entry of the dynamic section; `text` gives the string at an offset, or null.
template <typename Visit>
void for_each_dynamic_entry(const OpenedElf& elf, Visit visit) {
  elf.for_each_section(SHT_DYNAMIC, [&](Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* data = elf_getdata(section, nullptr);
    const auto text = [&](size_t offset) { return elf_strptr(elf.get(), header.sh_link, offset); };
    GElf_Dyn entry;
    for (int i = 0; data != nullptr && gelf_getdyn(data, i, &entry) != nullptr && entry.d_tag != DT_NULL; i++) {
      visit(entry, text);
    }
  });
}

// The dynamic loader itself has no interpreter either, but a name.
bool has_soname(const OpenedElf& elf) {
  bool found = false;
  for_each_dynamic_entry(elf, [&](const GElf_Dyn& entry, auto) { found = found || entry.d_tag == DT_SONAME; });
  return found;
}

// Returns its path if the program needs it as a library.
std::string address_sanitizer(const std::string& path) {
  const OpenedElf elf(path);
  std::string found;
  if (elf.get() == nullptr) return found;
  for_each_dynamic_entry(elf, [&](const GElf_Dyn& entry, auto text) {
    const char* name = entry.d_tag == DT_NEEDED ? text(entry.d_un.d_val) : nullptr;
    if (name != nullptr && is_address_sanitizer(name)) found = name;
  });
  return found;
}

bool is_statically_linked(const std::string& path) {
  OpenedElf elf(path);
  size_t count = 0;
  if (elf.get() == nullptr || elf_getphdrnum(elf.get(), &count) != 0 || count == 0) return false;
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr header;
    if (gelf_getphdr(elf.get(), int(i), &header) == nullptr || header.p_type == PT_INTERP) return false;
  }
  return !has_soname(elf);
}

// Why the system starts it in secure mode (ld.so(8)); empty where it does not.
std::string more_rights(const std::string& path) {
  struct stat status = {};
  struct statvfs system = {};
  if (stat(path.c_str(), &status) != 0) return "";
  if (statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0) return "";
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) return "has the setuid bit";
  if ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != getgid())
    return "has the setgid bit";
  if (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) return "has file capabilities";
  return "";
}

// The words after #! in a script's first line: the interpreter and at most one argument.
std::vector<std::string> interpreter_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[2] = {};
  std::string line;
  if (!file.read(begin, 2) || begin[0] != '#' || begin[1] != '!' || !std::getline(file, line)) return {};
  std::istringstream words(line);
  std::vector<std::string> found;
  for (std::string word; words >> word;) found.push_back(word);
  return found;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns what env starts: the first word that is neither an option nor a variable. "" if that is not known.
std::string started_by_env(const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size(); i++) {
    const std::string& word = words[i];
    if (word == "-u" || word == "-C") {
      i++;
    } else if (!word.starts_with("-") && word.find('=') == std::string::npos) {
      return word;
    }
  }
  return "";
}

}  // namespace

std::string find_program(const std::string& name, const std::string& first) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = getenv("PATH");
  std::string folders = path != nullptr ? path : "/bin:/usr/bin";
  if (!first.empty()) folders = first + ":" + folders;
  std::istringstream parts(folders);
  for (std::string folder; std::getline(parts, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    struct stat status = {};
    if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

bool is_address_sanitizer(std::string_view libraries) {
  const std::string_view first = libraries.substr(0, libraries.find_first_of(": "));
  const std::string_view name = first.substr(first.rfind('/') + 1);
  return name.starts_with("libasan.so") || name.starts_with("libclang_rt.asan");
}

PreloadOutlook preload_outlook(const std::vector<std::string>& command, const std::string& file) {
  std::vector<std::string> words = command;
  std::string path = file;
  for (int depth = 0; depth < kMaxInterpreters && !path.empty(); depth++) {
    if (std::string reason = more_rights(path); !reason.empty()) return {PreloadEffect::removed, path, reason, ""};
    if (is_statically_linked(path)) return {PreloadEffect::programs_it_starts, path, "is statically linked", ""};
    if (base_name(path) == "env") {
      const std::string started = started_by_env(words);
      words = {started};
      path = started.empty() ? "" : find_program(started);
      continue;
    }
    words = interpreter_of(path);
    if (words.empty()) return {PreloadEffect::loaded, path, "", address_sanitizer(path)};
    path = words[0];
  }
  return {};
}

std::optional<std::string> library_version(const std::string& file) {
  OpenedElf elf(file);
  size_t names = 0;
  if (elf.get() == nullptr || elf_getshdrstrndx(elf.get(), &names) != 0) return std::nullopt;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) return std::nullopt;
    const char* name = elf_strptr(elf.get(), names, header.sh_name);
    if (name == nullptr || strcmp(name, kVersionSection) != 0) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return std::nullopt;
    const auto* text = static_cast<const char*>(data->d_buf);
    return std::string(text, strnlen(text, data->d_size));
  }
  return std::nullopt;
}

}  // namespace tensorscope::process
