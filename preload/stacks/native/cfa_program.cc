// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/cfa_program.h"

namespace tensorscope::stacks {

namespace {

constexpr uint64_t kBp = 6, kSp = 7;

// Where a register of the caller is, as far as a rule can say it.
struct Saved {
  enum How : uint8_t { same, undefined, at_offset, at_bp, otherwise } how = same;
  int64_t offset = 0;  // from the CFA; at_bp: from RBP
};

struct Row {
  uint64_t cfa_register = kSp;
  int64_t cfa_offset = 0;
  enum : uint8_t { from_register, in_slot_of_bp, otherwise } cfa = from_register;
  Saved bp, sp, return_address;

  Saved* column(uint64_t number) {
    return number == kBp ? &bp : number == kSp ? &sp : number == kReturnAddressColumn ? &return_address : nullptr;
  }
};

// The two expressions that GCC writes where a function realigns its stack.
enum class Expression : uint8_t { bp_plus, deref_bp_plus, other };

// Reads one expression with its length.
Expression read_expression(ByteReader& in, int64_t& offset) {
  constexpr uint8_t kBreg6 = 0x76, kDeref = 0x06;  // DW_OP_breg6, DW_OP_deref
  const uint64_t size = in.uleb();
  if (size > in.left()) {
    in.skip(size);
    return Expression::other;
  }
  ByteReader expression(in.position(), size);
  in.skip(size);
  if (expression.fixed<uint8_t>() != kBreg6) return Expression::other;
  offset = expression.sleb();
  if (!expression.ok()) return Expression::other;
  if (expression.left() == 0) return Expression::bp_plus;
  return expression.left() == 1 && expression.fixed<uint8_t>() == kDeref ? Expression::deref_bp_plus
                                                                         : Expression::other;
}

class Machine {
 public:
  Machine(CfaAlignment alignment, uint64_t wanted) : alignment_(alignment), wanted_(wanted) {}

  // False: an instruction is unknown or broken.
  bool run(ByteReader program);
  void start_own_program() { initial_ = row_; }
  const Row& row() const { return row_; }

 private:
  bool run_extended(uint8_t code, ByteReader& in);
  void set(uint64_t number, Saved::How how, int64_t offset = 0) {
    if (Saved* saved = row_.column(number); saved != nullptr) *saved = {how, offset};
  }
  void restore(uint64_t number) {
    if (Saved* saved = row_.column(number); saved != nullptr) *saved = *initial_.column(number);
  }
  void define_cfa(uint64_t number, int64_t offset) {
    row_.cfa_register = number;
    row_.cfa_offset = offset;
    row_.cfa = Row::from_register;
  }
  void advance(uint64_t steps) { location_ += steps * alignment_.code; }

