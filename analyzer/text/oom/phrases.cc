// SPDX-License-Identifier: Apache-2.0
#include "text/oom/phrases.h"

#include <fmt/format.h>

#include "oom/tradeoff.h"
#include "text/leaks/phrases.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::oom::Fits;
using analyzer::oom::OomAnalysis;
using analyzer::oom::Remedy;
using analyzer::oom::RemedyKind;

std::string names_phrase(const Remedy& remedy) {
  std::string text;
  for (const std::string& name : remedy.names) text += (text.empty() ? "" : " and ") + name;
  return text;
}

// Whether the bytes are the tensors' own or their graphs' decides what helps.
std::string holder_advice(const Remedy& remedy) {
  if (remedy.leak) return advice_phrase(*remedy.leak);
  if (remedy.graph_bytes == 0)
    return "these tensors are large themselves: keep fewer of them, or copies in other memory";
  if (remedy.scalars) return "keep .item() or .detach() of them: the tensors keep their graphs";
  if (remedy.own_bytes == 0) return "keep .detach() of them: the tensors keep their graphs";
  return fmt::format("{} are their graphs: keep .detach() of them; {} are the tensors themselves",
                     bytes(remedy.graph_bytes), bytes(remedy.own_bytes));
}

std::string in_private_pool(const Remedy& remedy) {
  if (remedy.stays == 0) return "";
  return fmt::format("; {} of it stay in a private pool (of a CUDA graph or MemPool)", bytes(remedy.stays));
}

std::string checkpoint_estimate(const Remedy& remedy) {
  std::string text = "saved only by nodes of the forward pass; without inputs, outputs and what variables hold";
  if (remedy.count > 1) text += fmt::format("; backward recomputes one of {} at a time", remedy.count);
  if (remedy.stays != 0) text += fmt::format("; {} stay, because that module is running", bytes(remedy.stays));
  if (remedy.inputs != 0) text += fmt::format("; {} of inputs are kept that are freed now", bytes(remedy.inputs));
  return text;
}

std::string batch_estimate(const Remedy& remedy) {
  std::string text = "half of them, if all of them do; the request would shrink, too";
  if (remedy.may_scale == 0) return text;
  return text + fmt::format("; part of the {} that are in other tensors, in no tensor or cached may go as well",
                            bytes(remedy.may_scale));
}

}  // namespace

std::string subject_phrase(const Remedy& remedy) {
  switch (remedy.kind) {
    case RemedyKind::empty_cache:
      return "cached segments that are entirely free";
    case RemedyKind::other_stream:
      return fmt::format("free memory of stream {:#x}", remedy.stream);
    case RemedyKind::private_pool:
      return fmt::format("private pool ({}, {})", remedy.pool_user, remedy.pool);
    case RemedyKind::expandable_segments:
      return "fragmented free memory";
    case RemedyKind::collect_garbage:
    case RemedyKind::break_graph_cycle:
    case RemedyKind::drop_holder:
    case RemedyKind::running_sum:
    case RemedyKind::carried_state:
    case RemedyKind::no_grad:
    case RemedyKind::checkpoint:
      return remedy.leak ? holder_phrase(*remedy.leak) : names_phrase(remedy);
    case RemedyKind::gradient_graph:
      return "the graph of " + names_phrase(remedy) +
             (remedy.count > 1 ? fmt::format(" and of {}", counted(remedy.count - 1, "other gradient")) : "");
    case RemedyKind::fused_step:
      return "optimizer with fused=True";
    case RemedyKind::optimizer_step:
      return "optimizer with foreach=False";
    case RemedyKind::step_in_backward:
      return "step of each parameter in backward";
    case RemedyKind::sharded_state:
      return fmt::format("optimizer state sharded over {} ranks", remedy.count);
    case RemedyKind::less_state:
      return "optimizer with less state";
    case RemedyKind::half_model:
      return "model in bfloat16";
    case RemedyKind::smaller_batch:
      return "half the batch";
    case RemedyKind::lower_precision:
      return "activations in bfloat16";
    case RemedyKind::malloc_trim:
      return "free memory kept by malloc";
    case RemedyKind::other_process:
      return fmt::format("process {}", remedy.pid);
    case RemedyKind::child_processes:
      return fmt::format("{} child process{}", remedy.count, remedy.count == 1 ? "" : "es");
    case RemedyKind::shared_limit:
      return "other processes of the " + names_phrase(remedy);
    case RemedyKind::process_limit:
      return "the device has free memory that this process may not use";
  }
  return "";
}

