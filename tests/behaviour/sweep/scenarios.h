/*
 * The scenarios. Each opens what it needs, does one thing completely and checks the bytes; its words are its name.
 */
#ifndef BI_TESTS_CUDA_SWEEP_SCENARIOS_H
#define BI_TESTS_CUDA_SWEEP_SCENARIOS_H

#include "trial.h"

/* Name, what it needs besides one CUDA device. */
#define SCENARIOS(X) \
	X(open_and_close, NOTHING) \
	X(list_devices, NOTHING) \
	X(adopted_context, NOTHING) \
	X(adopted_stream, NOTHING) \
	X(adopted_legacy_stream, NOTHING) \
	X(allocate_device, NOTHING) \
	X(allocate_pinned, NOTHING) \
	X(allocate_managed, NOTHING) \
	X(pool_reuse, NOTHING) \
	X(trim, NOTHING) \
	X(report_and_profile, NOTHING) \
	X(debug_option, NOTHING) \
	X(fill_dense, NOTHING) \
	X(fill_strided, NOTHING) \
	X(fill_on_a_stream, NOTHING) \
	X(copy_linear, NOTHING) \
	X(copy_rows, NOTHING) \
	X(copy_planes, NOTHING) \
	X(copy_transposed, NOTHING) \
	X(copy_five_axes, NOTHING) \
	X(copy_backwards, NOTHING) \
	X(copy_overlapping, NOTHING) \
	X(copy_on_a_stream, NOTHING) \
	X(upload_small, NOTHING) \
	X(upload_large, NOTHING) \
	X(upload_strided, NOTHING) \
	X(upload_by_a_closed_context, NOTHING) \
	X(download_small, NOTHING) \
	X(download_large, NOTHING) \
	X(download_strided, NOTHING) \
	X(upload_pieces, TIME) \
	X(download_pieces, TIME) \
	X(pinned_upload, NOTHING) \
	X(pinned_download, NOTHING) \
	X(registered_in_part, NOTHING) \
	X(capture_pinned, NOTHING) \
	X(read_write_get_set, NOTHING) \
	X(file_there_and_back, NOTHING) \
	X(map_device, NOTHING) \
	X(map_device_to_write, NOTHING) \
	X(map_pinned, NOTHING) \
	X(map_managed, NOTHING) \
	X(join, NOTHING) \
	X(events, NOTHING) \
	X(per_thread_stream, NOTHING) \
	X(acquire_and_hand_back, NOTHING) \
	X(wrap_named_stream, NOTHING) \
	X(wrap_without_stream, NOTHING) \
	X(wrap_with_event, NOTHING) \
	X(wrap_host_with_stream, NOTHING) \
	X(export_between_uses, NOTHING) \
	X(release_while_pending, NOTHING) \
	X(release_named_while_pending, NOTHING) \
	X(staging_runs_out, NOTHING) \
	X(cai_streams, NOTHING) \
	X(cai_versions, NOTHING) \
	X(exchange, NOTHING) \
	X(exchange_handed_back, NOTHING) \
	X(foreign_exchange, NOTHING) \
	X(three_producers_one_consumer, NOTHING) \
	X(one_producer_three_consumers, NOTHING) \
	X(peer_copy_linear, TWO_DEVICES) \
	X(peer_copy_strided, TWO_DEVICES) \
	X(capture_copy_and_fill, NOTHING) \
	X(capture_on_two_streams, NOTHING) \
	X(cuda_to_opencl_and_back, OPENCL)

/* Time: it moves so much that a sweep takes too long, so the simulator only forgets its waits. */
enum scenario_need { NEEDS_NOTHING, NEEDS_TWO_DEVICES, NEEDS_OPENCL, NEEDS_TIME };

typedef void scenario_fn(struct trial *trial);

#define SCENARIO_DECLARE(name, need) scenario_fn name;
SCENARIOS(SCENARIO_DECLARE)
#undef SCENARIO_DECLARE

#endif
