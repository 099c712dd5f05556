#include "forecast/play.h"

#include <algorithm>

namespace tensorscope::analyzer::forecast {

namespace {

std::vector<double> bytes_of_growths(const Play& play, const SizeValues& at) {
  std::vector<double> bytes;
  bytes.reserve(play.growths.size());
  for (const Growth& growth : play.growths) bytes.push_back(growth.bytes(at));
  return bytes;
}

// `visit(change, live)` after each change, until it returns false.
template <typename Visit>
void each_change(const Play& play, const SizeValues& at, Visit visit) {
  const std::vector<double> bytes = bytes_of_growths(play, at);
  double live = 0;
  for (size_t i = 0; i < play.changes.size(); ++i) {
    const Piece& piece = play.pieces[play.changes[i].block];
    const double change = bytes[piece.growth] * piece.factor;
    live += play.changes[i].made ? change : -change;
    if (!visit(i, live)) return;
  }
}

// Where `may_be(bytes, spread, unsure)` says what a block has.
template <typename MayBe>
PeakAt peak_of(const Play& play, const SizeValues& at, const SizeValues& base, MayBe may_be) {
  std::vector<double> spreads;
  for (const Growth& growth : play.growths) spreads.push_back(growth.spread(at, base));
  const std::vector<double> own = bytes_of_growths(play, at);
  PeakAt found;
  double live = 0;
  for (size_t i = 0; i < play.changes.size(); ++i) {
    const Piece& piece = play.pieces[play.changes[i].block];
    const double change = may_be(own[piece.growth], spreads[piece.growth], piece.unsure) * piece.factor;
    live += play.changes[i].made ? change : -change;
    if (live > found.bytes) found = {live, i};
  }
  return found;
}

}  // namespace

Piece perhaps(Piece piece) {
  constexpr double kNothing = 1e-6;  // of its bytes
  piece.factor *= kNothing;
  piece.unsure = 1 / kNothing;
  return piece;
}

Play play_of(const Sample& base, Matched matched) {
  Play play;
  play.pieces.resize(base.blocks.size());
  for (size_t i = 0; i < base.blocks.size(); ++i) {
    play.pieces[i] = {uint32_t(i), matched.growth[i], matched.share[i], 0, base.blocks[i].category, kNone};
  }
  play.changes = base.changes;
  play.growths = std::move(matched.growths);
  return play;
}

Play without_scratch(const Play& play) {
  Play result = play;
  for (Piece& piece : result.pieces) {
    if (play.growths[piece.growth].basis() == Basis::scratch) piece.factor = 0;
  }
  return result;
}

PeakAt peak(const Play& play, const SizeValues& at) {
  PeakAt found;
  each_change(play, at, [&](size_t change, double live) {
    if (live > found.bytes) found = {live, change};
    return true;
  });
  return found;
}

std::vector<LivePiece> live_after(const Play& play, size_t change, const SizeValues& at) {
  const std::vector<double> bytes = bytes_of_growths(play, at);
  std::vector<int> alive(play.pieces.size());
  for (size_t i = 0; i <= change && i < play.changes.size(); ++i) {
    alive[play.changes[i].block] += play.changes[i].made ? 1 : -1;
  }
  std::vector<LivePiece> result;
  for (size_t i = 0; i < alive.size(); ++i) {
    const Piece& piece = play.pieces[i];
    if (alive[i] > 0) result.push_back({uint32_t(i), bytes[piece.growth] * piece.factor * alive[i]});
  }
  return result;
}

size_t first_over(const Play& play, const SizeValues& at, double limit) {
  size_t found = play.changes.size();
  each_change(play, at, [&](size_t change, double live) {
    if (live > limit) found = change;
    return live <= limit;
  });
  return found;
}

PeakAt highest_possible(const Play& play, const SizeValues& at, const SizeValues& base) {
  return peak_of(play, at, base, [](double own, double spread, double unsure) { return own + spread + own * unsure; });
}

PeakAt least_possible(const Play& play, const SizeValues& at, const SizeValues& base) {
  return peak_of(play, at, base,
                 [](double own, double spread, double unsure) { return std::max(0.0, own - spread - own * unsure); });
}

double spread_after(const Play& play, size_t change, const SizeValues& at, const SizeValues& base) {
  double sum = 0;
  for (const LivePiece& live : live_after(play, change, at)) {
    const Piece& piece = play.pieces[live.piece];
    sum += play.growths[piece.growth].spread(at, base) * piece.factor + piece.unsure * live.bytes;
  }
  return sum;
}

}  // namespace tensorscope::analyzer::forecast
