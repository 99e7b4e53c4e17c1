/*
 * Answers of the driver, most of them where its documentation leaves room. They are in one place, because
 * tests/simulators/cuda_facts compares them with hardware. Each has a name, the answer, the question, and the source of
 * the answer.
 */
#ifndef BI_TESTS_CUDA_SIM_DECISIONS_H
#define BI_TESTS_CUDA_SIM_DECISIONS_H

#include "cuda/types.h"

/* Codes of the driver that BI__CU_CODES does not need. */
enum {
	SIM_LAUNCH_OUT_OF_RESOURCES = 701,
	SIM_HOST_MEMORY_ALREADY_REGISTERED = 712,
	SIM_HOST_MEMORY_NOT_REGISTERED = 713
};

#define SIM_DECISIONS(X) \
	X(RANGE_OF_UNKNOWN, BI__CU_ERROR_NOT_FOUND, "cuMemGetAddressRange of a pointer that the driver does not know", \
	  "listed among its results") \
	X(ATTRIBUTE_OF_UNKNOWN, BI__CU_ERROR_INVALID_VALUE, "cuPointerGetAttribute of such a pointer", "documented") \
	X(ATTRIBUTES_OF_UNKNOWN, BI__CU_SUCCESS, "cuPointerGetAttributes of such a pointer; the values are zero", \
	  "documented") \
	X(DEVICE_POINTER_WITHOUT_CONTEXT, BI__CU_ERROR_INVALID_CONTEXT, \
	  "cuPointerGetAttributes with DEVICE_POINTER while no context is current", \
	  "documented for cuPointerGetAttribute; seen: triton 5276") \
	X(CONTEXT_OF_POOL, BI__CU_SUCCESS, \
	  "CONTEXT of memory that belongs to no context (pools, mappings); it is NULL", "seen in array libraries") \
	X(HOST_POINTER_OF_DEVICE, BI__CU_ERROR_INVALID_VALUE, "cuPointerGetAttribute, HOST_POINTER of device memory", \
	  "documented") \
	X(FREE_OF_OTHER_CONTEXT, BI__CU_ERROR_INVALID_CONTEXT, \
	  "cuMemFree while another context than the memory's is current", "stricter: assumed") \
	X(WORK_IN_OTHER_CONTEXT, BI__CU_ERROR_INVALID_HANDLE, \
	  "work on a stream while another context than the stream's is current, or of another context's module", \
	  "the code is assumed; hardware takes some of it") \
	X(SYNCHRONIZE_CAPTURED_CONTEXT, BI__CU_ERROR_STREAM_CAPTURE_UNSUPPORTED, \
	  "cuCtxSynchronize while a stream of the context is captured, in every mode", "the code is assumed") \
	X(FREE_NULL, BI__CU_SUCCESS, "cuMemFree(0)", "seen in array libraries") \
	X(FREE_NULL_HOST, BI__CU_ERROR_INVALID_VALUE, "cuMemFreeHost(NULL)", "assumed") \
	X(FREE_NULL_ASYNC, BI__CU_ERROR_INVALID_VALUE, "cuMemFreeAsync(0)", "assumed") \
	X(ALLOC_NOTHING, BI__CU_ERROR_INVALID_VALUE, "allocations of 0 bytes, on the device and on the host", \
	  "documented for cuMemAlloc, else assumed") \
	X(NO_POOLS, BI__CU_ERROR_NOT_SUPPORTED, "cuMemAllocAsync and cuMemFreeAsync where there are no pools", \
	  "documented") \
	X(REGISTERED_TWICE, SIM_HOST_MEMORY_ALREADY_REGISTERED, "cuMemHostRegister of a range that overlaps another", \
	  "documented") \
	X(NOT_REGISTERED, SIM_HOST_MEMORY_NOT_REGISTERED, "cuMemHostUnregister of what is not registered", \
	  "documented") \
	X(NO_PEER, BI__CU_ERROR_PEER_ACCESS_UNSUPPORTED, "copies between devices with the option peer = 0", \
	  "assumed: hardware goes through the host instead") \
	X(PEER_OF_HOST, BI__CU_ERROR_INVALID_VALUE, "cuMemcpyPeerAsync from or to pinned memory", \
	  "stricter: documented for device memory only") \
	X(EVENT_OF_ENDED_CAPTURE, BI__CU_ERROR_INVALID_VALUE, \
	  "cuStreamWaitEvent outside of a capture, cuEventQuery and cuEventSynchronize, for an event of a capture " \
	  "that has ended", \
	  "seen on an H100 with driver 580.159.04") \
	X(CAPTURE_LEGACY, BI__CU_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cuStreamBeginCapture of the legacy stream", \
	  "the code is assumed") \
	X(END_WITHOUT_BEGIN, BI__CU_ERROR_ILLEGAL_STATE, "cuStreamEndCapture of a stream that is not captured", \
	  "the code is assumed") \
	X(CAPTURE_ALLOCATES, BI__CU_ERROR_STREAM_CAPTURE_UNSUPPORTED, \
	  "cuMemAllocAsync and cuMemFreeAsync in a capture", "stricter: newer drivers make memory nodes") \
	X(OTHER_GATE, BI__CU_ERROR_NOT_SUPPORTED, \
	  "cuStreamWaitValue32 with another comparison than >=", "stricter: only this one is simulated") \
	X(MANAGED_GATE, BI__CU_ERROR_INVALID_VALUE, "cuStreamWaitValue32 on managed memory", "the code is assumed") \
	X(TOO_MANY_THREADS, SIM_LAUNCH_OUT_OF_RESOURCES, \
	  "a launch with more threads in a block than MAX_THREADS_PER_BLOCK of the function", \
	  "documented as a result, for too many registers") \
	X(PTX_FOR_NEWER_DEVICE, BI__CU_ERROR_INVALID_PTX, "PTX whose target is a newer device than this one", \
	  "seen with the PTX compiler")

/*
 * Behaviours that a driver may have, and that this one has only if CUDA_SIM_SWITCHES or cuda_sim_behave names them. The
 * suites pass with each of them, and with all of them (tests/simulators/switches). Name, behaviour, source.
 */
#define SIM_SWITCHES(X) \
	X(capture_context, "capture queries fail with INVALID_CONTEXT if no context is current", "not documented") \
	X(context_needed, "each call that lists INVALID_CONTEXT among its results gives it if no context is current", \
	  "the result is documented, the condition is not") \
	X(pinned_waits, "cuMemHostAlloc and cuMemFreeHost wait for the work of the context", \
	  "not documented; seen: nccl 48, yaksa 228") \
	X(stream_waits, "cuStreamCreate waits for the work of the context", "not documented; seen: yaksa 228") \
	X(lossy_query, "cuStreamGetCaptureInfo_v2 gives LOSSY_QUERY if it is to write the nodes of a capture", \
	  "documented: the result if edges have data and the caller takes none (programmatic dependent launch)") \
	X(green_streams, "created streams are those of a green context: cuStreamGetCtx gives another context", \
	  "documented: cuStreamGetCtx gives what cuCtxFromGreenCtx gives, cuStreamGetCtx_v2 the primary context") \
	X(context_returns, "a new context gets the handle of a destroyed one; cuCtxGetId tells them apart", \
	  "the handle is not documented; the number is documented as unique in the process") \
	X(stream_returns, "a new stream gets the handle of a destroyed one", \
	  "documented: an invalid handle is undefined behaviour") \
	X(stream_crashes, "a call with the handle of a destroyed stream ends the process", \
	  "documented: an invalid handle is undefined behaviour") \
	X(hmm, "pageable memory has type 0 and a device pointer", "not documented; seen on HMM and ATS systems") \
	X(partly_registered, "a copy of host memory that is registered in part fails with INVALID_VALUE", \
	  "documented for cuMemcpy: such copies fail; for the asynchronous ones not documented") \
	X(mapped_ranges, "cuMemGetAddressRange gives the reserved range of mapped memory, mapped or not", \
	  "not documented") \
	X(far_pools, "a copy of pool or mapped memory fails with INVALID_VALUE while another device is current", \
	  "not documented; seen: fwyzard nvidia_bug_3446335, DALI 6121, CUDA.jl 1176") \
	X(registered_apart, "registered memory that is not portable has no device pointer in another context", \
	  "documented: it is not pinned memory for other contexts; the answer is not documented") \
	X(registered_elsewhere, "devices have registered memory at other addresses than the CPU has", \
	  "documented: CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM is 0; seen: sglang 40232 (WSL2), CUDA.jl 1342") \
	X(work_lost, "cuMemFreeHost and cuModuleUnload do not wait, and pending work goes with its context", \
	  "documented: the last release of a primary context resets it, and a reset is immediate; the rest is not")

enum sim_switch {
#define SIM_SWITCH(name, behaviour, source) SWITCH_##name,
	SIM_SWITCHES(SIM_SWITCH)
#undef SIM_SWITCH
		SWITCH_COUNT
};

enum decision {
#define SIM_DECISION(name, answer, question, source) DECIDED_##name = (answer),
	SIM_DECISIONS(SIM_DECISION)
#undef SIM_DECISION
};

#endif
