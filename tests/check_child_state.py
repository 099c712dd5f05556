# SPDX-License-Identifier: Apache-2.0
"""What a forked child keeps of its parent's profiler is named here, with the reason; all other state begins anew in it (preload/support/fresh_in_child.h).

Prints each variable of preload/ that lives as long as the process and is neither, and names that are no such variable; exit status 1 where there are any.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# A declaration: `constinit std::atomic<bool> g_on{false}, g_off;`, `void (*g_wake)() = nullptr;`, or a static in a function or class.
VARIABLE = re.compile(r"(?!return\b|extern\b|using\b)(?P<type>[A-Za-z_][\w:]*(?: ?<[^;=]*>|[ \w:*&\[\](),])*?[ *&(:])(?P<first>[gt]_\w+)(?P<rest>.*)")
STATIC = re.compile(r"\s+(?P<type>static (?!const |constexpr )[^(={;]*[ *&])(?P<first>\w+)(?P<rest>(?: =|;|\{|\[|, ).*)")
MORE = re.compile(r", \*?(\w+)(?= ?[\[{=;,])")
FRESH = re.compile(r"^FreshInChild g_\w+\{(.*?)\};", re.MULTILINE | re.DOTALL)
# Locks are forgotten (support/locks/lock_word.h); a Whole is whole (support/whole.h); what CPython is given of a method or module is constant.
NO_STATE = re.compile(r"\b(constexpr|extern|SpinLock|Mutex|Whole|MethodDefinition|ModuleDefinition|FreshInChild)(?!\*)\b")

# What clang is told of locks (preload/support/locks/thread_annotations.h).
ANNOTATION = re.compile(r" ?\b(GUARDED_BY|REQUIRES|ACQUIRE|TRY_ACQUIRE|RELEASE)\([^()]*\)| ?\bNO_THREAD_SAFETY_ANALYSIS\b")

FOUND = "functions, objects and layouts that were found in this very code"
GIVEN = "what a room above it, or a test, has set: the same code"
ASKED = "options, and switches that the user or the program has set"
ALIVE = "tables of what is alive, and numbers that go on: totals and peaks begin anew (live::after_fork_in_child)"
KNOWN = "what stacks stand for in these tables, with their memory"
STANDS = "hooks and handlers stand in the child, too"
SCRATCH = "written before it is read"
DEVICES = "a child cannot use its parent's CUDA: cupti::after_fork_in_child ends all of it"
THREAD = "what the forking thread is in the middle of, which it goes on with in the child"
FORK = "of the fork itself"
MEMORY = "memory that is mapped in the child, too"
ENDED = "it cannot be had again in this memory: a lock that is lost, a table that is cut"

KEPT = {
    FOUND: """
        collector/fork_restart.cc g_python
        devices/driver.cc g_nvml
        dump/heap_totals.cc g_mallinfo g_ask
        hooks/cuda/cuda_runtime.cc g_callers known
        hooks/process/process.cc g_main next
        hooks/process/seccomp.cc g_syscall g_prctl
        hooks/real_function.cc g_real_functions
        hooks/self_check.cc g_libraries g_texts
        hooks/torch/current_node.cc g_get_current_node g_state t_this g_variable g_tls_module g_tls_bytes
        hooks/torch/throw_function.cc g_throwers
        python/heap_inspector/graph/attributes.cc g_values_are_known g_dicts_are_unknown unknown
        python/heap_inspector/naming/frame_locals.cc g_check g_layout g_probe_matched
        python/heap_inspector/graph/interpreter_layout.cc g_interpreter g_found
        python/heap_inspector/graph/object_sizes.cc g_texts_are_known g_integers_are_known
        python/heap_inspector/layout_check.cc g_trouble
        python/heap_inspector/naming/main_script.cc g_script
        python/interpreter.cc g_api g_known g_trouble
        python/module_entry.cc g_interpreters_entry
        recording/tensor_facts.cc g_forms g_forms_known
        stacks/native/libunwind_loader.cc g_not_loaded
        stacks/native/native_stack.cc g_libunwind g_own_code g_started g_walks g_interpreter_code g_trusted_code
        stacks/python/python_stack.cc g_interpreter g_capture g_status g_checked g_detail g_checked_detail g_off_detail
        torch/torch_package.cc g_package g_package_length
        collector/write_dump.cc g_metadata_reader
        torch_events/backward_calls.cc g_sequence_word g_peek g_task excluded nodes
        find_nan/checked_operation.cc g_nan_functions
        watch/variables/code_tracing.cc g_thread_words g_traces g_next g_extra
        find_nan/find_nan.cc g_gradients_enabled
        torch_events/operation_kinds.cc g_seen
        torch_events/operation_trace.cc g_torch g_learnt loaded
        tensor_values/tensor_view.cc g_forms g_is_known
        hooks/process/signals.cc next
        python/heap_inspector/graph/type_fields.cc checked right
        python/named_tensors.cc known
        support/private_descriptor_table.cc known
        tensor_values/element_numbers.cc table made
        torch_events/torch_layout_probe.cc functions function
        find_nan/finding_description.cc loaded""",
    GIVEN: """
        collector/jobs.cc g_write
        collector/features.cc g_features g_feature_count
        collector/write_dump.cc g_hook_check
        live/event_log.cc g_wake g_most_blocks
        live/tracker.cc g_current_node g_growth g_facts
        oom/failing_thread.cc g_write
        python/exit_dump.cc g_write
        recording/recording.cc g_wake
        recording/tensor_facts.cc g_call
        stacks/native/loaded_code.cc g_find_object
        stacks/python/python_layout.cc g_change_for_test
        stacks/python/python_check.cc g_test_program
        support/enough_memory.cc g_source
        support/locks/lock_word.cc g_observer
        support/private_descriptor_table.cc g_serve
        torch_events/steps.cc g_step_listener
        find_nan/device_checks.cc g_device_found
        find_nan/find_nan.cc g_actions
        collector/step_dumps.cc g_write_dump g_file
        watch/watch.cc g_wake_writer""",
    ASKED: """
        collector/all_switch.cc g_stopped
        collector/collector_thread.cc g_started
        collector/settings_file.cc g_settings g_settings_size
        collector/memory_limits.cc g_limits_above g_look_at_ns g_shared_mapped
        live/event_log.cc g_events_wanted
        recording/recording.cc g_on g_given_up g_held g_on_afterwards
        stacks/capture.cc g_stop
        support/call_filter.cc g_filtered_at_start g_filtered_at_activation g_activated g_put_early g_put_before_all t_put
        support/log.cc g_log_wanted
        support/message.cc g_at_start g_device g_inode
        support/option_values.cc g_texts
        support/options.cc g_options g_record_is_set printed
        support/process_info.cc g_info
        watch/callbacks.cc g_callbacks
        find_nan/find_nan.cc g_on
        torch_events/saved_tensors.cc g_saves_are_followed
        torch_events/steps.cc g_marked g_counted
        values_file/values_switch.cc g_values
        watch/watch.cc g_waits_for_torch g_wanted
        live/tracker.cc g_tensor_tracking_disabled""",
    ALIVE: """
        live/address_table.h g_row_arena
        live/allocation_table.cc g_allocations
        live/device_table.cc g_devices
        live/preexisting_tensors.cc g_ns g_tensors_found g_site g_detail
        live/node_table.cc g_nodes
        live/runtime_table.cc g_runtime_blocks
        live/serials.h g_newest_serial
        live/site_table.cc g_sites
        live/tensor_table.cc g_tensors
        live/thread_table.cc g_threads
        python/module_outputs.cc g_since_look made
        python/named_tensors.cc made""",
    KNOWN: """
        stacks/native/native_stack.cc g_native_trie g_rules g_generation g_unloads g_cut_reported g_left_out both
        stacks/python/python_capture.cc g_thread_memory
        stacks/python/python_stack.cc g_arena g_codes g_trie known
        support/arena.cc g_limited
        support/pages.cc g_mapped
        watch/variables/code_tracing.cc g_early g_early_count g_nothing
        collector/memory_limits.cc texts""",
    STANDS: """
        hooks/activation.cc g_activated
        hooks/attach.cc g_attached
        hooks/process/program_signal.cc g_number g_owner g_interrupting g_records g_change
        python/builtin_module.cc g_registered g_class
        python/exit_dump.cc g_function
        python/module_entry.cc g_observers g_observer_count
        stacks/python/python_capture.cc g_thread_end
        stacks/python/python_stack.cc g_dealloc
        stacks/thread_stack.cc g_key g_key_made
        torch_events/at_thread_end.cc g_thread_end_key g_thread_end_key_made
        find_nan/checked_operation.cc g_thread_key
        watch/variables/code_monitoring.cc g_monitoring
        watch/watched_calls.cc g_call_listener
        find_nan/device_checks.cc g_device_state
        torch_events/operation_trace.cc g_listeners g_listener_count g_of_operations g_of_nodes g_backward_listener
        watch/api_values.cc g_current_scope
        torch_events/step_hook.cc g_hook_wanted g_hook_registered""",
    SCRATCH: """
        live/history.cc g_points
        collector/collector_thread.cc g_collector_ended
        collector/memory_limits.cc g_reader
        oom/failing_thread.cc g_failure_reader
        oom/failure_record.cc t_runtime_call_failed t_reported t_failed_call
        python/heap_inspector/foreign/python_heap.cc g_heap_text g_heap_buffer
        support/ended_threads.cc g_ends g_next
        support/log.cc g_waiting_bytes g_written_bytes
        torch_events/backward_calls.cc g_device
        find_nan/finding_description.cc g_text
        support/private_descriptor_table.cc g_stack""",
    DEVICES: """
        devices/cupti/launch_counts.cc g_launches g_launch_sites
        devices/cupti/memory_activity.cc g_memory
        devices/cupti/no_session.cc g_stage
        devices/cupti/records.cc g_buffers g_record_functions
        devices/cupti/session.cc g_stage g_functions g_subscriber g_began_ns g_ended_ns g_version g_clock_offset_ns g_work
        devices/cupti/virtual_memory.cc g_virtual_memory""",
    THREAD: """
        hooks/torch/tensor_impl.cc t_deleted
        python/gil_thread.cc t_lends
        python/interpreter.h t_stays
        python/interpreter.cc t_stays
        stacks/python/python_capture.h t_stack
        stacks/python/python_capture.cc t_stack
        stacks/thread_stack.h t_stack
        stacks/thread_stack.cc t_stack
        support/enough_memory.cc t_work t_innermost t_limit
        support/private_descriptor_table.cc t_own
        support/state.cc t_inside
        torch/unrecorded.cc t_unrecorded
        watch/callbacks.cc t_in_callback
        watch/device_values.cc t_prepares
        torch_events/operation_trace.cc t_only_teach
        watch/operation_values.cc t_called
        python/unseen_work.cc t_innermost""",
    FORK: """
        collector/collector_thread.cc t_gate_held t_restart_after_fork
        collector/fork_restart.cc g_start g_postponed g_forking_frame
        hooks/process/program_signal.cc t_mask_before_fork
        live/tracker.cc t_locked_for_fork
        support/fresh_in_child.cc g_fresh_states
        support/locks/lock_word.cc g_lock_generation""",
    MEMORY: """
        oom/reserve.cc g_pages g_bytes g_wanted
        support/enough_memory.cc g_reserve g_kept""",
    ENDED: """
        support/locks/loader_walk.cc g_lost
        support/state.cc g_state g_off_reason
        live/lock_failure.cc said""",
}


def kept():
    for lines in KEPT.values():
        for line in lines.split("\n")[1:]:
            file, *names = line.split()
            yield from ((file, name) for name in names)


def variables(text):
    for number, line in enumerate(text.splitlines(), 1):
        code = ANNOTATION.sub("", re.sub(r"//.*", "", line)).rstrip()
        found = VARIABLE.match(code) or STATIC.match(code)
        if not found or NO_STATE.search(found["type"]) or ("const " in found["type"] and "*" not in found["type"]):
            continue
        initialised = re.sub(r"\{[^{}]*\}|\([^()]*\)", "{", found["rest"])
        yield from ((number, name) for name in [found["first"], *MORE.findall(initialised)])


def main():
    known, seen, wrong = set(kept()), set(), []
    for path in sorted((ROOT / "preload").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        name, text = str(path.relative_to(ROOT / "preload")), path.read_text()
        fresh = " ".join(FRESH.findall(text))
        for number, variable in variables(text):
            seen.add((name, variable))
            if (name, variable) in known or re.search(rf"\b{variable}\b", fresh):
                continue
            wrong.append(f"preload/{name}:{number}: {variable} would be the parent's in a forked child: into a state (support/fresh_in_child.h), or into tests/check_child_state.py")
    wrong += [f"tests/check_child_state.py: preload/{file} has no {variable}" for file, variable in sorted(known - seen)]
    print("\n".join(wrong) or f"{len(known)} variables are kept by a forked child, {len(seen) - len(known)} begin anew")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
