// SPDX-License-Identifier: Apache-2.0
#include "support/secret_arguments.h"

#include <ctype.h>
#include <string.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace tensorscope {

namespace {

constexpr std::string_view kStars = "***";

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return tolower(static_cast<unsigned char>(x)) == tolower(static_cast<unsigned char>(y));
         });
}

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::any_of(all.begin(), all.end(), [&](std::string_view each) { return equal_in_any_case(word, each); });
}

bool in_word(char c) { return isalnum(static_cast<unsigned char>(c)) != 0; }

// The last word of a name and what is before it: "api" and "Key" of apiKey, "db" and "password" of db.password.
std::string_view take_last_word(std::string_view& name) {
  while (!name.empty() && !in_word(name.back())) name.remove_suffix(1);
  size_t begin = name.size();
  while (begin > 0 && in_word(name[begin - 1])) {
    --begin;
    const bool hump = begin > 0 && isupper(static_cast<unsigned char>(name[begin])) != 0 &&
                      islower(static_cast<unsigned char>(name[begin - 1])) != 0;
    if (hump) break;
  }
  const std::string_view word = name.substr(begin);
  name = name.substr(0, begin);
  return word;
}

// Of tokens of text and of counts of them, a program about language has many.
bool is_name_of_secret(std::string_view name) {
  for (bool last = true; !name.empty(); last = false) {
    const std::string_view word = take_last_word(name);
    std::string_view rest = name;
    const std::string_view before = take_last_word(rest);
    if (is_any_of(word, {"password", "passwd", "passphrase", "pwd", "secret", "secrets", "credential", "credentials",
                         "apikey", "authtoken", "accesstoken", "auth"})) {
      return true;
    }
    if (last && is_any_of(word, {"token"}) &&
        !is_any_of(before, {"pad", "eos", "bos", "cls", "sep", "unk", "mask", "image", "audio", "start", "end", "stop",
                            "special", "per", "extra", "prompt"})) {
      return true;
    }
    if (is_any_of(word, {"key"}) &&
        is_any_of(before, {"api", "access", "private", "secret", "encryption", "auth", "account", "license", "ssh"})) {
      return true;
    }
  }
  return false;
}

// A text that becomes shorter or longer within the room that it has.
class Argument {
 public:
  explicit Argument(char* text) : text_(text) {}
  std::string_view view() const { return text_; }
  // [begin, end) becomes stars, as many as there is room for.
  void star(size_t begin, size_t end) {
    const size_t stars = std::min(kStars.size(), end - begin);
    memcpy(text_ + begin, kStars.data(), stars);
    memmove(text_ + begin + stars, text_ + end, strlen(text_ + end) + 1);
  }

 private:
  char* text_;
};

// "https://user:PASSWORD@host/path?token=SECRET&n=1"
void star_in_url(Argument argument) {
  const size_t scheme = argument.view().find("://");
  if (scheme == std::string_view::npos) return;
  const size_t begin = scheme + 3;
  const size_t path = std::min(argument.view().find_first_of("/?#", begin), argument.view().size());
  const size_t at = argument.view().substr(0, path).rfind('@');
  if (at != std::string_view::npos && at >= begin) {
    const size_t colon = argument.view().find(':', begin);
    argument.star(colon < at ? colon + 1 : begin, at);
  }
  for (size_t name = argument.view().find('?'); name < argument.view().size();) {
    const std::string_view text = argument.view();
    const size_t equals = text.find('=', name), end = std::min(text.find_first_of("&#", name + 1), text.size());
    if (equals < end && is_name_of_secret(text.substr(name + 1, equals - name - 1))) {
      argument.star(equals + 1, end);
    }
    name = argument.view().find('&', name + 1);
  }
}

bool is_key_of_a_service(std::string_view text) {
  constexpr size_t kShortestKey = 20;
  if (text.size() < kShortestKey || text.find_first_of(" /") != std::string_view::npos) return false;
  for (const std::string_view begin : {"hf_", "sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-",
                                       "AKIA", "ASIA", "AIza", "eyJ"}) {
    if (text.starts_with(begin)) return true;
  }
  return false;
}

// An option, "--api-key" or "--token=...", or a setting, "HF_TOKEN=..." or "db.password=...". True: its value is the
// next argument.
bool star_value(Argument argument) {
  const std::string_view text = argument.view();
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (name.empty() || name.find_first_of(" /:\n") != std::string_view::npos || !is_name_of_secret(name)) return false;
  if (equals == std::string_view::npos) return name.front() == '-';
  argument.star(equals + 1, text.size());
  return false;
}

void star_all(Argument argument) { argument.star(0, argument.view().size()); }

}  // namespace

size_t star_secrets(char* arguments, size_t size) {
  char* out = arguments;
  bool is_secret = false;
  for (size_t i = 0; i < size;) {
    char* const text = arguments + i;
    i += strnlen(text, size - i) + 1;
    if (i > size) break;  // cut off in the middle
    Argument argument(text);
    if (std::exchange(is_secret, false) && *text != '-') {
      star_all(argument);
    } else {
      is_secret = star_value(argument);
      star_in_url(argument);
      const size_t equals = argument.view().find('=');
      const size_t value = equals == std::string_view::npos ? 0 : equals + 1;
      if (is_key_of_a_service(argument.view().substr(value))) argument.star(value, argument.view().size());
    }
    const size_t length = argument.view().size() + 1;
    memmove(out, text, length);
    out += length;
  }
  return size_t(out - arguments);
}

}  // namespace tensorscope
