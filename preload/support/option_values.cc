// SPDX-License-Identifier: Apache-2.0
#include "support/option_values.h"

#include <signal.h>
#include <stdio.h>

#include <charconv>

#include "support/arena.h"
#include "tensorscope/rules/signal_names.h"

namespace tensorscope {

namespace {

constinit Arena g_texts{Arena::Limit::none};

template <typename Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) {
    if (text == word) return true;
  }
  return false;
}

bool parse_on_off(std::string_view text, bool& out) {
  const bool on = one_of(text, {"1", "on", "yes", "true", "ON", "YES", "TRUE", "True"});
  const bool off = one_of(text, {"0", "off", "no", "false", "OFF", "NO", "FALSE", "False"});
  if (on || off) out = on;
  return on || off;
}

// "5%", "2.5%", "0.25%": at most two digits behind the point, at most 10,000 %.
bool parse_percent(std::string_view text, uint32_t& hundredths) {
  if (text.size() < 2 || text.back() != '%') return false;
  text.remove_suffix(1);
  const size_t point = text.find('.');
  const std::string_view fraction = point == text.npos ? std::string_view() : text.substr(point + 1);
  uint32_t whole = 0, part = 0;
  if (!parse_number(text.substr(0, point), whole) || whole > 10'000) return false;
  if (point != text.npos && (fraction.size() > 2 || !parse_number(fraction, part))) return false;
  hundredths = whole * 100 + (fraction.size() == 1 ? part * 10 : part);
  return true;
}

bool parse_share_or_size(std::string_view text, ShareOrSize& out) {
  bool on = false;
  ShareOrSize value;
  if (!(parse_on_off(text, on) && !on) && !parse_percent(text, value.hundredths) &&
      !parse_option_value(text, value.bytes)) {
    return false;
  }
  out = value;
  return true;
}

}  // namespace

Status parse_option_value(std::string_view text, bool& out) {
  return parse_on_off(text, out) ? Status::done() : Status::failed("on or off (1 or 0)");
}

Status parse_option_value(std::string_view text, int& signal_out) {
  bool on = false;
  if (parse_on_off(text, on) && !on) {
    signal_out = 0;
    return Status::done();
  }
  int number = -1;
  const bool is_number = parse_number(text, number);
  for (const rules::SignalName& known : rules::kSignals) {
    if (is_number ? number == known.number : text == known.name || text == known.name + 3) {
      signal_out = known.number;
      return Status::done();
    }
  }
  if (is_number && number >= SIGRTMIN && number <= SIGRTMAX) {
    signal_out = number;
    return Status::done();
  }
  return Status::failed("the name or number of a signal that can be handled, or off");
}

namespace {

template <typename Value>
struct Choice {
  std::string_view word;
  Value value;
};

template <typename Value, size_t count>
Status parse_choice(std::string_view text, const Choice<Value> (&choices)[count], const char* wanted, Value& out) {
  for (const Choice<Value>& choice : choices) {
    if (text != choice.word) continue;
    out = choice.value;
    return Status::done();
  }
  return Status::failed(wanted);
}

}  // namespace

Status parse_option_value(std::string_view text, ExitDump& out) {
  constexpr Choice<ExitDump> kChoices[] = {
      {"auto", ExitDump::automatic}, {"always", ExitDump::always}, {"never", ExitDump::never}};
  return parse_choice(text, kChoices, "auto, always or never", out);
}

Status parse_option_value(std::string_view text, ChildDumps& out) {
  constexpr Choice<ChildDumps> kChoices[] = {
      {"grown", ChildDumps::grown}, {"all", ChildDumps::all}, {"never", ChildDumps::never}};
  return parse_choice(text, kChoices, "grown, all or never", out);
}

Status parse_option_value(std::string_view text, CuptiMode& out) {
  bool on = false;
  if (parse_on_off(text, on)) {
    out = on ? CuptiMode::memory : CuptiMode::off;
  } else if (text == "memory") {
    out = CuptiMode::memory;
  } else if (text == "activity") {
    out = CuptiMode::activity;
  } else {
    return Status::failed("off, memory (1) or activity");
  }
  return Status::done();
}

Status parse_option_value(std::string_view text, FindNanMode& out) {
  bool on = false;
  if (parse_on_off(text, on)) {
    out = on ? FindNanMode::on : FindNanMode::off;
  } else if (text == "stop") {
    out = FindNanMode::stop;
  } else {
    return Status::failed("off, on or stop");
  }
  return Status::done();
}

Status parse_option_value(std::string_view text, const char*& out) {
  const char* copy = g_texts.copy(text);
  if (copy == nullptr) return Status::failed("a shorter value (not enough memory)");
  out = copy;
  return Status::done();
}

Status parse_option_value(std::string_view text, unsigned& milliseconds_out) {
  return parse_number(text, milliseconds_out) ? Status::done() : Status::failed("a number of milliseconds");
}

Status parse_option_value(std::string_view text, uint16_t& count_out) {
  return parse_number(text, count_out) ? Status::done() : Status::failed("a number up to 65535");
}

Status parse_option_value(std::string_view text, uint64_t& bytes_out) {
  static constexpr const char* kExpected = "a number of bytes, or of K, M or G (as in 512M)";
  int shift = 0;
  if (text.size() > 2 && text.ends_with("iB")) {
    text.remove_suffix(2);
    if (text.back() >= '0' && text.back() <= '9') return Status::failed(kExpected);
  }
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
      default:
        break;
    }
  }
  if (shift != 0) text.remove_suffix(1);
  uint64_t number = 0;
  if (!parse_number(text, number) || number > (UINT64_MAX >> shift)) return Status::failed(kExpected);
  bytes_out = number << shift;
  return Status::done();
}