  static constexpr int kMaxRemembered = 16;
  CfaAlignment alignment_;
  uint64_t wanted_;
  uint64_t location_ = 0;
  Row row_, initial_;
  Row remembered_[kMaxRemembered];
  int remembered_count_ = 0;
};

bool Machine::run(ByteReader in) {
  while (in.left() > 0 && location_ <= wanted_) {
    const uint8_t code = in.fixed<uint8_t>();
    const uint8_t low = code & 0x3f;
    switch (code >> 6) {
      case 1:  // DW_CFA_advance_loc
        advance(low);
        break;
      case 2:  // DW_CFA_offset
        set(low, Saved::at_offset, int64_t(in.uleb()) * alignment_.data);
        break;
      case 3:  // DW_CFA_restore
        restore(low);
        break;
      default:
        if (!run_extended(code, in)) return false;
    }
    if (!in.ok()) return false;
  }
  return true;
}

bool Machine::run_extended(uint8_t code, ByteReader& in) {
  uint64_t number;
  switch (code) {
    case 0x00:  // DW_CFA_nop
      return true;
    case 0x02:  // DW_CFA_advance_loc1, 2, 4
      advance(in.fixed<uint8_t>());
      return true;
    case 0x03:
      advance(in.fixed<uint16_t>());
      return true;
    case 0x04:
      advance(in.fixed<uint32_t>());
      return true;
    case 0x05:  // DW_CFA_offset_extended
      number = in.uleb();
      set(number, Saved::at_offset, int64_t(in.uleb()) * alignment_.data);
      return true;
    case 0x06:  // DW_CFA_restore_extended
      restore(in.uleb());
      return true;
    case 0x07:  // DW_CFA_undefined
      set(in.uleb(), Saved::undefined);
      return true;
    case 0x08:  // DW_CFA_same_value
      set(in.uleb(), Saved::same);
      return true;
    case 0x09:  // DW_CFA_register
      number = in.uleb();
      in.uleb();
      set(number, Saved::otherwise);
      return true;
    case 0x0a:  // DW_CFA_remember_state
      if (remembered_count_ == kMaxRemembered) return false;
      remembered_[remembered_count_++] = row_;
      return true;
    case 0x0b:  // DW_CFA_restore_state
      if (remembered_count_ == 0) return false;
      row_ = remembered_[--remembered_count_];
      return true;
    case 0x0c:  // DW_CFA_def_cfa
      number = in.uleb();
      define_cfa(number, int64_t(in.uleb()));
      return true;
    case 0x0d:  // DW_CFA_def_cfa_register
      define_cfa(in.uleb(), row_.cfa_offset);
      return true;
    case 0x0e:  // DW_CFA_def_cfa_offset
      row_.cfa_offset = int64_t(in.uleb());
      return true;
    case 0x0f:  // DW_CFA_def_cfa_expression
      row_.cfa =
          read_expression(in, row_.cfa_offset) == Expression::deref_bp_plus ? Row::in_slot_of_bp : Row::otherwise;
      return true;
    case 0x10: {  // DW_CFA_expression
      number = in.uleb();
      int64_t offset = 0;
      const bool at_bp = read_expression(in, offset) == Expression::bp_plus;
      set(number, at_bp ? Saved::at_bp : Saved::otherwise, offset);
      return true;
    }
    case 0x16:  // DW_CFA_val_expression
      number = in.uleb();
      in.skip(in.uleb());
      set(number, Saved::otherwise);
      return true;
    case 0x11:  // DW_CFA_offset_extended_sf
      number = in.uleb();
      set(number, Saved::at_offset, in.sleb() * alignment_.data);
      return true;
    case 0x12:  // DW_CFA_def_cfa_sf
      number = in.uleb();
      define_cfa(number, in.sleb() * alignment_.data);
      return true;
    case 0x13:  // DW_CFA_def_cfa_offset_sf
      row_.cfa_offset = in.sleb() * alignment_.data;
      return true;
    case 0x14:  // DW_CFA_val_offset, DW_CFA_val_offset_sf
    case 0x15:
      number = in.uleb();
      in.uleb();
      set(number, Saved::otherwise);
      return true;
    case 0x2e:  // DW_CFA_GNU_args_size
      in.uleb();
      return true;
    default:  // DW_CFA_set_loc among them: no compiler writes it for this machine
      return false;
  }
}

UnwindRule rule_of(const Row& row) {
  if (row.return_address.how == Saved::undefined) return UnwindRule::outermost();
  if (row.return_address.how != Saved::at_offset || row.return_address.offset != -8) return UnwindRule::special();
  if (row.cfa == Row::in_slot_of_bp && row.bp.how == Saved::at_bp && row.bp.offset == 0) {
    const int64_t slot = -row.cfa_offset;
    const bool expressible = slot > 0 && slot % 8 == 0 && slot / 8 <= UnwindRule::kMaxBpWords;
    return expressible ? UnwindRule::realigned(uint32_t(slot / 8)) : UnwindRule::special();
  }
  if (row.cfa != Row::from_register || (row.cfa_register != kSp && row.cfa_register != kBp))
    return UnwindRule::special();
  if (row.sp.how != Saved::same) return UnwindRule::special();
  if (row.cfa_offset < 8 || row.cfa_offset % 8 != 0 || row.cfa_offset / 8 > UnwindRule::kMaxCfaWords) {
    return UnwindRule::special();
  }
  uint32_t bp_words = 0;
  if (row.bp.how == Saved::at_offset) {
    if (row.bp.offset > -16 || row.bp.offset % 8 != 0 || -row.bp.offset / 8 > UnwindRule::kMaxBpWords) {
      return UnwindRule::special();
    }
    bp_words = uint32_t(-row.bp.offset / 8);
  } else if (row.bp.how != Saved::same) {
    return UnwindRule::special();
  }
  return UnwindRule::relative(row.cfa_register == kBp, uint32_t(row.cfa_offset / 8), bp_words);
}

}  // namespace

UnwindRule run_cfa_programs(ByteReader common, ByteReader own, CfaAlignment alignment, uint64_t offset) {
  Machine machine(alignment, offset);
  if (!machine.run(common)) return UnwindRule::special();
  machine.start_own_program();
  return machine.run(own) ? rule_of(machine.row()) : UnwindRule::special();
}

}  // namespace tensorscope::stacks