std::string title_phrase(const Remedy& remedy) {
  const std::string subject = subject_phrase(remedy);
  switch (remedy.kind) {
    case RemedyKind::empty_cache:
      return "empty the cache: " + subject;
    case RemedyKind::expandable_segments:
      return "expandable segments: " + subject;
    case RemedyKind::collect_garbage:
      return "gc.collect(): " + subject;
    case RemedyKind::break_graph_cycle:
      return "break the cycle " + subject;
    case RemedyKind::gradient_graph:
      return "free " + subject;
    case RemedyKind::drop_holder:
      return "free " + subject;
    case RemedyKind::running_sum:
    case RemedyKind::carried_state:
      return "detach " + subject;
    case RemedyKind::no_grad:
      return "torch.no_grad() in " + subject;
    case RemedyKind::checkpoint:
      return "checkpoint " + subject;
    case RemedyKind::malloc_trim:
      return "malloc_trim(0): " + subject;
    case RemedyKind::other_process:
      return "end or move " + subject;
    case RemedyKind::child_processes:
      return "fewer workers: " + subject;
    case RemedyKind::shared_limit:
      return "end or move " + subject;
    case RemedyKind::process_limit:
      return "raise the limit: " + subject;
    default:
      return subject;
  }
}

std::string takes_words(const Remedy& remedy) {
  switch (remedy.kind) {
    case RemedyKind::empty_cache:
      return std::string("torch.cuda.empty_cache() returns them to the driver") +
             (remedy.tried ? "; torch already tried this for the pool of the request" : "");
    case RemedyKind::other_stream:
      return "it has a free block that is large enough, but only for that stream: allocate on that stream, or call "
             "torch.cuda.empty_cache() when the whole segment is free";
    case RemedyKind::private_pool:
      return "it has a free block that is large enough, but only for its own requests: free the CUDA graph or MemPool "
             "that owns it, or allocate within the MemPool (torch.cuda.use_mem_pool)";
    case RemedyKind::expandable_segments:
      return fmt::format("set {}=expandable_segments:True: each free block is too small, together they may be enough",
                         names_phrase(remedy));
    case RemedyKind::collect_garbage:
      return "call gc.collect(), or break the cycle so that reference counting frees it" + in_private_pool(remedy);
    case RemedyKind::break_graph_cycle:
      return "nothing else refers to it, and gc.collect() cannot free it: " + advice_phrase(*remedy.leak) +
             in_private_pool(remedy);
    case RemedyKind::gradient_graph:
      return "set these .grad to None as soon as they are used, or use torch.autograd.grad(): "
             "backward(create_graph=True) keeps the graph of its pass in each gradient" +
             in_private_pool(remedy);
    case RemedyKind::drop_holder:
      return holder_advice(remedy) + in_private_pool(remedy);
    case RemedyKind::running_sum:
      return fmt::format(
                 "{} values were added to it at one line, and it keeps the graphs of all of them: add .detach() "
                 "if it is only logged, or call backward() for each value",
                 remedy.count + 1) +
             in_private_pool(remedy);
    case RemedyKind::carried_state:
      return fmt::format(
                 "it was computed from its own earlier value {} times: {} = {}.detach() at the start of each "
                 "step, unless backward needs the earlier steps",
                 remedy.count, remedy.variable, remedy.variable) +
             in_private_pool(remedy);
    case RemedyKind::no_grad:
      return fmt::format(
          "no backward call was seen from it{}: if it only evaluates, torch.no_grad() or "
          "torch.inference_mode() keeps nothing for backward",
          remedy.backward_elsewhere ? ", only from other functions" : "");
    case RemedyKind::checkpoint:
      return fmt::format("torch.utils.checkpoint around {}: backward computes the activations again",
                         remedy.count > 1 ? "each of these modules" : "this module");
    case RemedyKind::fused_step:
      return "one kernel steps all parameters, without temporaries";
    case RemedyKind::optimizer_step:
      return "it steps one parameter after the other, without temporaries for all of them at once";
    case RemedyKind::step_in_backward:
      return "an optimizer for each parameter, stepped by register_post_accumulate_grad_hook: its gradient is freed "
             "before the next one is made; not with gradients that are clipped together or added up over batches";
    case RemedyKind::sharded_state:
      return "torch.distributed.optim.ZeroRedundancyOptimizer; fully_shard divides parameters and gradients as well";
    case RemedyKind::less_state:
      return "Adam keeps two tensors as large as each parameter, SGD with momentum one, SGD none, Adafactor and 8-bit "
             "optimizers a fraction; several GPUs can share it (ZeroRedundancyOptimizer, fully_shard)";
    case RemedyKind::half_model:
      return "model.to(torch.bfloat16): parameters, gradients and optimizer state take half; updates smaller than "
             "1/256 of a weight are lost";
    case RemedyKind::smaller_batch:
      return fmt::format("activations, outputs and inputs ({} together) grow with the batch", bytes(remedy.scaling));
    case RemedyKind::lower_precision:
      return "torch.autocast(dtype=torch.bfloat16) around the forward pass: matrix products and convolutions then save "
             "half as much for backward";
    case RemedyKind::malloc_trim:
      return "ctypes.CDLL(None).malloc_trim(0) returns whole free pages to the system; MALLOC_ARENA_MAX=2 or another "
             "allocator (jemalloc in LD_PRELOAD) keeps less";
    case RemedyKind::other_process:
      return "it uses this device, too: end it, or move it or this program to another device";
    case RemedyKind::child_processes:
      return "use fewer DataLoader workers (num_workers), or let them prefetch less (prefetch_factor)";
    case RemedyKind::shared_limit:
      return "they have more than half of what is in use: end them, let them use less, or raise the limit";
    case RemedyKind::process_limit:
      return "raise torch.cuda.set_per_process_memory_fraction, or per_process_memory_fraction in the allocator's "
             "settings; if neither is set, memory was freed after the request failed";
  }
  return "";
}