Status parse_option_value(std::string_view text, NativeStacks& out) {
  constexpr uint64_t kMin = 1 << 10;
  NativeStacks value;
  if (!parse_on_off(text, value.on) && (!parse_option_value(text, value.from_bytes) || value.from_bytes < kMin)) {
    return Status::failed("on, off or a size (as in 64K)");
  }
  out = value;
  return Status::done();
}

Status parse_option_value(std::string_view text, RecordWindow& out) {
  static constexpr const char* kExpected = "a time or a size (as in 10min or 2GiB), or off";
  constexpr struct {
    std::string_view name;
    uint64_t seconds;
  } kUnits[] = {{"min", 60}, {"s", 1}, {"h", 3600}, {"d", 86400}};
  RecordWindow value;
  bool on = false;
  if (parse_on_off(text, on) && !on) {
    out = value;
    return Status::done();
  }
  for (const auto& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    uint32_t count = 0;
    if (!parse_number(text.substr(0, text.size() - unit.name.size()), count) || count == 0)
      return Status::failed(kExpected);
    value.seconds = count * unit.seconds;
    out = value;
    return Status::done();
  }
  constexpr uint64_t kMin = 1 << 20;
  if (!parse_option_value(text, value.bytes)) return Status::failed(kExpected);
  if (value.bytes < kMin) return Status::failed("a time or a size from 1 MiB on (as in 10min or 2GiB), or off");
  out = value;
  return Status::done();
}

Status parse_option_value(std::string_view text, ShareOrSize& out) {
  return parse_share_or_size(text, out) ? Status::done()
                                        : Status::failed("a share or a size (as in 10% or 512M), or off");
}

Status parse_option_value(std::string_view text, ShareOfLimit& out) {
  ShareOfLimit value;
  const bool valid = parse_share_or_size(text, value) && value.hundredths < 100 * 100;
  if (valid) out = value;
  return valid ? Status::done() : Status::failed("a share under 100% or a size (as in 5% or 512M), or off");
}

uint64_t ShareOrSize::of(uint64_t whole) const {
  constexpr uint64_t kWhole = 10'000;
  return hundredths != 0 ? whole / kWhole * hundredths + whole % kWhole * hundredths / kWhole : bytes;
}

const char* format_option_value(bool value, char*) { return value ? "on" : "off"; }

const char* format_option_value(int signal, char* buffer) {
  if (signal == 0) return "off";
  for (const rules::SignalName& known : rules::kSignals) {
    if (known.number == signal) return known.name;
  }
  snprintf(buffer, kOptionTextBytes, "%d", signal);
  return buffer;
}

const char* format_option_value(ExitDump value, char*) {
  switch (value) {
    case ExitDump::always:
      return "always";
    case ExitDump::never:
      return "never";
    case ExitDump::automatic:
      break;
  }
  return "auto";
}

const char* format_option_value(ChildDumps value, char*) {
  return value == ChildDumps::grown ? "grown" : value == ChildDumps::all ? "all" : "never";
}

const char* format_option_value(CuptiMode value, char*) {
  return value == CuptiMode::off ? "off" : value == CuptiMode::memory ? "memory" : "activity";
}

const char* format_option_value(FindNanMode value, char*) {
  return value == FindNanMode::off ? "off" : value == FindNanMode::on ? "on" : "stop";
}

const char* format_option_value(const char* value, char*) { return value == nullptr ? "" : value; }

const char* format_option_value(unsigned milliseconds, char* buffer) {
  snprintf(buffer, kOptionTextBytes, "%u", milliseconds);
  return buffer;
}

const char* format_option_value(uint16_t count, char* buffer) { return format_option_value(unsigned{count}, buffer); }

const char* format_option_value(uint64_t bytes, char* buffer) {
  static constexpr char kUnits[] = {0, 'K', 'M', 'G'};
  int unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit < 3) {
    bytes /= 1024;
    ++unit;
  }
  snprintf(buffer, kOptionTextBytes, unit == 0 ? "%llu" : "%llu%c", static_cast<unsigned long long>(bytes),
           kUnits[unit]);
  return buffer;
}

const char* format_option_value(const NativeStacks& value, char* buffer) {
  return value.from_bytes == 0 ? format_option_value(value.on, buffer) : format_option_value(value.from_bytes, buffer);
}

const char* format_option_value(const RecordWindow& value, char* buffer) {
  if (!value.is_set()) return "off";
  if (value.bytes != 0) return format_option_value(value.bytes, buffer);
  const bool minutes = value.seconds % 60 == 0;
  snprintf(buffer, kOptionTextBytes, minutes ? "%llumin" : "%llus",
           static_cast<unsigned long long>(minutes ? value.seconds / 60 : value.seconds));
  return buffer;
}

const char* format_option_value(const ShareOrSize& value, char* buffer) {
  if (!value.is_set()) return "off";
  if (value.hundredths == 0) return format_option_value(value.bytes, buffer);
  const uint32_t whole = value.hundredths / 100, part = value.hundredths % 100;
  snprintf(buffer, kOptionTextBytes,
           part == 0        ? "%u%%"
           : part % 10 == 0 ? "%u.%u%%"
                            : "%u.%02u%%",
           whole, part % 10 == 0 ? part / 10 : part);
  return buffer;
}

}  // namespace tensorscope