std::string estimate_words(const Remedy& remedy) {
  switch (remedy.kind) {
    case RemedyKind::expandable_segments:
      return "all that the driver has free or would get back in whole pages (20 MiB each, 2 MiB for small blocks), "
             "and the rest of a page; less where blocks in use lie scattered over more pages";
    case RemedyKind::process_limit:
      return "all that the device has free; at least one segment for the request";
    case RemedyKind::gradient_graph:
      return "all that only these gradients keep, and they themselves; what is not differentiated again yet stays";
    case RemedyKind::no_grad:
      return "saved only by graphs of this function, without what variables hold; the last pass still needs part of it";
    case RemedyKind::checkpoint:
      return checkpoint_estimate(remedy);
    case RemedyKind::fused_step:
      return "the temporaries of this step, or the size of the trained parameters if larger";
    case RemedyKind::optimizer_step:
      return "the temporaries of this step, or the size of the trained parameters if larger, minus three times the "
             "largest parameter";
    case RemedyKind::step_in_backward:
      return "all gradients and temporaries of the step; they come in backward then, while activations are alive";
    case RemedyKind::sharded_state:
      return "all optimizer state so far but the part of one rank; whole parameters are dealt out";
    case RemedyKind::less_state:
      return remedy.in_step ? "all optimizer state, as with plain SGD, with what a first step still makes, and the "
                              "temporaries of the step"
                            : "all optimizer state, as with plain SGD";
    case RemedyKind::half_model:
      return "half of the parameters, gradients, optimizer state and temporaries of the step in float32, at most of "
             "all tensors in float32";
    case RemedyKind::smaller_batch:
      return batch_estimate(remedy);
    case RemedyKind::lower_precision:
      return "half of the activations, outputs and temporaries in float32, less what some operations keep in float32, "
             "less copies of the weights and of what several products are given; where the program itself casts "
             "to float32, it may be less than that, or take more memory";
    case RemedyKind::child_processes:
      return "resident memory; shared pages count once per process";
    case RemedyKind::shared_limit:
      return "what is in use without this process and its children";
    case RemedyKind::malloc_trim:
      return "all free memory of malloc; only whole pages return to the system";
    default:
      return "";
  }
}

std::string price_phrase(const Remedy& remedy) {
  using analyzer::oom::Tradeoff;
  const Tradeoff tradeoff = analyzer::oom::tradeoff_of(remedy);
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : "; ") + words; };
  switch (tradeoff.time) {
    case Tradeoff::Time::same:
      break;
    case Tradeoff::Time::little:
      add("a little time");
      break;
    case Tradeoff::Time::forward_again:
      add(fmt::format("about one more forward pass of {}", remedy.count > 1 ? "these modules" : "this module"));
      break;
    case Tradeoff::Time::twice_the_steps:
      add("twice as many steps");
      break;
  }
  switch (tradeoff.results) {
    case Tradeoff::Results::same:
      add(remedy.batch_norm ? "same results, but batch norm counts each batch twice" : "same results");
      break;
    case Tradeoff::Results::rounding:
      add("results differ by rounding");
      break;
    case Tradeoff::Results::other:
      add(remedy.kind == RemedyKind::smaller_batch ? "other results, unless gradients of two batches are added up"
                                                   : "other results");
      break;
  }
  const bool made = remedy.kind == RemedyKind::drop_holder;  // the line that keeps them is not known
  if (tradeoff.change == Tradeoff::Change::outside) {
    add("no change of the program");
  } else if (!remedy.where.empty()) {
    add((made ? "the tensors are made at " : "the line is ") + remedy.where);
  } else if (tradeoff.change == Tradeoff::Change::one_line) {
    add("one line");
  }
  return text;
}

std::string gives_phrase(const Remedy& remedy) {
  return (remedy.at_most ? "up to " : remedy.estimate ? "about " : "") + bytes(remedy.bytes);
}

std::string range_words(const Remedy& remedy) {
  if (remedy.high == 0) return "";
  if (remedy.at_most && remedy.low == 0) return "perhaps nothing";
  if (remedy.at_most) return fmt::format("at this moment at least {}", bytes(remedy.low));
  return fmt::format("between {} and {}", bytes(remedy.low), bytes(remedy.high));
}

std::string fits_phrase(const Remedy& remedy) {
  switch (remedy.fits) {
    case Fits::yes:
      return "the request would fit";
    case Fits::may:
      return "the request may fit";
    case Fits::no:
      return remedy.missing == 0 ? "not enough in one block" : "still " + bytes(remedy.missing) + " short";
    case Fits::unknown:
      break;
  }
  return "";
}

std::string operand_phrase(const analyzer::Dump& dump, const analyzer::oom::Operand& operand) {
  const analyzer::Tensor& tensor = dump.tensors[operand.tensor];
  return fmt::format("{}: {} {}, {}", operand.name, tensor.dtype_text(), tensor.shape_text(), bytes(tensor.nbytes));
}

std::string outside_phrase(const BalanceNode& balance) {
  const BalanceNode* part = analyzer::oom::mostly_outside(balance);
  if (part == nullptr) return "";
  const bool python = part->kind == analyzer::oom::BalanceKind::python_heap;
  return fmt::format(
      "{} of the {} that this process has in memory are {}: in no tensor, so none of these remedies frees them. One "
      "dump does not show what holds them. Two show whether they grow: tensorscope leaks. {}",
      bytes(uint64_t(*part->bytes)), bytes(analyzer::oom::resident(balance)),
      python ? "Python's heap of small objects" : "allocated with malloc, but not by torch",
      python
          ? "tracemalloc shows the lines that created them: numbers, strings, tuples, instances."
          : "tracemalloc shows the lines that created numpy arrays and large Python objects, heaptrack and memray what "
            "libraries allocated.");
}

std::string missing_phrase(const analyzer::Dump& dump, const OomAnalysis& analysis) {
  switch (analysis.remedies_missing) {
    case OomAnalysis::Missing::nothing:
      if (dump.graph.whole()) return "";
      return "Not known: " + dump.graph.gap() + ". What it holds, and checkpointing, are left out.";
    case OomAnalysis::Missing::references:
      return "References were not recorded: garbage, holders and checkpointing are left out.";
    case OomAnalysis::Missing::some_references:
      return "References are incomplete: " + dump.references.detail;
  }
  return "";
}

}  // namespace tensorscope::text
